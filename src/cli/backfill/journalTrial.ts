/** `quotekeeper backfill --journal --dry-run`: what reading a journal again would change. */
import type { Batch } from "../../archive/batch.ts";
import type { TempCopies } from "../../archive/tempCopies.ts";
import { tryBatches } from "../../backfill/dryRun/tryBatches.ts";
import { type FillOptions, fillSlots } from "../../archive/refill/fillSlots.ts";
import { NO_POSITION } from "../../archive/refill/runPosition.ts";
import { rebuild } from "../../backfill/journal/rebuild.ts";
import { allBatches, type ReplayOptions } from "../../backfill/journal/replay.ts";
import type { TimeRange } from "../../backfill/journal/chosenSegments.ts";
import type { BackfillReport } from "../../archive/refill/report.ts";
import type { CommonRequest } from "./report.ts";
import type { Instant } from "../../clock.ts";

/** What was asked for. */
export type JournalRequest = CommonRequest & {
  /** A journal, or a data directory with one; null: this machine's. */
  directory: string | null;
  from: Instant | null;
  to: Instant | null;
  rebuild: boolean;
};

/** How the journal is read. */
export type TrialOptions = Omit<ReplayOptions, "pool" | "positions" | "runPosition">;

/** Tries it. @returns the report that the backfill would give, but for damaged bytes, which `onDamage` is told of */
export async function tryJournal(
  tempCopies: TempCopies,
  request: Pick<JournalRequest, "from" | "to" | "rebuild">,
  options: TrialOptions,
  filling: Pick<FillOptions, "now" | "delayedJobs">,
): Promise<{ report: BackfillReport; remarks?: string[] }> {
  const { from, to } = request;
  if (request.rebuild) return tryRebuild(tempCopies, { from, to }, options);
  // An archive that has no slot is restored as it was, misses included.
  const beganEmpty = !(await tempCopies.hasSlots());
  const batches = allBatches({ ...options, positions: new Map() });
  const report = await tryBatches(tempCopies, batches, showing(options));
  if (report.stored === 0 || beganEmpty) return { report };
  // A slot may be filled by any quote that is there by then, not by the journal's own alone.
  await tempCopies.takeQuotesAroundMisses();
  const filled = await fillSlots(tempCopies.pool, { ...filling, from, to, by: "journal" });
  return { report: { ...report, filled } };
}

async function tryRebuild(
  tempCopies: TempCopies,
  range: TimeRange,
  options: TrialOptions,
): Promise<{ report: BackfillReport; remarks: string[] }> {
  await rebuild({
    ...options,
    ...{ pool: tempCopies.pool, positions: new Map(), runPosition: NO_POSITION, range },
    trial: (client, batch) => tempCopies.takeTimes(client, batch),
  });
  const { report } = options.tally;
  const { changed, gone } = await tempCopies.compareRebuilt();
  const come = report.stored - (report.replaced - gone);
  return {
    report,
    remarks: [`Rebuilt   ${changed} quotes would have other values, ${gone} would go, ${come} would come`],
  };
}

/** Shows how far a trial has come. */
function showing({
  segments,
  signal,
  onProgress,
}: TrialOptions): (batch: Batch, report: { read: number }) => void {
  const total = segments.reduce((sum, { bytes, fileBytes }) => sum + (bytes ?? fileBytes), 0);
  let done = 0;
  return (batch, { read }) => {
    signal.throwIfAborted();
    done += batch.to - batch.from;
    onProgress({ doing: batch.segment, done, total, unit: "bytes", quotes: read });
  };
}

/** `quotekeeper backfill --journal --dry-run`: what reading a journal again would change. */
import type { Batch } from "../../archive/load.ts";
import type { Shadow } from "../../backfill/dryRun/shadow.ts";
import { tryBatches } from "../../backfill/dryRun/tryBatches.ts";
import { type FillOptions, fillSlots } from "../../backfill/gaps/fillSlots.ts";
import { NO_BOOKMARK } from "../../backfill/journal/bookmark.ts";
import { rebuild } from "../../backfill/journal/rebuild.ts";
import { allBatches, type ReplayOptions } from "../../backfill/journal/replay.ts";
import type { TimeRange } from "../../backfill/journal/segments.ts";
import type { BackfillReport } from "../../backfill/report.ts";
import type { JournalRequest } from "./journal.ts";

/** How the journal is read. */
export type TrialOptions = Omit<ReplayOptions, "pool" | "positions" | "bookmark">;

/** Tries it. @returns the report that the backfill would give, but for damaged bytes, which `onDamage` is told of */
export async function tryJournal(
  shadow: Shadow,
  request: Pick<JournalRequest, "from" | "to" | "rebuild">,
  options: TrialOptions,
  filling: Pick<FillOptions, "now" | "delayedJobs">,
): Promise<{ report: BackfillReport; remarks?: string[] }> {
  const { from, to } = request;
  if (request.rebuild) return tryRebuild(shadow, { from, to }, options);
  const beganEmpty = !(await hasSlots(shadow));
  const batches = allBatches({ ...options, positions: new Map() });
  const report = await tryBatches(shadow, batches, showing(options));
  if (report.stored === 0 || beganEmpty) return { report };
  // A slot may be filled by any quote that is there by then, not by the journal's own alone.
  await shadow.takeQuotesAroundMisses();
  const filled = await fillSlots(shadow.pool, { ...filling, from, to, by: "journal" });
  return { report: { ...report, filled } };
}

async function tryRebuild(
  shadow: Shadow,
  range: TimeRange,
  options: TrialOptions,
): Promise<{ report: BackfillReport; remarks: string[] }> {
  await rebuild({
    ...options,
    ...{ pool: shadow.pool, positions: new Map(), bookmark: NO_BOOKMARK, range },
    trial: (client, batch) => shadow.takeTimes(client, batch),
  });
  const { report } = options.tally;
  const { changed, gone } = await shadow.compareRebuilt();
  const come = report.stored - (report.replaced - gone);
  return {
    report,
    remarks: [`Rebuilt   ${changed} quotes would have other values, ${gone} would go, ${come} would come`],
  };
}

/** An archive that has none is restored as it was, misses included. */
async function hasSlots({ pool }: Shadow): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>("select exists (select from slots) as found");
  return rows[0]?.found === true;
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

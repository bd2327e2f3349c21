/** `quotekeeper backfill --journal --dry-run`: what reading a journal again would change. */
import type { Batch } from "../../archive/load.ts";
import { compareRebuilt, copyQuotesAroundMisses } from "../../backfill/dryRun/shadow.ts";
import { tryBatches } from "../../backfill/dryRun/tryBatches.ts";
import { type FillOptions, fillSlots } from "../../backfill/gaps/fillSlots.ts";
import { allBatches, type ReplayOptions } from "../../backfill/journal/replay.ts";
import type { BackfillReport } from "../../backfill/report.ts";
import type { Archive } from "../parts/archive.ts";
import type { JournalRequest } from "./journal.ts";

/** How the journal is read. */
export type TrialOptions = Omit<ReplayOptions, "pool" | "positions" | "bookmark" | "tally">;

/** Tries it. @returns the report that the backfill would give, but for damaged bytes, which `onDamage` is told of */
export async function tryJournal(
  { pool, openScratch }: Pick<Archive, "pool" | "openScratch">,
  { from, to, rebuild }: Pick<JournalRequest, "from" | "to" | "rebuild">,
  options: TrialOptions,
  filling: Pick<FillOptions, "now" | "delayedJobs">,
): Promise<{ report: BackfillReport; remarks?: string[] }> {
  const scratch = openScratch();
  try {
    const batches = allBatches({ ...options, positions: new Map() });
    const tried = await tryBatches(scratch, batches, showing(options));
    const rebuilt = rebuild ? await compareRebuilt(scratch) : null;
    const report = rebuilt === null ? tried : asRebuilt(tried, rebuilt.replaced);
    if (report.stored > 0 && (await hasSlots(pool))) {
      // A slot may be filled by any quote that is there by then, not by the journal's own alone.
      await copyQuotesAroundMisses(scratch);
      report.filled = await fillSlots(scratch, { ...filling, from, to, by: "journal" });
    }
    if (rebuilt === null) return { report };
    const { changed, gone } = rebuilt;
    return {
      report,
      remarks: [
        `Rebuilt   ${changed} quotes would have other values, ${gone} would go, ${tried.stored} would come`,
      ],
    };
  } finally {
    await scratch.end();
  }
}

function asRebuilt(report: BackfillReport, replaced: number): BackfillReport {
  return { ...report, replaced, stored: report.stored + report.repeated, repeated: 0 };
}

/** An archive that has none is restored as it was, misses included. */
async function hasSlots(pool: Archive["pool"]): Promise<boolean> {
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

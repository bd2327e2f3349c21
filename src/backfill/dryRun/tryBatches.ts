/** What loading some batches would change: exactly, and without changing it. */
import type pg from "pg";
import { type Batch, createMemory, loadBatch } from "../../archive/load.ts";
import { NO_BOOKMARK } from "../journal/bookmark.ts";
import { type BackfillReport, NOTHING_DONE, withBatch } from "../report.ts";
import { countNew, createShadow } from "./shadow.ts";

/**
 * @param scratch a pool of one connection of its own; its copies are gone when it ends
 * @param onBatch called after each batch, with the report so far, whose `stored` still counts what the archive has
 * @returns the report that the backfill would give
 */
export async function tryBatches(
  scratch: pg.Pool,
  batches: AsyncIterable<Batch>,
  onBatch: (batch: Batch, report: BackfillReport) => void = () => undefined,
): Promise<BackfillReport> {
  await createShadow(scratch);
  const memory = createMemory();
  let report = NOTHING_DONE;
  for await (const batch of batches) {
    const loaded = await loadBatch(scratch, batch, memory, NO_BOOKMARK);
    if (loaded !== null) report = withBatch(report, batch, loaded);
    onBatch(batch, report);
  }
  const { responses, quotes, dividends, slots } = await countNew(scratch);
  return {
    ...report,
    newAnswers: responses,
    stored: quotes,
    repeated: report.stored + report.repeated - quotes,
    dividends,
    slots,
  };
}

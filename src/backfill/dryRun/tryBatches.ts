/** Says exactly what loading batches would change, without changing it: loads them into temporary copies. */
import { createMemory, loadBatch } from "../../archive/load/loadBatch.ts";
import type { Batch } from "../../archive/load/batch.ts";
import { loadAll, type LoaderOptions } from "../../archive/load/loader.ts";
import { NO_POSITION } from "../../archive/refill/runPosition.ts";
import { ofBatches } from "../../archive/load/loadPosition.ts";
import { type BackfillReport, NOTHING_DONE, withLoaded } from "../../archive/refill/backfillReport.ts";
import type { TempCopies } from "../../archive/load/tempCopies.ts";

/**
 * @param onBatch called after each batch, with the report so far
 * @returns the report of the backfill
 */
export async function tryBatches(
  tempCopies: TempCopies,
  batches: AsyncIterable<Batch>,
  onBatch: (batch: Batch, report: BackfillReport) => void = () => undefined,
): Promise<BackfillReport> {
  const memory = createMemory();
  let report = NOTHING_DONE;
  for await (const batch of batches) {
    await tempCopies.take(tempCopies.pool, batch);
    const loaded = await loadBatch(tempCopies.pool, batch, { memory, position: ofBatches(NO_POSITION) });
    if (loaded !== null) report = withLoaded(report, loaded);
    onBatch(batch, report);
  }
  return report;
}

/** Loads what the journal has and the archive lacks, as a backfill does first; it counts for no report. */
export async function tryCatchUp(
  tempCopies: TempCopies,
  { signal, ...options }: Pick<LoaderOptions, "journalDir" | "clock"> & { signal: AbortSignal },
): Promise<void> {
  const onBatch = async (batch: Batch): Promise<void> => {
    signal.throwIfAborted();
    await tempCopies.take(tempCopies.pool, batch);
  };
  await loadAll({ ...options, pool: tempCopies.pool, onBatch });
}

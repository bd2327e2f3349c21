/** What an earlier run has journaled and not loaded. */
import { JOURNAL_POSITION, readPositions } from "../../archive/loadPosition.ts";
import { createMemory, loadBatch } from "../../archive/load.ts";
import type { Batch } from "../../archive/batch.ts";
import { loadSegment } from "../../archive/loader.ts";
import { readBatches } from "../../archive/readBatches.ts";
import { listSegments } from "../../journal/segments.ts";
import { readReadPositions, positionOfRun } from "../../archive/refill/runPosition.ts";
import { withLoaded } from "../../archive/refill/report.ts";
import type { ImportOptions } from "./importPieces.ts";

/**
 * Loads what the journal holds and the archive has not. Pieces of this import count for its run: an earlier process of
 * the run has journaled them and came no further.
 */
export async function catchUp({
  pool,
  journalDir,
  clock,
  run,
  name,
  onDamage,
}: ImportOptions): Promise<void> {
  const loaded = await readPositions(pool);
  const read = await readReadPositions(pool, run.id);
  const memory = createMemory();
  for (const { name: segment, bytes } of await listSegments(journalDir)) {
    const from = loaded.get(segment) ?? 0;
    if (bytes !== null && bytes <= from) continue;
    let readTo = read.get(segment) ?? 0;
    for await (const batch of readBatches(segment, { journalDir, from, onDamage })) {
      if (batch.to === batch.from) continue;
      const ours = readTo === batch.from && isOf(batch, name);
      const runPosition = ours ? positionOfRun(run, { loaderToo: true }) : JOURNAL_POSITION;
      const report = await loadBatch(pool, batch, memory, runPosition);
      if (report === null) {
        // Another program loads this segment at the same time: what is left of it goes the ordinary way.
        const positions = await readPositions(pool, [segment]);
        await loadSegment({ pool, journalDir, clock, onDamage }, segment, positions.get(segment) ?? 0);
        break;
      }
      if (!ours) continue;
      readTo = batch.to;
      run.report = withLoaded(run.report, report);
    }
  }
}

function isOf({ answers }: Batch, name: string): boolean {
  return (
    answers.length > 0 &&
    answers.every(({ record: { source } }) => source.kind === "import" && source.name === name)
  );
}

/** What a backfill loads before its own work, in a trial of it: what the journal holds and the archive has not. */
import { readPositions } from "../../archive/bookmark.ts";
import { createMemory, loadBatch } from "../../archive/load.ts";
import { listSegments } from "../../journal/segments.ts";
import { allBatches } from "../journal/replay.ts";
import type { Shadow } from "./shadow.ts";

/** Into the copies; it counts for nothing. */
export async function tryCatchUp(shadow: Shadow, journalDir: string, signal: AbortSignal): Promise<void> {
  const memory = createMemory();
  const positions = await readPositions(shadow.pool);
  const segments = await listSegments(journalDir);
  const behind = segments.filter(({ name, bytes }) => bytes === null || bytes > (positions.get(name) ?? 0));
  const options = { journalDir, segments: behind, positions, wanted: () => true, onDamage: () => undefined };
  for await (const batch of allBatches(options)) {
    signal.throwIfAborted();
    await shadow.take(shadow.pool, batch);
    await loadBatch(shadow.pool, batch, memory);
  }
}

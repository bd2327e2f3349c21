/**
 * Reads a journal again, into the archive: what is there adds nothing, what is not comes in. While a batch is loaded
 * the next one is read.
 */
import type pg from "pg";
import { BatchLoader, GATHERED_BATCH_BYTES, LoadedByAnother } from "../../archive/batchLoader.ts";
import type { LoadPosition } from "../../archive/loadPosition.ts";
import type { Batch } from "../../archive/batch.ts";
import { type DamagedBytes, readBatches } from "../../archive/readBatches.ts";
import type { JournalRecord } from "../../journal/record.ts";
import type { SegmentInfo } from "../../journal/segments.ts";
import type { OnProgress } from "../progress.ts";
import { type BackfillReport, withLoaded } from "../../archive/refill/backfillReport.ts";
import { NO_POSITION, overtaken } from "../../archive/refill/runs.ts";

/** What a replay needs. */
export type ReplayOptions = {
  pool: pg.Pool;
  journalDir: string;
  segments: readonly SegmentInfo[];
  /** How far each segment was read before. */
  positions: ReadonlyMap<string, number>;
  /** Where to end in each segment at the latest; one that is not named is not read. Default: at their ends. */
  ends?: ReadonlyMap<string, number>;
  wanted: (record: JournalRecord) => boolean;
  /** Null: nothing is written down, as every run begins anew. */
  runPosition: LoadPosition | null;
  /** The report so far; what was committed adds to it. */
  tally: { report: BackfillReport };
  onProgress: OnProgress;
  onDamage: (damage: DamagedBytes) => void;
  signal: AbortSignal;
};

/** What reading alone needs. */
type ReadOptions = Pick<ReplayOptions, "journalDir" | "positions" | "ends" | "wanted" | "onDamage">;

/** @throws the signal's reason, after what was read is committed; the database's errors; BACKFILL_OVERTAKEN */
export async function replay(options: ReplayOptions): Promise<void> {
  const { pool, segments, runPosition, tally, onProgress, signal } = options;
  const reread = (segment: string, from: number): AsyncGenerator<Batch> =>
    batchesOf({ ...options, positions: new Map([[segment, from]]), onDamage: () => undefined }, segment);
  const loader = new BatchLoader({
    ...{ pool, position: runPosition ?? NO_POSITION, reread },
    // Damaged bytes are counted meanwhile.
    onLoaded: (loaded) => (tally.report = withLoaded(tally.report, loaded)),
  });
  const total = segments.reduce((sum, { bytes, fileBytes }) => sum + (bytes ?? fileBytes), 0);
  const batches = allBatches(options);
  let next = batches.next();
  try {
    for (;;) {
      const { value: batch, done: ended } = await next;
      if (ended === true || signal.aborted) break;
      next = batches.next();
      // Its failure is met when it is awaited; before that, the load may fail first.
      next.catch(() => undefined);
      await loader.add(batch);
      const done = bytesBefore(segments, batch) + batch.to;
      onProgress({ doing: batch.segment, done, total, unit: "bytes", quotes: tally.report.read });
    }
    await loader.finish();
    signal.throwIfAborted();
  } catch (error) {
    throw error instanceof LoadedByAnother ? overtaken(error.at) : error;
  } finally {
    await loader.abandon();
    await next.catch(() => undefined);
    await batches.return();
  }
}

/** The batches of all segments, one after the other. */
export async function* allBatches(
  options: ReadOptions & Pick<ReplayOptions, "segments">,
): AsyncGenerator<Batch, void> {
  for (const { name } of options.segments) yield* batchesOf(options, name);
}

/** The batches of one segment, from where it was read to before. */
export async function* batchesOf(
  { journalDir, positions, ends, wanted, onDamage }: ReadOptions,
  segment: string,
): AsyncGenerator<Batch, void> {
  const from = positions.get(segment) ?? 0;
  const until = ends === undefined ? undefined : (ends.get(segment) ?? 0);
  const what = { journalDir, from, until, wanted, onDamage, maxBytes: GATHERED_BATCH_BYTES };
  for await (const batch of readBatches(segment, what)) if (batch.to > batch.from) yield batch;
}

function bytesBefore(segments: readonly SegmentInfo[], { segment }: Batch): number {
  let sum = 0;
  for (const { name, bytes, fileBytes } of segments) {
    if (name === segment) break;
    sum += bytes ?? fileBytes;
  }
  return sum;
}

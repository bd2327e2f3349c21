/**
 * Reads a journal again into the archive, which gets the rows that it lacks. While a batch is loaded other threads read the next one.
 */
import { makeManyDueBars } from "../../archive/schema/makeBars.ts";
import type pg from "pg";
import { createMemory, loadBatch } from "../../archive/load/loadBatch.ts";
import { type HeldPosition, ofBatches } from "../../archive/load/loadPosition.ts";
import type { Batch } from "../../archive/load/batch.ts";
import { type DamagedBytes, readAhead, readBatches } from "../../archive/load/readBatches.ts";
import { openReaders, type ReadAnswer } from "../../archive/load/readers.ts";
import type { JournalRecord, TimeRange } from "../../journal/record.ts";
import type { SegmentInfo } from "../../journal/segments.ts";
import type { OnProgress } from "../progress.ts";
import { type BackfillReport, withLoaded } from "../../archive/refill/backfillReport.ts";
import { NO_POSITION, overtaken } from "../../archive/refill/runPosition.ts";

export type ReplayOptions = {
  pool: pg.Pool;
  journalDir: string;
  segments: readonly SegmentInfo[];
  positions: ReadonlyMap<string, number>;
  /** The last position to read in each segment; other segments are not read. Default: whole segments. */
  ends?: ReadonlyMap<string, number>;
  wanted: (record: JournalRecord) => boolean;
  /** The part of the journal that is read. `wanted` says the same, but a rebuild also wants notes from behind it. */
  range: TimeRange;
  /** Null: no position is persisted, and every run begins at the start. */
  runPosition: HeldPosition | null;
  /** The report of what was committed so far. */
  tally: { report: BackfillReport };
  onProgress: OnProgress;
  onDamage: (damage: DamagedBytes) => void;
  signal: AbortSignal;
};

type ReadOptions = Pick<ReplayOptions, "journalDir" | "positions" | "ends" | "wanted" | "onDamage"> & {
  read?: ReadAnswer;
};

/** @throws the signal's reason, once the rows that were read are committed; the database's errors; BACKFILL_OVERTAKEN */
export async function replay(options: ReplayOptions): Promise<void> {
  const { pool, segments, runPosition, tally, onProgress, signal } = options;
  const [memory, position] = [createMemory(), ofBatches(runPosition ?? NO_POSITION)];
  const total = bytesOf(segments);
  const bytesBefore = (segment: string): number =>
    bytesOf(
      segments.slice(
        0,
        segments.findIndex(({ name }) => name === segment),
      ),
    );
  const { read, close } = openReaders();
  try {
    for await (const batch of readAhead(allBatches({ ...options, read }))) {
      if (signal.aborted) break;
      const loaded = await loadBatch(pool, batch, { memory, position });
      if (loaded === null) throw overtaken(batch);
      // Damaged bytes may be counted in between.
      tally.report = withLoaded(tally.report, loaded);
      const done = bytesBefore(batch.segment) + batch.to;
      onProgress({ doing: batch.segment, done, total, unit: "bytes", quotes: tally.report.read });
    }
    await makeManyDueBars(pool);
    signal.throwIfAborted();
  } finally {
    await close();
  }
}

export async function* allBatches(
  options: ReadOptions & Pick<ReplayOptions, "segments">,
): AsyncGenerator<Batch, void> {
  for (const { name } of options.segments) yield* batchesOf(options, name);
}

/** The batches of one segment, from where it was read to before. */
export async function* batchesOf(
  { journalDir, positions, ends, wanted, onDamage, read }: ReadOptions,
  segment: string,
): AsyncGenerator<Batch, void> {
  const from = positions.get(segment) ?? 0;
  const until = ends === undefined ? undefined : (ends.get(segment) ?? 0);
  const what = { journalDir, from, until, wanted, onDamage, read };
  for await (const batch of readBatches(segment, what)) if (batch.to > batch.from) yield batch;
}

export function bytesOf(segments: readonly SegmentInfo[]): number {
  return segments.reduce((sum, { bytes, fileBytes }) => sum + (bytes ?? fileBytes), 0);
}

/**
 * Reads a journal again into the archive, which gets the rows that it lacks. While a stretch is loaded the next one is
 * read.
 */
import { makeManyDueBars } from "../../archive/schema/makeBars.ts";
import type pg from "pg";
import { LoadedByAnother, StretchLoader } from "../../archive/load/stretchLoader.ts";
import { type HeldPosition, ofBatches, type Part } from "../../archive/load/loadPosition.ts";
import type { Batch } from "../../archive/load/batch.ts";
import { type DamagedBytes, readBatches, SMALL_BATCH_BYTES } from "../../archive/load/readBatches.ts";
import { stretchesOfThread, type StretchRequest } from "../../archive/load/readStretches.ts";
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

type ReadOptions = Pick<ReplayOptions, "journalDir" | "positions" | "ends" | "wanted" | "onDamage">;

/** @throws the signal's reason, once the rows that were read are committed; the database's errors; BACKFILL_OVERTAKEN */
export async function replay(options: ReplayOptions): Promise<void> {
  const { pool, segments, runPosition, tally, onProgress, signal } = options;
  const reread = ({ segment, from, to }: Part): AsyncGenerator<Batch> =>
    batchesOf(
      {
        ...options,
        positions: new Map([[segment, from]]),
        ends: new Map([[segment, to]]),
        onDamage: () => undefined,
      },
      segment,
    );
  const loader = new StretchLoader({
    pool,
    position: ofBatches(runPosition ?? NO_POSITION),
    reread,
    // Damaged bytes may be counted in between.
    onLoaded: (loaded) => (tally.report = withLoaded(tally.report, loaded)),
  });
  const total = bytesOf(segments);
  try {
    for await (const read of stretchesOfThread(requestOf(options))) {
      if (signal.aborted) break;
      if ("damage" in read) {
        options.onDamage(read.damage);
        continue;
      }
      const { stretch } = read;
      await loader.add(stretch);
      const before = segments.slice(
        0,
        segments.findIndex(({ name }) => name === stretch.segment),
      );
      const done = bytesOf(before) + stretch.to;
      onProgress({ doing: stretch.segment, done, total, unit: "bytes", quotes: tally.report.read });
    }
    await loader.finish();
    await makeManyDueBars(pool);
    signal.throwIfAborted();
  } catch (error) {
    throw error instanceof LoadedByAnother ? overtaken(error.at) : error;
  } finally {
    await loader.abandon();
  }
}

function requestOf({ journalDir, segments, positions, ends, range }: ReplayOptions): StretchRequest {
  const parts = segments.map(({ name }) => ({
    name,
    from: positions.get(name) ?? 0,
    until: ends === undefined ? undefined : (ends.get(name) ?? 0),
  }));
  return { journalDir, parts, range, mayBeGone: false, alone: "exports" };
}

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
  const what = { journalDir, from, until, wanted, onDamage, maxBytes: SMALL_BATCH_BYTES };
  for await (const batch of readBatches(segment, what)) if (batch.to > batch.from) yield batch;
}

export function bytesOf(segments: readonly SegmentInfo[]): number {
  return segments.reduce((sum, { bytes, fileBytes }) => sum + (bytes ?? fileBytes), 0);
}

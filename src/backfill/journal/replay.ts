/**
 * Reads a journal again, into the archive: what is there adds nothing, what is not comes in. While a batch is loaded
 * the next one is read.
 */
import type pg from "pg";
import { type Batch, createMemory, loadBatch, type LoadMemory, type LoadReport } from "../../archive/load.ts";
import type { Bookmark } from "../../archive/bookmark.ts";
import { readBatches } from "../../archive/readBatches.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { JournalRecord } from "../../journal/record.ts";
import type { SegmentInfo } from "../../journal/segments.ts";
import type { OnProgress } from "../progress.ts";
import { type BackfillReport, withBatch } from "../report.ts";

/** Bodies of a batch, in bytes: two of them are in memory at a time, at about five times that each. */
export const REPLAY_BATCH_BYTES = 4 * 1024 * 1024;

/** What a replay needs. */
export type ReplayOptions = {
  pool: pg.Pool;
  journalDir: string;
  segments: readonly SegmentInfo[];
  /** How far each segment was read before. */
  positions: ReadonlyMap<string, number>;
  wanted: (record: JournalRecord) => boolean;
  /** Null: nothing is written down, as every run begins anew. */
  bookmark: Bookmark | null;
  /** The report so far; each batch that was committed adds to it. */
  tally: { report: BackfillReport };
  onProgress: OnProgress;
  onDamage: (segment: string, offset: number, length: number, reason: string) => void;
  signal: AbortSignal;
};

/** What reading alone needs. */
type ReadOptions = Pick<ReplayOptions, "journalDir" | "positions" | "wanted" | "onDamage">;

/** Nothing to lock and nothing to move. */
const NO_BOOKMARK: Bookmark = { take: () => Promise.resolve(true), move: () => Promise.resolve() };

/** @throws the signal's reason, after the batch under way was committed; the database's errors; BACKFILL_OVERTAKEN */
export async function replay(options: ReplayOptions): Promise<void> {
  const { pool, segments, bookmark, tally, onProgress, signal } = options;
  const memory = createMemory();
  const total = segments.reduce((sum, { bytes, fileBytes }) => sum + (bytes ?? fileBytes), 0);
  let done = 0;
  const batches = allBatches(options);
  let next = batches.next();
  try {
    for (;;) {
      const { value: batch, done: ended } = await next;
      if (ended === true) return;
      signal.throwIfAborted();
      next = batches.next();
      // Its failure is met when it is awaited; before that, the load may fail first.
      next.catch(() => undefined);
      const loaded = await load(pool, batch, memory, bookmark);
      tally.report = withBatch(tally.report, batch, loaded);
      done = bytesBefore(segments, batch) + batch.to;
      onProgress({ doing: batch.segment, done, total, unit: "bytes", quotes: tally.report.read });
    }
  } finally {
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
  { journalDir, positions, wanted, onDamage }: ReadOptions,
  segment: string,
): AsyncGenerator<Batch, void> {
  const from = positions.get(segment) ?? 0;
  const what = { journalDir, from, wanted, onDamage, maxBytes: REPLAY_BATCH_BYTES };
  for await (const batch of readBatches(segment, what)) if (batch.to > batch.from) yield batch;
}

async function load(
  pool: pg.Pool,
  batch: Batch,
  memory: LoadMemory,
  bookmark: Bookmark | null,
): Promise<LoadReport> {
  const loaded = await loadBatch(pool, batch, memory, bookmark ?? NO_BOOKMARK);
  if (loaded === null) throw overtaken(batch);
  return loaded;
}

/** The error for a batch that another process of the same backfill has loaded. */
export function overtaken({ segment, from }: Batch): QuotekeeperError {
  return new QuotekeeperError(
    "BACKFILL_OVERTAKEN",
    `another process has read ${segment} beyond byte ${from}`,
  );
}

function bytesBefore(segments: readonly SegmentInfo[], { segment }: Batch): number {
  let sum = 0;
  for (const { name, bytes, fileBytes } of segments) {
    if (name === segment) break;
    sum += bytes ?? fileBytes;
  }
  return sum;
}

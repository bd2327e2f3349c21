/**
 * Replaces what a journal's answers became: each exchange date in one transaction, so that a reader sees the old rows
 * or the new ones, and never a hole.
 */
import type pg from "pg";
import { type Batch, createMemory, ensureRoom, storeBatch } from "../../archive/load.ts";
import { refreshPieces } from "../../archive/tiers/refreshPieces.ts";
import { dateOf } from "../../instant.ts";
import { segmentHour } from "../../journal/segment-name.ts";
import type { SegmentInfo } from "../../journal/segments.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { withBatch } from "../report.ts";
import { removeAnswers } from "./removeAnswers.ts";
import { overtaken, type RunBookmark } from "./bookmark.ts";
import { batchesOf, type ReplayOptions } from "./replay.ts";

const HOUR_MS = 3_600_000;

/** What a rebuild needs: it is always resumable. */
export type RebuildOptions = ReplayOptions & { bookmark: RunBookmark };

/** The same as `replay`, with rows replaced instead of passed over. */
export async function rebuild(options: RebuildOptions): Promise<void> {
  const { segments, tally, onProgress, signal } = options;
  const total = bytesOf(segments);
  let before = 0;
  for (const [date, ofDate] of byDate(segments)) {
    signal.throwIfAborted();
    await rebuildDate(options, ofDate, (bytes) =>
      onProgress({ doing: date, done: before + bytes, total, unit: "bytes", quotes: tally.report.read }),
    );
    before += bytesOf(ofDate);
  }
}

function bytesOf(segments: readonly SegmentInfo[]): number {
  return segments.reduce((sum, { bytes, fileBytes }) => sum + (bytes ?? fileBytes), 0);
}

/** Segments by the exchange date of the hour they were opened in. */
function byDate(segments: readonly SegmentInfo[]): Map<string, SegmentInfo[]> {
  const groups = new Map<string, SegmentInfo[]>();
  for (const segment of segments) {
    const date = exchangeDate(new Date((segmentHour(segment.name) ?? 0) * HOUR_MS));
    groups.set(date, [...(groups.get(date) ?? []), segment]);
  }
  return groups;
}

async function rebuildDate(
  options: RebuildOptions,
  segments: readonly SegmentInfo[],
  onBatch: (bytes: number) => void,
): Promise<void> {
  const { pool, signal, tally } = options;
  const before = tally.report;
  const client = await pool.connect();
  let broken: Error | undefined;
  let bytes = 0;
  const memory = createMemory();
  const dates = new Set<string>();
  try {
    await client.query("begin");
    for (const { name } of segments) {
      for await (const batch of batchesOf(options, name)) {
        signal.throwIfAborted();
        await ensureRoom(client, batch.answers, memory);
        const others = datesOf(batch).filter((date) => !dates.has(date));
        // Bars that are there would follow each batch: they are made once, at the end.
        if (others.length > 0)
          await client.query(
            "delete from session_bars where date = any ($1::date[]) and not quotes_dropped",
            [others],
          );
        for (const date of others) dates.add(date);
        await replaceBatch(client, options, batch);
        bytes += batch.to - batch.from;
        onBatch(bytes);
      }
    }
    for (const date of dates) await client.query("select recompute_session_bars($1, $1)", [date]);
    await client.query("commit");
  } catch (error) {
    broken = error as Error;
    tally.report = before;
    await client.query("rollback").catch(() => undefined);
    throw error;
  } finally {
    client.release(broken);
  }
  const sorted = [...dates].sort();
  await refreshPieces(pool, sorted[0] ?? null, sorted.at(-1) ?? null);
}

/** Exchange dates of a batch's rows. */
function datesOf({ answers }: Batch): string[] {
  const times = answers.flatMap(({ record, units }) => [
    record.observedAt,
    ...units.map(({ observedAt }) => observedAt),
  ]);
  return [...new Set([...new Set(times)].map((at) => exchangeDate(dateOf(at))))];
}

async function replaceBatch(
  client: pg.PoolClient,
  { bookmark, tally }: RebuildOptions,
  batch: Batch,
): Promise<void> {
  if (!(await bookmark.take(client, batch))) throw overtaken(batch);
  const replaced = await removeAnswers(client, batch.answers);
  const loaded = await storeBatch(client, batch);
  tally.report = { ...tally.report, replaced: tally.report.replaced + replaced };
  await bookmark.move(client, batch, loaded);
  tally.report = withBatch(tally.report, batch, loaded);
}

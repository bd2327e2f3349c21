/**
 * Replaces the rows of a journal's answers, each exchange date in one transaction: a reader sees the old rows or the new
 * ones, never a hole.
 */
import type pg from "pg";
import { findSeen } from "../../archive/load/instruments.ts";
import { addAllSeen } from "../../archive/load/seen.ts";
import { restoreInstruments } from "../../archive/load/refreshInstruments.ts";
import { restoredSightings } from "../../archive/load/restore.ts";
import { markLate } from "../../archive/schema/lateDays.ts";
import {
  createMemory,
  datesOf as datesTouchedBy,
  ensureRoom,
  monthsOf,
  storeBatch,
} from "../../archive/load/loadBatch.ts";
import type { Batch } from "../../archive/load/batch.ts";
import { prepareStaging } from "../../archive/load/staging.ts";
import { dateOf } from "../../ground/clock.ts";
import { grouped } from "../../collect/asks.ts";
import { segmentHour } from "../../journal/segmentName.ts";
import type { SegmentInfo } from "../../journal/segments.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { restoreFills, type SlotKey } from "../../archive/refill/restoreFills.ts";
import { withLoaded } from "../../archive/refill/backfillReport.ts";
import {
  hasOtherAnswers,
  remakeBars,
  removeAnswers,
  removeNotes,
  removeStrayDividends,
} from "../../archive/refill/removeAnswers.ts";
import { oneConnectionEach } from "../../archive/tiers/citus/door.ts";
import { BEGIN_STORING_ALONE, transactionOn } from "../../archive/connect/transaction.ts";
import type { HeldPosition } from "../../archive/load/loadPosition.ts";
import { overtaken } from "../../archive/refill/runPosition.ts";
import { batchesOf, bytesOf, type ReplayOptions } from "./replay.ts";
import { Restoring } from "./restoring.ts";

const HOUR_MS = 3_600_000;

type RebuildOptions = ReplayOptions & {
  runPosition: HeldPosition;
};

/**
 * Replaces rows, and restores slots, misses and instruments from the journal.
 *
 * @throws as `replay`
 */
export async function rebuild(options: RebuildOptions): Promise<void> {
  const { pool, segments, tally, onProgress, signal } = options;
  const restoring = new Restoring(options.range);
  await recall(options, restoring);
  const total = bytesOf(segments);
  let before = 0;
  for (const [date, ofDate] of byDate(segments)) {
    signal.throwIfAborted();
    const onBytes = (bytes: number): void =>
      onProgress({ doing: date, done: before + bytes, total, unit: "bytes", quotes: tally.report.read });
    await rebuildDate({ ...options, segments: ofDate, onBytes }, restoring);
    before += bytesOf(ofDate);
  }
  await restoreInstruments(pool, restoring.seen, await isWhole(options, restoring));
}

/** Reads again what an earlier run has rebuilt, to remember what that run remembered. */
async function recall(options: RebuildOptions, restoring: Restoring): Promise<void> {
  const { pool, segments, positions } = options;
  const done = { ...options, positions: new Map(), ends: positions, onDamage: () => undefined };
  for (const { name } of segments)
    for await (const { answers, notes, to } of batchesOf(done, name)) {
      restoring.read(notes);
      restoring.ends.set(name, to);
      const sightings = [...answers.flatMap(({ units }) => units), ...restoredSightings(answers)];
      const client = await pool.connect();
      try {
        addAllSeen(restoring.seen, await findSeen(client, sightings));
      } finally {
        client.release();
      }
    }
}

/** Whether every row of the archive comes from the journal, and the whole journal could be read. */
async function isWhole({ pool, range, tally }: RebuildOptions, { ends }: Restoring): Promise<boolean> {
  if (range.from !== null || range.to !== null || tally.report.damagedBytes > 0) return false;
  return !(await hasOtherAnswers(pool, ends));
}

/** Segments by the exchange date of their first hour. */
function byDate(segments: readonly SegmentInfo[]): Map<string, SegmentInfo[]> {
  return grouped(segments, ({ name }) => exchangeDate(new Date((segmentHour(name) ?? 0) * HOUR_MS)));
}

/** @param options.segments those of the date */
async function rebuildDate(
  options: RebuildOptions & { onBytes: (bytes: number) => void },
  restoring: Restoring,
): Promise<void> {
  const { pool, segments, signal, tally, onBytes } = options;
  const before = tally.report;
  let bytes = 0;
  const memory = createMemory();
  const dates = new Set<string>();
  const touched = new Set<string>();
  const slots: SlotKey[] = [];
  const rebuildSegment = async (client: pg.PoolClient, name: string): Promise<void> => {
    for await (const batch of batchesOf(options, name)) {
      signal.throwIfAborted();
      await ensureRoom(client, monthsOf(batch.answers), memory);
      for (const date of datesOf(batch)) dates.add(date);
      for (const date of datesTouchedBy(batch)) touched.add(date);
      slots.push(...(await replaceBatch(client, batch, { ...options, restoring })));
      restoring.ends.set(batch.segment, batch.to);
      bytes += batch.to - batch.from;
      onBytes(bytes);
    }
  };
  const rebuildAll = async (client: pg.PoolClient): Promise<void> => {
    await oneConnectionEach(client);
    for (const { name } of segments) await rebuildSegment(client, name);
    await restoreFills(client, slots);
    await remakeBars(client, dates);
    await markLate(client, [...touched].sort());
  };
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await prepareStaging(client);
    await transactionOn(client, () => rebuildAll(client), BEGIN_STORING_ALONE);
  } catch (error) {
    tally.report = before;
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}

function datesOf({ answers }: Batch): string[] {
  const times = answers.flatMap(({ record, units }) => [
    record.observedAt,
    ...units.map(({ observedAt }) => observedAt),
  ]);
  return [...new Set([...new Set(times)].map((at) => exchangeDate(dateOf(at))))];
}

/** @returns the slots that are rebuilt */
async function replaceBatch(
  client: pg.PoolClient,
  given: Batch,
  { runPosition, tally, restoring }: RebuildOptions & { restoring: Restoring },
): Promise<SlotKey[]> {
  const { slots, notes } = restoring.read(given.notes);
  const batch = { ...given, notes };
  if (!(await runPosition.take(client, batch))) throw overtaken(batch);
  const replaced = await removeAnswers(client, batch.answers);
  await removeNotes(client, slots, batch.notes);
  const loaded = await storeBatch(client, batch, restoring.seen);
  await removeStrayDividends(client, batch.answers);
  tally.report = { ...tally.report, replaced: tally.report.replaced + replaced };
  await runPosition.move(client, batch, loaded);
  tally.report = withLoaded(tally.report, loaded);
  return slots;
}

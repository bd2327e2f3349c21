/** One transaction: a batch of journaled answers becomes rows, and the journal position moves with them. */
import type pg from "pg";
import { ensurePartitionsFor } from "../schema/partitions.ts";
import { type LoadPosition, JOURNAL_POSITION } from "./loadPosition.ts";
import { IN_EACH_OTHERS_WAY, READ_ONLY, sqlstateOf } from "../connect/databaseError.ts";
import { isWithoutPartition } from "../connect/whoseFault.ts";
import { insertDeadLetters } from "./insert.ts";
import type { SeenInstruments } from "./seen.ts";
import { addLetterCounts, countLetters } from "./letterCounts.ts";
import { exchangeDatesOf, markLate, slotTimesIn } from "../schema/lateDays.ts";
import { loadNotes } from "./loadNotes.ts";
import type { Instant } from "../../ground/clock.ts";
import type { AnswerRows } from "../../read/rowTypes.ts";
import { storeAnswers } from "./storeAnswers.ts";
import { prepareStaging } from "./staging.ts";
import { oneConnectionEach } from "../tiers/citus/door.ts";
import { type Batch, countsOf, type LoadReport } from "./batch.ts";

/** Whether the same may go well when it is tried again at once. */
function isPassing(error: unknown): boolean {
  return IN_EACH_OTHERS_WAY.has(sqlstateOf(error)) || isWithoutPartition(error);
}

/** How often a batch is tried at once when another transaction is in its way. */
const ATTEMPTS = 4;

/** What a loader remembers between batches, to ask the database less: months whose partitions it has seen. */
export type LoadMemory = { months: Set<string> };

export function createMemory(): LoadMemory {
  return { months: new Set() };
}

type LoadBatchOptions = {
  memory?: LoadMemory;
  /** How far this load has come; default: the journal's position. */
  position?: LoadPosition;
};

/**
 * Loads a batch, whatever is in it, or finds that another program has done so.
 *
 * @returns null when the position is no longer at `batch.from`: read it again from there
 * @throws the database's errors as they are; nothing of the batch is stored then
 */
export async function loadBatch(
  pool: pg.Pool,
  batch: Batch,
  { memory = createMemory(), position = JOURNAL_POSITION }: LoadBatchOptions = {},
): Promise<LoadReport | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await loadOnce(pool, batch, { memory, position });
    } catch (error) {
      memory.months.clear();
      if (attempt === ATTEMPTS || !isPassing(error)) throw error;
    }
  }
}

async function loadOnce(
  pool: pg.Pool,
  batch: Batch,
  { memory, position }: Required<LoadBatchOptions>,
): Promise<LoadReport | null> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    // Outside the batch's transaction: partitions stay useful if it fails, and lock nothing meanwhile.
    await ensureRoom(client, monthsOf(batch.answers), memory);
    await prepareStaging(client);
    if (!(await position.begin(client, batch))) {
      await client.query("rollback");
      return null;
    }
    await oneConnectionEach(client);
    const report = await storeBatch(client, batch);
    await markLate(client, datesOf(batch));
    await position.commit(client, batch, report);
    return report;
  } catch (error) {
    await client.query("rollback").catch(() => (broken = error as Error));
    // A session stays read only when its database no longer is: the next attempt gets a new one.
    if (sqlstateOf(error) === READ_ONLY) broken = error as Error;
    throw error;
  } finally {
    // A connection that failed is closed, never handed out again half-way through a transaction.
    client.release(broken);
  }
}

/** Makes what rows of some months need before they can be inserted; `months` as `monthsOf` gives them. */
export async function ensureRoom(
  client: pg.ClientBase,
  months: ReadonlyMap<string, Instant>,
  memory: LoadMemory,
): Promise<void> {
  const strange = [...months].filter(([month]) => !memory.months.has(month));
  if (strange.length === 0) return;
  await ensurePartitionsFor(
    client,
    strange.map(([, time]) => time),
  );
  for (const [month] of strange) memory.months.add(month);
}

/** A time in each month of these answers' rows, by `2026-11`. */
export function monthsOf(answers: readonly AnswerRows[]): Map<string, Instant> {
  const months = new Map<string, Instant>();
  const look = (time: Instant): void => {
    const month = time.slice(0, "2026-11".length);
    if (!months.has(month)) months.set(month, time);
  };
  for (const { record, units, restored } of answers) {
    look(record.observedAt);
    for (const { observedAt } of units) look(observedAt);
    for (const { observedAt } of restored?.dividends ?? []) look(observedAt);
  }
  return months;
}

/** Exchange dates of a batch's rows, and of the slots that its notes tell of. */
export function datesOf({ answers, notes }: Pick<Batch, "answers" | "notes">): string[] {
  return exchangeDatesOf([
    ...answers.flatMap(({ record, units }) => [
      record.observedAt,
      ...units.map(({ observedAt }) => observedAt),
    ]),
    ...notes.flatMap(({ note }) => slotTimesIn(note)),
  ]);
}

/** Stores a batch's answers and notes, inside a transaction of the caller's. `seen` as in `storeAnswers`. */
export async function storeBatch(
  client: pg.PoolClient,
  { answers, notes }: Pick<Batch, "answers" | "notes">,
  seen?: SeenInstruments,
): Promise<LoadReport> {
  const stored = await storeAnswers(client, answers, seen);
  const { slots, refused } = await loadNotes(client, notes);
  const deadLetters = stored.deadLetters + (await insertDeadLetters(client, refused));
  const lost = addLetterCounts(stored.lost, countLetters(refused));
  return { ...countsOf(answers), ...stored, slots, deadLetters, lost };
}

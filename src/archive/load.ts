/** One transaction: a batch of journaled answers becomes rows, and the journal position moves with them. */
import type pg from "pg";
import { ensurePartitionsFor } from "./partitions.ts";
import {
  copyQuotes,
  insertDeadLetters,
  insertDividends,
  type InsertQuotes,
  insertResponses,
  mergeQuotes,
  type SourcedAnswer,
} from "./insert.ts";
import { placeInstruments, placeSources, refreshInstruments } from "./instruments.ts";
import { type JournaledNote, loadNotes } from "./loadNotes.ts";
import type { PlacedUnit } from "./quoteColumns.ts";
import { isRefusedForData, isWithoutPartition, sqlstateOf } from "./refusal.ts";
import type { Instant } from "../instant.ts";
import { type AnswerRows, type DeadLetter, type QuoteUnit, unitName } from "./rows.ts";

/** A stretch of one journal segment, read and ready to be loaded. */
export type Batch = {
  segment: string;
  /** Where the stretch begins and ends in the segment, bytes of the uncompressed stream. */
  from: number;
  to: number;
  answers: AnswerRows[];
  /** Notes of the ledger, in the journal's order. */
  notes: JournaledNote[];
};

/** What a load did; all counts are of this load alone. */
export type LoadReport = {
  responses: number;
  quotes: number;
  dividends: number;
  /** Quotes that were in the archive already. */
  repeated: number;
  deadLetters: number;
  /** Slots of the ledger. */
  slots: number;
};

/** Nothing loaded. */
export const NOTHING_LOADED: LoadReport = {
  responses: 0,
  quotes: 0,
  dividends: 0,
  repeated: 0,
  deadLetters: 0,
  slots: 0,
};

/** Two reports as one. */
export function addReports(a: LoadReport, b: LoadReport): LoadReport {
  return {
    responses: a.responses + b.responses,
    quotes: a.quotes + b.quotes,
    dividends: a.dividends + b.dividends,
    repeated: a.repeated + b.repeated,
    deadLetters: a.deadLetters + b.deadLetters,
    slots: a.slots + b.slots,
  };
}

/** A unit with its source, and the ordinal of its dead letter should it become one. */
type SourcedUnit = { unit: QuoteUnit; sourceId: number; ordinal: number };

type LostUnit = SourcedUnit & { detail: string };

const UNIQUE_VIOLATION = "23505";

/**
 * SQLSTATEs of two transactions in each other's way: 40001 (serialization failure), 40P01 (deadlock). The loader's
 * own locks have one order; those of other programs, and of halves after a refused row, may not.
 */
const IN_EACH_OTHERS_WAY = new Set(["40001", "40P01"]);

/** How often a batch is tried at once when another transaction is in its way. */
const ATTEMPTS = 4;

/** What a loader remembers between batches, to ask the database less: months whose partitions it has seen. */
export type LoadMemory = { months: Set<string> };

/** Nothing remembered. */
export function createMemory(): LoadMemory {
  return { months: new Set() };
}

/**
 * Loads a batch, or finds that another program has done so.
 *
 * @param memory of a loader that loads one batch after another
 * @returns null when the segment's position is no longer at `batch.from`: read it again from the position
 * @throws the database's errors as they are; nothing of the batch is stored then
 */
export async function loadBatch(
  pool: pg.Pool,
  batch: Batch,
  memory: LoadMemory = createMemory(),
): Promise<LoadReport | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await loadOnce(pool, batch, memory);
    } catch (error) {
      memory.months.clear();
      const again = IN_EACH_OTHERS_WAY.has(sqlstateOf(error)) || isWithoutPartition(error);
      if (attempt === ATTEMPTS || !again) throw error;
    }
  }
}

async function loadOnce(pool: pg.Pool, batch: Batch, { months }: LoadMemory): Promise<LoadReport | null> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const times = batch.answers.map(({ record }) => record.observedAt);
    if (times.some((time) => !months.has(monthText(time)))) {
      // Outside the batch's transaction: partitions stay useful if it fails, and lock nothing meanwhile.
      await ensurePartitionsFor(client, times);
      for (const time of times) months.add(monthText(time));
    }
    await client.query("begin");
    if ((await lockPosition(client, batch.segment)) !== batch.from) {
      await client.query("rollback");
      return null;
    }
    const answers = await insertAnswers(client, batch.answers);
    const { slots, refused } = await loadNotes(client, batch.notes);
    const deadLetters = answers.deadLetters + (await insertDeadLetters(client, refused));
    const report = { ...answers, slots, deadLetters };
    await client.query({
      name: "move position",
      text: "update journal_positions set loaded_to = $2, loaded_at = now() where segment = $1",
      values: [batch.segment, batch.to],
    });
    await client.query("commit");
    return report;
  } catch (error) {
    broken = error as Error;
    await client.query("rollback").catch(() => undefined);
    throw error;
  } finally {
    // A connection that failed is closed, never handed out again half-way through a transaction.
    client.release(broken);
  }
}

function monthText(instant: Instant): string {
  return instant.slice(0, "2026-11".length);
}

/** How far each segment has been loaded; of all that were begun, or of the ones given. */
export async function readPositions(
  pool: pg.Pool,
  segments: readonly string[] | null = null,
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ segment: string; loaded_to: string }>(
    "select segment, loaded_to from journal_positions where $1::text[] is null or segment = any ($1)",
    [segments],
  );
  return new Map(rows.map(({ segment, loaded_to }) => [segment, Number(loaded_to)]));
}

/** The segment's position, locked until the transaction ends: two programs never load the same stretch. */
async function lockPosition(client: pg.PoolClient, segment: string): Promise<number> {
  const lock = async (): Promise<{ loaded_to: string } | undefined> => {
    const { rows } = await client.query<{ loaded_to: string }>({
      name: "lock position",
      text: "select loaded_to from journal_positions where segment = $1 for update",
      values: [segment],
    });
    return rows[0];
  };
  const known = await lock();
  if (known) return Number(known.loaded_to);
  await client.query(
    "insert into journal_positions (segment, loaded_to, loaded_at) values ($1, 0, now()) on conflict do nothing",
    [segment],
  );
  return Number((await lock())?.loaded_to ?? 0);
}

async function insertAnswers(client: pg.PoolClient, answers: readonly AnswerRows[]): Promise<LoadReport> {
  if (answers.length === 0) return NOTHING_LOADED;
  const sourceIds = await placeSources(
    client,
    answers.map(({ record }) => record.source),
  );
  const sourced = answers.map((answer, index): SourcedAnswer => ({
    ...answer,
    sourceId: sourceIds[index] ?? 0,
  }));
  const responses = await insertResponses(client, sourced);
  const units = sourced.flatMap(({ units, deadLetters, sourceId }) =>
    // Ordinals follow those of the reader's own dead letters, and are the same in whatever batch the answer comes.
    units.map((unit, place): SourcedUnit => ({ unit, sourceId, ordinal: deadLetters.length + place })),
  );
  const lost: LostUnit[] = [];
  // Quotes of answers that were not there are not there either, as a rule: COPY finds out, and mergeQuotes remains.
  const stored = await insertUnits({ client, lost, areNew: responses === answers.length }, units);
  const letters = [
    ...sourced.flatMap(({ deadLetters, sourceId }) => deadLetters.map((letter) => ({ ...letter, sourceId }))),
    ...lost.map(lostLetter),
  ];
  const deadLetters = await insertDeadLetters(client, letters);
  return {
    responses,
    ...stored,
    repeated: units.length - lost.length - stored.quotes,
    deadLetters,
    slots: 0,
  };
}

type UnitsTarget = { client: pg.PoolClient; lost: LostUnit[]; areNew: boolean };

/**
 * Inserts units. Ways, each in a savepoint: COPY when they are new; merging when COPY has met one that is there;
 * and when the database refuses one for its data, halves until that one stands alone and is set aside, while the
 * others land.
 */
async function insertUnits(
  target: UnitsTarget,
  units: readonly SourcedUnit[],
): Promise<{ quotes: number; dividends: number }> {
  if (units.length === 0) return { quotes: 0, dividends: 0 };
  const { client, lost, areNew } = target;
  await client.query("savepoint units");
  try {
    // The savepoint stays until the commit; one inside it has its name and goes before it.
    return await insertWhole(client, units, areNew ? copyQuotes : mergeQuotes);
  } catch (error) {
    if (!isRefusedForData(error)) throw error;
    await client.query("rollback to savepoint units");
    await client.query("release savepoint units");
    if (areNew && error.code === UNIQUE_VIOLATION) return insertUnits({ ...target, areNew: false }, units);
    const [only] = units;
    if (units.length === 1 && only) {
      lost.push({ ...only, detail: `${error.code}: ${error.message}` });
      return { quotes: 0, dividends: 0 };
    }
    const middle = Math.ceil(units.length / 2);
    const left = await insertUnits(target, units.slice(0, middle));
    const right = await insertUnits(target, units.slice(middle));
    return { quotes: left.quotes + right.quotes, dividends: left.dividends + right.dividends };
  }
}

async function insertWhole(
  client: pg.PoolClient,
  units: readonly SourcedUnit[],
  insertQuotes: InsertQuotes,
): Promise<{ quotes: number; dividends: number }> {
  const { ids, seen } = await placeInstruments(
    client,
    units.map(({ unit }) => unit),
  );
  const placed = units.map(({ unit, sourceId }, index): PlacedUnit => ({
    unit,
    sourceId,
    instrumentId: ids[index] ?? 0,
  }));
  const quotes = await insertQuotes(client, placed);
  const dividends = await insertDividends(client, placed);
  // Last, because it locks rows that other loaders want as well.
  await refreshInstruments(client, seen);
  return { quotes, dividends };
}

function lostLetter({ unit, sourceId, ordinal, detail }: LostUnit): DeadLetter & { sourceId: number } {
  return {
    observedAt: unit.observedAt,
    sourceId,
    ordinal,
    instrument: unitName(unit),
    reason: "refused_by_database",
    detail,
    fragment: JSON.stringify(unit.quote),
  };
}

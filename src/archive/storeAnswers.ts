/** Journaled answers become rows, inside a transaction of the caller's; a row the database refuses costs itself alone. */
import type pg from "pg";
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
import type { PlacedUnit } from "./quoteColumns.ts";
import { isRefusedForData } from "./refusal.ts";
import { type AnswerRows, type DeadLetter, type QuoteUnit, unitName } from "./rows.ts";

/** A unit with its source, and the ordinal of its dead letter should it become one. */
type SourcedUnit = { unit: QuoteUnit; sourceId: number; ordinal: number };

type LostUnit = SourcedUnit & { detail: string };

const UNIQUE_VIOLATION = "23505";

/** What became of some answers; all counts are of this time alone. */
export type StoredAnswers = {
  responses: number;
  quotes: number;
  dividends: number;
  /** Quotes that were in the archive already. */
  repeated: number;
  deadLetters: number;
};

/** Nothing stored. */
const NOTHING_STORED: StoredAnswers = { responses: 0, quotes: 0, dividends: 0, repeated: 0, deadLetters: 0 };

/**
 * Stores answers; those that are there already add nothing.
 *
 * @throws the database's errors that are not about a row's data
 */
export async function storeAnswers(
  client: pg.PoolClient,
  answers: readonly AnswerRows[],
): Promise<StoredAnswers> {
  if (answers.length === 0) return NOTHING_STORED;
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

/** Journaled answers become rows, inside a transaction of the caller's; a row the database refuses costs itself alone. */
import type pg from "pg";
import { makeDividends } from "./dividends.ts";
import {
  dropOldLetters,
  insertDeadLetters,
  insertResponses,
  responseRow,
  type SourcedAnswer,
  type SourcedLetter,
} from "./insert.ts";
import { isPlainCall } from "../../read/plainCall.ts";
import { isFileCall } from "../../read/exportCall.ts";
import { replaceQuotes, withoutReplaced } from "./replaceQuotes.ts";
import { storeUnits } from "./storeQuotes.ts";
import { restoreDirectory, restoreDividends } from "./restore.ts";
import { placeInstruments } from "./instruments.ts";
import { addAllSeen, type SeenInstruments } from "./seen.ts";
import { placeAccounts } from "../ledger/accountRows.ts";
import { placeSources, sourceText } from "./sources.ts";
import { refreshInstruments } from "./refreshInstruments.ts";
import type { Instant } from "../../ground/clock.ts";
import { DEFAULT_ACCOUNT, type RecordSource } from "../../journal/record.ts";
import { EXTENDED_QUOTES, type PlacedUnit, type QuoteColumn, QUOTES } from "../schema/quoteColumns.ts";
import { isOfItsRow, mayBeOfARow, refusalOf } from "../connect/whoseFault.ts";
import { undo } from "../connect/transaction.ts";
import type { StoredAnswers } from "./batch.ts";
import { addCounts, countLetters } from "./letterCounts.ts";
import { someDifferences } from "../../quotes/differences.ts";
import { unitName } from "../../read/answerToRows.ts";
import type { AnswerRows, QuoteUnit } from "../../read/rowTypes.ts";

/** A unit with its source, and the time and ordinal of its dead letter should it become one. */
type SourcedUnit = {
  unit: QuoteUnit;
  sourceId: number;
  ordinal: number;
  /** Its answer's. */
  observedAt: Instant;
  /** Whether it comes from a file in which others may stand for the same instrument and time. */
  fromFile: boolean;
  /** Whether it takes the place of a row that says something else. */
  replaces: boolean;
};

type LostUnit = SourcedUnit & { reason: "refused_by_database" | "answered_twice"; detail: string };

/**
 * Stores answers; those that are there already add nothing.
 *
 * @param seen grows by what the quotes that are stored, or there already, say of their instruments
 * @throws the database's errors that are not about a row's data
 */
export async function storeAnswers(
  client: pg.PoolClient,
  answers: readonly AnswerRows[],
  seen: SeenInstruments = new Map(),
): Promise<StoredAnswers> {
  await restoreDirectory(client, answers, seen);
  const sourceIdOf = await placeAllSources(client, answers);
  const accountIds = await placeAccounts(
    client,
    answers.map(({ record }) => record.account ?? DEFAULT_ACCOUNT),
  );
  const sourced = answers.map((answer): SourcedAnswer => ({
    ...answer,
    sourceId: sourceIdOf(answer.record.source),
  }));
  const rows = sourced.map((answer, place) => ({
    ...responseRow(answer),
    sourceId: answer.sourceId,
    accountId: accountIds[place] ?? 0,
  }));
  const responses = await insertResponses(client, rows);
  const units = sourced.flatMap(({ record, units, deadLetters, sourceId }) => {
    const { observedAt, request } = record;
    const fromFile = isFileCall(request);
    const replaces = isPlainCall(request) && request.replaces !== undefined;
    // Ordinals follow those of the reader's own dead letters, and are the same in whatever batch the answer comes.
    return units.map((unit, place): SourcedUnit => ({
      unit,
      observedAt,
      fromFile,
      replaces,
      sourceId: unit.restored === undefined ? sourceId : sourceIdOf(unit.restored.source),
      ordinal: deadLetters.length + place,
    }));
  });
  const lost: LostUnit[] = [];
  const wanted = units.some(({ fromFile }) => fromFile) ? await withoutReplaced(client, units) : units;
  const stored = await insertUnits({ client, lost, seen }, wanted);
  const restoredDividends = await restoreDividends(client, answers);
  const lostLetters = lost.map(lostLetter);
  const letters = [
    ...sourced.flatMap(({ deadLetters, sourceId }) => deadLetters.map((letter) => ({ ...letter, sourceId }))),
    ...lostLetters,
  ];
  if (responses < answers.length) await dropOldLetters(client, rows, letters);
  const deadLetters = await insertDeadLetters(client, letters);
  return {
    responses,
    ...stored,
    dividends: stored.dividends + restoredDividends,
    repeated: units.length - lost.length - stored.quotes,
    deadLetters,
    lost: countLetters(lostLetters),
  };
}

async function placeAllSources(
  client: pg.ClientBase,
  answers: readonly AnswerRows[],
): Promise<(source: RecordSource) => number> {
  const named = answers.flatMap(({ record, units }) => [
    record.source,
    ...units.flatMap(({ restored }) => restored?.source ?? []),
  ]);
  const sources = [...new Map(named.map((source) => [sourceText(source), source])).values()];
  const ids = await placeSources(client, sources);
  const byText = new Map(sources.map((source, place) => [sourceText(source), ids[place] ?? 0]));
  return (source) => byText.get(sourceText(source)) ?? 0;
}

type UnitsTarget = { client: pg.PoolClient; lost: LostUnit[]; seen: SeenInstruments };

type InsertCounts = { quotes: number; replaced: number; dividends: number };

const NOTHING_INSERTED: InsertCounts = { quotes: 0, replaced: 0, dividends: 0 };

/**
 * Inserts units in a savepoint. When one of them may be to blame for an error, halves are inserted until that one stands alone; if it is
 * to blame it is set aside, and the others land.
 *
 * @throws whatever is no fault of a row; nothing may be committed then
 */
async function insertUnits(target: UnitsTarget, units: readonly SourcedUnit[]): Promise<InsertCounts> {
  if (units.length === 0) return NOTHING_INSERTED;
  const { client } = target;
  const [only] = units.length === 1 ? units : [];
  await client.query("savepoint units");
  try {
    // The savepoint stays until the commit; one inside it has its name and goes before it.
    return await insertWhole(target, units);
  } catch (error) {
    if (!mayBeOfARow(error)) throw error;
    await undo(client, "units", error);
    if (only && isOfItsRow(error)) {
      target.lost.push({ ...only, reason: "refused_by_database", detail: refusalOf(error) });
      return NOTHING_INSERTED;
    }
    if (only) throw error;
  }
  const middle = Math.ceil(units.length / 2);
  const left = await insertUnits(target, units.slice(0, middle));
  const right = await insertUnits(target, units.slice(middle));
  return addCounts(left, right);
}

async function insertWhole(
  { client, lost, seen }: UnitsTarget,
  units: readonly SourcedUnit[],
): Promise<InsertCounts> {
  const { ids, seen: here } = await placeInstruments(
    client,
    units.map(({ unit }) => unit),
  );
  const placed = units.map(({ unit, sourceId }, index): PlacedUnit => ({
    unit,
    sourceId,
    instrumentId: ids[index] ?? 0,
  }));
  const inserted = await storeUnits(client, placed);
  const fromFiles = inserted === units.length ? [] : units.filter((unit) => unit.fromFile);
  const contested =
    fromFiles.length > 0 ? await contestedUnits(client, fromFiles, placed) : NOTHING_CONTESTED;
  if (contested.replacing.length > 0) await replaceQuotes(client, contested.replacing);
  // Late, because it locks rows that other loaders want as well.
  await refreshInstruments(client, here);
  const dividends = await makeDividends(client, placed);
  addAllSeen(seen, here);
  lost.push(...contested.lost);
  const replaced = contested.replacing.length;
  return { quotes: inserted + replaced, replaced, dividends };
}

/** What becomes of rows that say something else than the row that is there. */
type Contest = { lost: LostUnit[]; replacing: PlacedUnit[] };

const NOTHING_CONTESTED: Contest = { lost: [], replacing: [] };

/** Rows of files that say something else than the row that is there: not to be lost sight of, or put in its place. */
async function contestedUnits(
  client: pg.PoolClient,
  units: readonly SourcedUnit[],
  placed: readonly PlacedUnit[],
): Promise<Contest> {
  const numbers = new Map(placed.map((one) => [one.unit, one]));
  const rows = units.flatMap(({ unit }) => numbers.get(unit) ?? []);
  const contested: Contest = { lost: [], replacing: [] };
  for (const { place, differing } of await findContested(client, rows)) {
    const [unit, row] = [units[place - 1], rows[place - 1]];
    if (unit === undefined || row === undefined) continue;
    const { fragment, observedAt } = unit.unit;
    const detail = `${fragment ?? "a row of an export"}: the archive has other values at ${observedAt}: ${someDifferences(differing)}`;
    if (unit.replaces) contested.replacing.push(row);
    else contested.lost.push({ ...unit, reason: "answered_twice", detail });
  }
  return contested;
}

function lostLetter(lost: LostUnit): SourcedLetter {
  const { unit, sourceId, ordinal, observedAt, reason, detail } = lost;
  const instrument = unitName(unit);
  return { observedAt, sourceId, ordinal, instrument, reason, detail, fragment: JSON.stringify(unit.quote) };
}

/** The columns of a table's values, without its key. */
function valuesOf(columns: readonly QuoteColumn[]): QuoteColumn[] {
  return columns.slice(3);
}

const COLUMNS = [...QUOTES.columns, ...valuesOf(EXTENDED_QUOTES.columns)];

const SQL = `
  select w.place::int as place, array_remove(array[
    ${[differing("q", QUOTES), differing("e", EXTENDED_QUOTES)].join(", ")}
  ], null) as differing
  from unnest(${COLUMNS.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ")})
    with ordinality as w (${COLUMNS.map(({ name }) => name).join(", ")}, place)
  join quotes q on q.instrument_id = w.instrument_id and q.observed_at = w.observed_at and q.source_id = w.source_id
  left join extended_quotes e
    on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
  where (${names("w", QUOTES)}) is distinct from (${names("q", QUOTES)})
     or (e.instrument_id is not null and (${names("w", EXTENDED_QUOTES)}) is distinct from (${names("e", EXTENDED_QUOTES)}))`;

function names(alias: string, { columns }: { columns: readonly QuoteColumn[] }): string {
  return valuesOf(columns)
    .map(({ name }) => `${alias}.${name}`)
    .join(", ");
}

/** By column of the archive's row: `last 1.5 there and 1.4 here` where the file's says something else. */
function differing(alias: "q" | "e", { columns }: { columns: readonly QuoteColumn[] }): string {
  const text = (value: string): string => `coalesce(${value}::text, 'none')`;
  const isThere = alias === "e" ? "e.instrument_id is not null and " : "";
  return valuesOf(columns)
    .map(({ name }) => {
      const [there, here] = [`${alias}.${name}`, `w.${name}`];
      return `case when ${isThere}${there} is distinct from ${here}
        then '${name} ' || ${text(there)} || ' there and ' || ${text(here)} || ' here' end`;
    })
    .join(", ");
}

/** A unit that says something else than the archive's row: its place, from 1 on, and in which columns. */
type ContestedUnit = { place: number; differing: string[] };

async function findContested(client: pg.ClientBase, units: readonly PlacedUnit[]): Promise<ContestedUnit[]> {
  const { rows } = await client.query<ContestedUnit>({
    name: "find contested",
    text: SQL,
    values: COLUMNS.map(({ text }) => units.map(text)),
  });
  return rows;
}

/**
 * The one way of quotes into the archive: by COPY into the tables where all rows are new, and otherwise into staging tables, of which
 * one statement for each table stores the rows that are not there yet. `session_bars` notes which bars they change; `makeBars` makes these.
 */
import type pg from "pg";
import { CopyLines, fillHole, type Numbers } from "../../read/copyLines.ts";
import { writtenOut } from "../../quotes/fields.ts";
import type { Instant } from "../../clock.ts";
import type { QuoteUnit } from "../../read/rowTypes.ts";
import {
  EXTENDED_QUOTES,
  hasExtended,
  inKeyOrder,
  type PlacedUnit,
  type QuoteTable,
  QUOTES,
} from "../schema/quoteColumns.ts";
import { exchangeDateAt } from "../schema/lateDays.ts";
import { sessionBars } from "../schema/internalSchema.ts";
import { IS_STALE, removeStaleBars } from "../schema/makeBars.ts";
import { columnList, inArrays } from "../schema/tableRows.ts";
import { copyInto } from "./copyInto.ts";

const TABLES = [QUOTES, EXTENDED_QUOTES];

/** What the hole of a line is for comes first. */
const HOLE = ["instrument_id", "source_id"];

const staged = ({ name }: QuoteTable): string => `staged_${name}`;

/** Connections that have the staging tables. A temporary table lasts as long as its connection. */
const prepared = new WeakSet<pg.ClientBase>();

/** Makes the staging tables of a connection, outside of any transaction. */
export async function prepareStaging(client: pg.ClientBase): Promise<void> {
  if (prepared.has(client)) return;
  const made = TABLES.map(
    (table) =>
      `create temp table if not exists ${staged(table)} (like ${table.name} including defaults) on commit delete rows`,
  );
  // It says that a table is there already.
  await client.query(`begin; set local client_min_messages = warning; ${made.join("; ")}; commit`);
  prepared.add(client);
}

/** Quotes by series, an instrument from a source: of how many rows each is, and the lines of both tables. */
type QuoteLines = {
  series: readonly { rows: number; touched: readonly Touched[] }[];
  quotes: SeriesLines;
  extended: SeriesLines;
};

/** Lines of one table, series by series; `starts` has where each begins. */
export type SeriesLines = { bytes: Uint8Array<ArrayBuffer>; starts: Uint32Array<ArrayBuffer> };

const LINE_FEED = 0x0a;

/**
 * Lines in the order of their series, and in their own order within each.
 *
 * @param rows where each line begins, and which series it is of
 */
export function linesBySeries(
  { bytes, end }: Pick<CopyLines, "bytes" | "end">,
  rows: { starts: readonly number[]; seriesOf: readonly number[]; series: readonly { rows: number }[] },
): SeriesLines {
  const next = firstRows(rows.series);
  const order = new Uint32Array(rows.seriesOf.length);
  rows.seriesOf.forEach((series, row) => {
    const place = next[series] ?? 0;
    order[place] = row;
    next[series] = place + 1;
  });
  const sorted = { bytes: new Uint8Array(end), starts: new Uint32Array(order.length) };
  let at = 0;
  order.forEach((row, place) => {
    sorted.starts[place] = at;
    const from = rows.starts[row] ?? 0;
    at += bytes.copy(sorted.bytes, at, from, bytes.indexOf(LINE_FEED, from) + 1);
  });
  return sorted;
}

/** The exchange date of some rows of a series, and the times of the oldest and the newest of them: what one session bar has of them. */
export type Touched = { delayed: boolean; date: string; firstAt: Instant; lastAt: Instant };

/** Adds a row to what a series has touched. */
export function touch(
  touched: Touched[],
  { observedAt: at, delayed }: Pick<QuoteUnit, "observedAt" | "delayed">,
): void {
  const date = exchangeDateAt(at);
  const there = touched.find((one) => one.date === date && one.delayed === delayed);
  if (there === undefined) touched.push({ delayed, date, firstAt: at, lastAt: at });
  else if (at > there.lastAt) there.lastAt = at;
  else if (at < there.firstAt) there.firstAt = at;
}

/**
 * Stores lines that were made before. They go in the order of the tables' keys: neighbours in the index are written together, and
 * two loaders that write the same rows never wait for each other crosswise.
 *
 * @param client in a transaction, its connection after `prepareStaging`
 * @param numbers of each series, in its place
 * @param areNew whether no row is there yet: then COPY fills the tables themselves, three times as fast
 * @returns how many quotes were not there before
 * @throws the database's error, such as 23505 where rows are there that are taken for new
 */
export async function storeLines(
  client: pg.ClientBase,
  { series, quotes, extended }: QuoteLines,
  { numbers, areNew }: { numbers: readonly Numbers[]; areNew: boolean },
): Promise<number> {
  const order = series.map((_, place) => place).sort((a, b) => compareNumbers(numbers[a], numbers[b]));
  const firsts = firstRows(series);
  const ordered = function* ({ bytes, starts }: SeriesLines): Generator<Uint8Array> {
    for (const place of order) {
      const [first = 0, end = 0] = [firsts[place], firsts[place + 1]];
      for (let row = first; row < end; row++) fillHole(bytes, starts[row] ?? 0, numbers[place] as Numbers);
      yield bytes.subarray(starts[first], starts[end]);
    }
  };
  const into = areNew ? ({ name }: QuoteTable): string => name : staged;
  const copied = await copyInto(client, copySql(into(QUOTES), QUOTES), ordered(quotes));
  await copyInto(client, copySql(into(EXTENDED_QUOTES), EXTENDED_QUOTES), ordered(extended));
  const touched = order.flatMap((place) => {
    const { instrumentId, sourceId } = numbers[place] as Numbers;
    // Named one by one: a stretch may have thousands.
    return (series[place]?.touched ?? []).map(({ delayed, date, firstAt, lastAt }) => ({
      instrumentId,
      sourceId,
      delayed,
      date,
      firstAt,
      lastAt,
    }));
  });
  if (!areNew) return storeStaged(client, touched);
  await noteTouched(client, touched);
  return copied;
}

/** The same of units, of which one transaction may store some after others. */
export async function storeUnits(client: pg.ClientBase, units: readonly PlacedUnit[]): Promise<number> {
  await client.query(`truncate ${TABLES.map(staged).join(", ")}`);
  const ordered = inKeyOrder(units);
  for (const table of TABLES) {
    const lines = new CopyLines();
    for (const placed of table === QUOTES ? ordered : ordered.filter(hasExtended)) {
      const start = writeLine(lines, table, placed.unit);
      fillHole(lines.bytes, start, placed);
    }
    await copyInto(client, copySql(staged(table), table), [lines.bytes.subarray(0, lines.end)]);
  }
  const touched = ordered.map(({ instrumentId, sourceId, unit: { observedAt: at, delayed } }) => ({
    instrumentId,
    sourceId,
    delayed,
    date: exchangeDateAt(at),
    firstAt: at,
    lastAt: at,
  }));
  return storeStaged(client, touched);
}

const storeNew = (table: QuoteTable): string =>
  `with stored as (
     insert into ${table.name} (${lineColumns(table)}) select ${lineColumns(table)} from ${staged(table)} on conflict do nothing returning 1
   ) select count(*)::int as stored from stored`;

async function storeStaged(client: pg.ClientBase, touched: readonly (Numbers & Touched)[]): Promise<number> {
  const stored: number[] = [];
  for (const table of TABLES) {
    const { rows } = await client.query<{ stored: number }>({
      name: `store ${table.name}`,
      text: storeNew(table),
    });
    stored.push(rows[0]?.stored ?? 0);
  }
  // Volumes may come of quotes that were there before.
  if (stored.some((rows) => rows > 0)) await noteTouched(client, touched);
  return stored[0] ?? 0;
}

/**
 * Rows later than all of their bar's are added to it when it is made, which is what collecting does. Rows among or before them may
 * have been in it once and lost since: it is made of all rows again. Series that are one instrument are one bar. In the order of the key, so that two loaders do not wait for
 * each other in a circle.
 */
const NOTE_TOUCHED = `
  with noted as (
  insert into session_bars as kept (${columnList(sessionBars, "instrumentId", "sourceId", "delayed", "date", "firstAt", "lastAt", "madeTo", "spreadSum", "spreadCount", "quoteCount")})
  select instrument, source, delayed, date, min(first_at), max(last_at), '-infinity', 0, 0, 0
  from unnest($1::text[], $2::smallint[], $3::boolean[], $4::date[], $5::timestamptz[], $6::timestamptz[])
    as t (instruments, source, delayed, date, first_at, last_at)
  cross join unnest(t.instruments::int[]) as instrument
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (instrument_id, source_id, delayed, date) do update set
    first_at = least(kept.first_at, excluded.first_at),
    last_at = greatest(kept.last_at, excluded.last_at),
    made_to = case
      when excluded.first_at > kept.last_at and kept.bars_to is distinct from 'infinity' then coalesce(kept.made_to, kept.last_at)
      else '-infinity'
    end
  returning date, made_to, bars_to, quotes_dropped
  ) select distinct date::text from noted where ${IS_STALE}`;

/** The rows of an answer have one time, and so one date: their instruments go together, as the text of an array. */
async function noteTouched(client: pg.ClientBase, touched: readonly (Numbers & Touched)[]): Promise<void> {
  const groups = new Map<string, Numbers & Touched & { instruments: string }>();
  for (const one of touched) {
    const key = `${one.sourceId} ${one.delayed} ${one.firstAt} ${one.lastAt}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ...one, instruments: `${one.instrumentId}` });
    else group.instruments += `,${one.instrumentId}`;
  }
  const all = [...groups.values()];
  const { rows } = await client.query<{ date: string }>({
    name: "note touched bars",
    text: NOTE_TOUCHED,
    values: [
      all.map(({ instruments }) => `{${instruments}}`),
      ...inArrays(all, "sourceId", "delayed", "date", "firstAt", "lastAt"),
    ],
  });
  await removeStaleBars(
    client,
    rows.map(({ date }) => date),
  );
}

function behindHole({ columns }: QuoteTable): QuoteTable["columns"] {
  return columns.filter(({ name }) => !HOLE.includes(name));
}

function copySql(into: string, table: QuoteTable): string {
  return `copy ${into} (${lineColumns(table)}) from stdin`;
}

/** The columns of a line, in its order. */
function lineColumns(table: QuoteTable): string {
  return [...HOLE, ...behindHole(table).map(({ name }) => name)].join(", ");
}

/** Writes the lines of a unit. @returns where they begin */
export function writeLines(
  unit: QuoteUnit,
  quotes: CopyLines,
  extended: CopyLines,
): { quote: number; extended: number } {
  return {
    quote: writeLine(quotes, QUOTES, unit),
    extended: writeLine(extended, EXTENDED_QUOTES, unit),
  };
}

function writeLine(lines: CopyLines, table: QuoteTable, unit: QuoteUnit): number {
  const start = lines.begin();
  (VALUES.get(table) as AddValues)({ unit }, lines);
  lines.endLine();
  return start;
}

/** Adds what stands in a line behind its hole. */
type AddValues = (placed: Pick<PlacedUnit, "unit">, lines: CopyLines) => void;

const VALUES = new Map(
  TABLES.map((table) => {
    const values = behindHole(table).map(({ expression }) => `lines.addValue(${expression})`);
    return [table, writtenOut<AddValues>(["placed", "lines"], values.join(", "))];
  }),
);

/** The first row of each series, and behind them how many rows there are. */
function firstRows(series: readonly { rows: number }[]): number[] {
  let before = 0;
  return [...series.map(({ rows }) => (before += rows) - rows), before];
}

function compareNumbers(a: Numbers | undefined, b: Numbers | undefined): number {
  return (a?.instrumentId ?? 0) - (b?.instrumentId ?? 0) || (a?.sourceId ?? 0) - (b?.sourceId ?? 0);
}

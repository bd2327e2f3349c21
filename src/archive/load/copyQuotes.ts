/** Quotes that are new, by COPY: units that are at hand, or lines that were made of them before. */
import { once } from "node:events";
import type pg from "pg";
import { from } from "pg-copy-streams";
import { CopyLines, fillHole, HOLE_BYTES, type Numbers } from "../../read/copyLines.ts";
import type { Instant } from "../../clock.ts";
import { writtenOut } from "../../quotes-api/fields.ts";
import type { QuoteUnit } from "../../read/rowTypes.ts";
import type { InsertQuotes } from "./insert.ts";
import {
  EXTENDED_QUOTES,
  hasExtended,
  inKeyOrder,
  type PlacedUnit,
  type QuoteTable,
  QUOTES,
} from "../schema/quoteColumns.ts";

/**
 * By COPY, for units that are new.
 *
 * @throws 23505 when one of them is there already
 */
export const copyQuotes: InsertQuotes = async (client, units) => {
  const [quotes, extended] = [new CopyLines(), new CopyLines()];
  for (const placed of inKeyOrder(units)) {
    const quote = writeLine(quotes, QUOTES, placed.unit);
    fillHole(quotes.bytes, quote, placed);
    if (!hasExtended(placed)) continue;
    const more = writeLine(extended, EXTENDED_QUOTES, placed.unit);
    fillHole(extended.bytes, more, placed);
  }
  const count = await copyInto(client, copySql(QUOTES), [quotes.bytes.subarray(0, quotes.end)]);
  await copyInto(client, copySql(EXTENDED_QUOTES), [extended.bytes.subarray(0, extended.end)]);
  return count;
};

/** What the hole of a line is for comes first. */
const HOLE = ["instrument_id", "source_id"];

function behindHole({ columns }: QuoteTable): QuoteTable["columns"] {
  return columns.filter(({ name }) => !HOLE.includes(name));
}

function copySql(table: QuoteTable): string {
  return `copy ${table.name} (${lineColumns(table)}) from stdin`;
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
  [QUOTES, EXTENDED_QUOTES].map((table) => {
    const values = behindHole(table).map(({ expression }) => `lines.addValue(${expression})`);
    return [table, writtenOut<AddValues>(["placed", "lines"], values.join(", "))];
  }),
);

/** Lines of one table, series by series; `starts` has where each begins. */
export type SeriesLines = { bytes: Uint8Array<ArrayBuffer>; starts: Uint32Array<ArrayBuffer> };

/** Quotes by series, an instrument from a source: of how many rows each is, and the lines of both tables. */
type QuoteLines = {
  series: readonly { rows: number }[];
  quotes: SeriesLines;
  extended: SeriesLines;
};

/**
 * Copies lines that were made before, in the order of the tables' keys: neighbours in the index are written together, and
 * two loaders that write the same rows never wait for each other crosswise.
 *
 * @param numbers of each series, in its place
 * @throws 23505 when one of them is there already
 */
export async function copyLines(
  client: pg.ClientBase,
  { series, quotes, extended }: QuoteLines,
  numbers: readonly Numbers[],
): Promise<void> {
  const order = series.map((_, place) => place).sort((a, b) => compareNumbers(numbers[a], numbers[b]));
  const firsts = firstRows(series);
  const ordered = function* ({ bytes, starts }: SeriesLines): Generator<Uint8Array> {
    for (const place of order) {
      const [first = 0, end = 0] = [firsts[place], firsts[place + 1]];
      for (let row = first; row < end; row++) fillHole(bytes, starts[row] ?? 0, numbers[place] as Numbers);
      yield bytes.subarray(starts[first], starts[end]);
    }
  };
  await copyInto(client, copySql(QUOTES), ordered(quotes));
  await copyInto(client, copySql(EXTENDED_QUOTES), ordered(extended));
}

/** The first row of each series, and behind them how many rows there are. */
export function firstRows(series: QuoteLines["series"]): number[] {
  let before = 0;
  return [...series.map(({ rows }) => (before += rows) - rows), before];
}

function compareNumbers(a: Numbers | undefined, b: Numbers | undefined): number {
  return (a?.instrumentId ?? 0) - (b?.instrumentId ?? 0) || (a?.sourceId ?? 0) - (b?.sourceId ?? 0);
}

/** `observed_at` of each line: it comes first behind the hole. */
export function rowTimes({ bytes, starts }: SeriesLines): Instant[] {
  const text = Buffer.from(bytes.buffer).toString("latin1");
  return Array.from(starts, (start) =>
    text.slice(start + HOLE_BYTES, text.indexOf("\t", start + HOLE_BYTES)),
  );
}

// COPY: the fastest way into a table. It knows no `on conflict`: a row that is there already ends all of it.

/** How much text is sent at a time: the server reads one piece while the next is made. */
const PIECE_BYTES = 64 * 1024;

/**
 * Copies rows into a table.
 *
 * @param sql `copy table (columns) from stdin`
 * @param lines whole rows in COPY's text format, each with its line end
 * @returns how many rows the server took
 * @throws the database's error; the connection can be used on, its transaction has failed
 */
export async function copyInto(
  client: pg.ClientBase,
  sql: string,
  lines: Iterable<Uint8Array>,
): Promise<number> {
  const copy = client.query(from(sql));
  let failed = false;
  copy.once("error", () => (failed = true));
  // Rejects with the error of the stream, whenever that comes.
  const finished = once(copy, "finish");
  finished.catch(() => undefined);
  try {
    for (const piece of pieces(lines)) {
      // A piece written behind an error would find no connection.
      if (failed) break;
      if (!copy.write(piece)) await Promise.race([once(copy, "drain"), finished]);
    }
  } catch (error) {
    // The lines could not be made: the server is told that no more come, and answers with an error of its own.
    if (!failed) copy.destroy(error as Error);
    await finished.catch(() => undefined);
    throw error;
  }
  if (!failed) copy.end();
  await finished;
  return copy.rowCount;
}

/** Small ones together, large ones apart. */
function* pieces(lines: Iterable<Uint8Array>): Generator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for (const line of lines)
    for (let at = 0; at < line.length; at += PIECE_BYTES) {
      const part = line.subarray(at, at + PIECE_BYTES);
      gathered.push(part);
      bytes += part.length;
      if (bytes < PIECE_BYTES) continue;
      yield Buffer.concat(gathered);
      [gathered, bytes] = [[], 0];
    }
  if (bytes > 0) yield Buffer.concat(gathered);
}

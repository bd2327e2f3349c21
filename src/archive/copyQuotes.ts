/** Quotes that are new, by COPY: units that are at hand, or lines of text that were made of them before. */
import type pg from "pg";
import type { InsertQuotes } from "./insert.ts";
import {
  compareKeys,
  EXTENDED_QUOTES,
  hasExtended,
  inKeyOrder,
  type Key,
  type PlacedUnit,
  QUOTES,
  type QuoteTable,
} from "./quoteColumns.ts";
import { allColumns } from "./tableRows.ts";
import { once } from "node:events";
import { from } from "pg-copy-streams";

/**
 * By COPY, for units that are new.
 *
 * @throws 23505 when one of them is there already
 */
export const copyQuotes: InsertQuotes = async (client, units) => {
  const ordered = inKeyOrder(units);
  const quotes = await copyInto(client, copySql(QUOTES), copyLines(QUOTES, ordered));
  await copyInto(client, copySql(EXTENDED_QUOTES), copyLines(EXTENDED_QUOTES, ordered.filter(hasExtended)));
  return quotes;
};

function copySql({ name, table }: QuoteTable): string {
  return `copy ${name} (${allColumns(table)}) from stdin`;
}

function* copyLines(table: QuoteTable, units: readonly PlacedUnit[]): Generator<string> {
  for (const unit of units) yield copyLine(table, unit);
}

function copyLine({ columns }: QuoteTable, unit: PlacedUnit): string {
  // Joined, not added up: the line is one text then, and holds none of its parts.
  return `${columns.map(({ text }) => copyText(text(unit))).join("\t")}\n`;
}

/** A unit as COPY takes it: a line for each table. It does not hold on to the unit. */
export type QuoteLines = Key & { quote: string; extended: string };

/** The lines of a unit. */
export function quoteLines(placed: PlacedUnit): QuoteLines {
  const { unit, instrumentId, sourceId } = placed;
  return {
    instrumentId,
    sourceId,
    observedAt: unit.observedAt,
    quote: copyLine(QUOTES, placed),
    extended: copyLine(EXTENDED_QUOTES, placed),
  };
}

/**
 * Copies lines, in the order of the tables' keys.
 *
 * @throws 23505 when one of them is there already
 */
export async function copyQuoteLines(client: pg.ClientBase, lines: readonly QuoteLines[]): Promise<void> {
  if (lines.length === 0) return;
  const ordered = linesInKeyOrder(lines);
  const linesOf = function* (part: "quote" | "extended"): Generator<string> {
    for (const line of ordered) yield line[part];
  };
  await copyInto(client, copySql(QUOTES), linesOf("quote"));
  await copyInto(client, copySql(EXTENDED_QUOTES), linesOf("extended"));
}

/** They come in the order of time: to gather each instrument's is faster than to sort them all. */
function linesInKeyOrder(lines: readonly QuoteLines[]): QuoteLines[] {
  const series = new Map<number, QuoteLines[]>();
  for (const line of lines) {
    const one = series.get(line.instrumentId);
    if (one) one.push(line);
    else series.set(line.instrumentId, [line]);
  }
  const ids = Int32Array.from(series.keys()).sort();
  return Array.from(ids).flatMap((id) => (series.get(id) ?? []).sort(compareKeys));
}

// COPY: the fastest way into a table. It knows no `on conflict`: a row that is there already ends all of it.

/** How much text is sent at a time: the server reads one piece while the next is made. */
const PIECE_CHARACTERS = 64 * 1024;

/** Characters that mean something in COPY's text format. PostgreSQL manual, COPY, "Text Format". */
const SPECIAL = /[\\\b\f\n\r\t\v]/;
const SPECIALS = /[\\\b\f\n\r\t\v]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** A value in COPY's text format; null is `\N`. */
export function copyText(value: string | null): string {
  if (value === null) return "\\N";
  return SPECIAL.test(value) ? value.replace(SPECIALS, (character) => ESCAPES[character] ?? "") : value;
}

/**
 * Copies rows into a table.
 *
 * @param sql `copy table (columns) from stdin`
 * @param lines a row each in COPY's text format, with its line end
 * @returns how many rows the server took
 * @throws the database's error; the connection can be used on, its transaction has failed
 */
export async function copyInto(client: pg.ClientBase, sql: string, lines: Iterable<string>): Promise<number> {
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

function* pieces(lines: Iterable<string>): Generator<Buffer> {
  let text = "";
  for (const line of lines) {
    text += line;
    if (text.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(text);
    text = "";
  }
  if (text !== "") yield Buffer.from(text);
}

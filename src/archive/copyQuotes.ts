/** Quotes that are new, by COPY: units that are at hand, or lines of text that were made of them before. */
import type pg from "pg";
import { copyInto, copyText } from "./copy.ts";
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
import { columnList } from "./tableRows.ts";

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
  return `copy ${name} (${columnList(table)}) from stdin`;
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

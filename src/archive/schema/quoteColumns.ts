/**
 * The columns of `quotes` and `extended_quotes`, each with what it holds of a quote: for every way in.
 * Prices go as the service's text to `numeric`, without a float between.
 */
import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Instant } from "../../ground/clock.ts";
import type { Quote } from "../../quotes/document.ts";
import type { QuoteUnit } from "../../read/rowTypes.ts";
import { extendedQuotes, quotes } from "./schema.ts";

export type PlacedUnit = { unit: QuoteUnit; instrumentId: number; sourceId: number };

/** Whether a unit has a row of `extended_quotes`: all have, but for what an export had none of. */
export function hasExtended({ unit }: PlacedUnit): boolean {
  return unit.restored?.extended !== false;
}

/** Whether a unit has a row of `quotes`: all have, but for open interest that comes without a quote. */
export function hasQuote({ unit }: PlacedUnit): boolean {
  return unit.interestOnly !== true;
}

export type Key = { instrumentId: number; observedAt: Instant; sourceId: number };

/** More than there are sources: with it, an instrument and a source are one number. */
const SOURCES = 2 ** 16;

/** A series, an instrument from a source, as one number; of both their numbers in the archive, or their places in a list. */
export function seriesNumber(instrument: number, source: number): number {
  return instrument * SOURCES + source;
}

/** A column of a table of quotes, and what it holds of a unit, as text. */
export type QuoteColumn = { name: string; type: string; text: (placed: PlacedUnit) => string | null };

/** A table of quotes; its key comes first. */
export type QuoteTable = { table: PgTable; name: string; columns: readonly QuoteColumn[] };

const BESIDE_THE_QUOTE: Readonly<Record<string, QuoteColumn["text"]>> = {
  observedAt: ({ unit }) => unit.observedAt,
  instrumentId: ({ instrumentId }) => String(instrumentId),
  sourceId: ({ sourceId }) => String(sourceId),
  delayed: ({ unit }) => (unit.delayed ? "t" : "f"),
  // The delta of `greeks` stands in where the element lacks its own.
  delta: ({ unit }) => unit.quote.extended.delta ?? unit.greeksDelta,
};

function quoteTable(table: PgTable, valuesIn: (quote: Quote) => object): QuoteTable {
  const columns = Object.entries(getTableColumns(table)).map(([field, column]) => ({
    name: column.name,
    type: column.getSQLType(),
    text:
      BESIDE_THE_QUOTE[field] ??
      (({ unit }: PlacedUnit) => (valuesIn(unit.quote) as Record<string, string | null>)[field] ?? null),
  }));
  return { table, name: getTableName(table), columns };
}

export const QUOTES = quoteTable(quotes, (quote) => quote);

export const EXTENDED_QUOTES = quoteTable(extendedQuotes, ({ extended }) => extended);

/**
 * Units in the order of the tables' primary key: neighbours in the index are written together, and two loaders that
 * write the same rows never wait for each other crosswise.
 */
export function inKeyOrder(placed: readonly PlacedUnit[]): PlacedUnit[] {
  return placed.toSorted(
    (a, b) =>
      a.instrumentId - b.instrumentId ||
      compareText(a.unit.observedAt, b.unit.observedAt) ||
      a.sourceId - b.sourceId,
  );
}

/** Units by `observed_at`; most batches are so already, and are returned as they are. */
export function inTimeOrder(placed: readonly PlacedUnit[]): readonly PlacedUnit[] {
  const comesLate = (a: PlacedUnit | undefined, b: PlacedUnit) =>
    a !== undefined && a.unit.observedAt > b.unit.observedAt;
  return placed.some((one, index) => comesLate(placed[index - 1], one))
    ? placed.toSorted((a, b) => compareText(a.unit.observedAt, b.unit.observedAt))
    : placed;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

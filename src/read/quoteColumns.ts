/**
 * The columns of `quotes` and `extended_quotes`, each with what it holds of a quote: for every way in.
 * Prices go as the service's text to `numeric`, without a float between.
 */
import type { Instant } from "../clock.ts";
import { EXTENDED_FIELDS, PRICE_FIELDS, writtenOut } from "../quotes-api/fields.ts";
import type { QuoteUnit } from "./rowTypes.ts";

/** A unit whose instrument and source are known to the archive. */
export type PlacedUnit = { unit: QuoteUnit; instrumentId: number; sourceId: number };

/** Whether a unit has a row of `extended_quotes`: all have, but for what an export had none of. */
export function hasExtended({ unit }: PlacedUnit): boolean {
  return unit.restored?.extended !== false;
}

/** A column of a table of quotes. */
export type QuoteColumn = { name: string; type: string; text: (placed: PlacedUnit) => string | null };

/** A table of quotes; its key comes first. */
export type QuoteTable = { name: string; columns: readonly QuoteColumn[] };

/** The primary key of both tables. */
export type Key = { instrumentId: number; observedAt: Instant; sourceId: number };

const KEY: readonly QuoteColumn[] = [
  { name: "observed_at", type: "timestamptz", text: ({ unit }) => unit.observedAt },
  { name: "instrument_id", type: "integer", text: ({ instrumentId }) => String(instrumentId) },
  { name: "source_id", type: "smallint", text: ({ sourceId }) => String(sourceId) },
];

const SQL_TYPES = { decimal: "numeric", integer: "bigint" } as const;

const textOf = (path: string): QuoteColumn["text"] => writtenOut(["placed"], `placed.unit.${path}`);

/** Prices. */
export const QUOTES: QuoteTable = {
  name: "quotes",
  columns: [
    ...KEY,
    { name: "delayed", type: "boolean", text: ({ unit }) => (unit.delayed ? "t" : "f") },
    ...PRICE_FIELDS.map(({ name, type, column }) => ({
      ...{ name: column, type: SQL_TYPES[type] },
      text: textOf(`quote.${name}`),
    })),
  ],
};

/** The fields of `extendedquote`; the delta of `greeks` stands in where the element lacks its own. */
export const EXTENDED_QUOTES: QuoteTable = {
  name: "extended_quotes",
  columns: [
    ...KEY,
    ...EXTENDED_FIELDS.map(({ name, type, column }) => ({
      ...{ name: column, type: SQL_TYPES[type] },
      text: textOf(
        name === "delta" ? "quote.extended.delta ?? placed.unit.greeksDelta" : `quote.extended.${name}`,
      ),
    })),
  ],
};

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

/** The same order, of keys. */
export function compareKeys(a: Key, b: Key): number {
  return (
    a.instrumentId - b.instrumentId || compareText(a.observedAt, b.observedAt) || a.sourceId - b.sourceId
  );
}

/** Units by `observed_at`; most batches come so, and are given back as they are. */
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

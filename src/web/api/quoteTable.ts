/**
 * Quotes as a table: each row is an array, and what rows share is said once. The page asks for the columns it shows;
 * thousands of rows are then a third of the bytes. Shared by the server and the page. Pure.
 */
import type { QuoteRow, SourceKind } from "../../archive/ask/dashboardTypes.ts";

/** The columns that can be asked for. Absent ones are null in the page. */
export const QUOTE_COLUMNS = [
  ...(["bid", "ask", "spread", "last", "change", "pctChange", "bidSize", "askSize", "volume"] as const),
  ...(["delta", "description", "quotedAt", "tradedAt", "stillSince", "openInterest"] as const),
  ...(["impliedVolatility", "gamma", "theta", "vega"] as const),
] as const;

/** Instruments that are asked for by name at once, at most: as many as an address has room for. */
export const MOST_NAMES = 250;

export type QuoteColumn = (typeof QUOTE_COLUMNS)[number];

/** The id of the instrument, its name, the source's id, whether delayed, the receive time; then the columns. */
type TableRow = [number, string, number, boolean, string, ...(string | null)[]];

export type QuoteTable = {
  columns: readonly QuoteColumn[];
  /** Kind and name by id. */
  sources: Record<string, [SourceKind, string]>;
  rows: TableRow[];
};

export function tableOf(rows: readonly QuoteRow[], columns: readonly QuoteColumn[]): QuoteTable {
  return {
    columns,
    sources: Object.fromEntries(
      rows.map(({ sourceId, source, sourceName }) => [sourceId, [source, sourceName]]),
    ),
    rows: rows.map((row) => [
      row.instrumentId,
      row.instrument,
      row.sourceId,
      row.delayed,
      row.observedAt,
      ...columns.map((column) => row[column]),
    ]),
  };
}

/** Names a series: an instrument, a source, real-time or delayed. */
export function seriesKey({ instrumentId, sourceId, delayed }: QuoteRow): string {
  return `${instrumentId}/${sourceId}/${delayed}`;
}

const NOTHING = Object.fromEntries(QUOTE_COLUMNS.map((column) => [column, null])) as Record<
  QuoteColumn,
  string | null
>;

const unpacked = new WeakMap<TableRow, QuoteRow>();

/** Unpacks them. A contract's parts are those of its name. */
export function rowsOf({ columns, sources, rows }: QuoteTable): QuoteRow[] {
  return rows.map((packed) => {
    const known = unpacked.get(packed);
    if (known) return known;
    const [instrumentId, instrument, sourceId, delayed, observedAt, ...values] = packed;
    const [source, sourceName] = sources[sourceId] ?? ["import", ""];
    const given = { ...NOTHING };
    columns.forEach((column, place) => (given[column] = values[place] ?? null));
    const row = {
      instrumentId,
      instrument,
      ...partsOf(instrument),
      source,
      sourceId,
      sourceName,
      delayed,
      observedAt,
      ...given,
    };
    unpacked.set(packed, row);
    return row;
  });
}

function partsOf(instrument: string): Pick<QuoteRow, "symbol" | "expiration" | "optionType" | "strike"> {
  const [, symbol, expiration, type, strike] = /^(.+):([\d-]+):(CALL|PUT):([\d.]+)$/.exec(instrument) ?? [];
  if (symbol === undefined || expiration === undefined || strike === undefined)
    return { symbol: instrument, expiration: null, optionType: null, strike: null };
  return { symbol, expiration, optionType: type === "CALL" ? "CALL" : "PUT", strike };
}

/** Where what is shown comes from more than one source, by kind or id: then each row says from which. */
export function isMixed(sources: readonly (number | string)[]): boolean {
  return sources.some((source) => source !== sources[0]);
}

/** Several names of instruments in one parameter. A comma or a backslash within a name has a backslash before it. */
export function joinNames(names: readonly string[]): string {
  return names.map((name) => name.replace(/[\\,]/g, "\\$&")).join(",");
}

/** The names of such a text, in their order. @returns of the empty text one empty name */
export function splitNames(text: string): string[] {
  // A sign after a backslash stands for itself; a backslash at the end does too.
  const pieces = text.match(/\\[^]|[^]/g) ?? [];
  const names = [""];
  for (const piece of pieces)
    if (piece === ",") names.push("");
    else names.push(`${names.pop() ?? ""}${piece.length > 1 ? piece.slice(1) : piece}`);
  return names;
}

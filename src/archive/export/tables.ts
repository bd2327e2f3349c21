/** The tables and views that `export` can write: how each is cut into days, ordered and narrowed to symbols. */
import { EXPORT_SOURCE_ID } from "../../read/exportCall.ts";

/** One table or view of the archive. Its columns are read from the database itself. */
export type ExportTable = {
  name: string;
  /** One line for people. */
  about: string;
  /** Whether it is written when nobody says which. */
  byDefault: boolean;
  /**
   * The column that says which exchange date a row belongs to: a time (New York's date of it) or a date. Null: every row
   * belongs to every export.
   */
  day: { column: string; kind: "time" | "date" } | null;
  /** Whether each date is a directory of its own, `date=2026-11-20/`. */
  partitioned: boolean;
  /** Whether the rows of a date can be counted cheaply beforehand; bars are made as they are read. */
  counted: boolean;
  order: readonly string[];
  /**
   * What tells an instrument's symbol: its number, a column of its own, or its name (`AAPL:2026-12-18:CALL:150`).
   * `whole`: other tables need it whole. Null: it cannot be narrowed to symbols.
   */
  symbol: "instrument_id" | "symbol" | "name" | "whole" | null;
  /** SQL of rows that no file has. */
  leftOut?: string;
  /** SQL of what is read, where it is not the table of that name. */
  from?: string;
};

const QUOTE_ROWS = {
  day: { column: "observed_at", kind: "time" },
  partitioned: true,
  counted: true,
  order: ["instrument_id", "observed_at", "source_id"],
  symbol: "instrument_id",
} as const;

const BARS = {
  byDefault: false,
  day: { column: "date", kind: "date" },
  partitioned: true,
  counted: false,
  order: ["instrument_id", "source_name", "delayed", "bar_at"],
  symbol: "symbol",
} as const;

const REFERENCE = { partitioned: false, counted: true, symbol: "whole" } as const;

const LEDGER = {
  byDefault: false,
  day: { column: "slot_at", kind: "time" },
  partitioned: true,
  counted: true,
} as const;

const OF_DATES = {
  byDefault: false,
  day: { column: "date", kind: "date" },
  partitioned: true,
  counted: true,
} as const;

/** Every table, in the order in which they are written. */
export const EXPORT_TABLES: readonly ExportTable[] = [
  {
    ...REFERENCE,
    name: "sources",
    about: "account, simulated or import",
    byDefault: true,
    day: null,
    order: ["id"],
    leftOut: `t.id = ${EXPORT_SOURCE_ID}`,
  },
  {
    ...REFERENCE,
    name: "instruments",
    about: "what is quoted",
    byDefault: true,
    day: null,
    order: ["id"],
    symbol: "symbol",
  },
  {
    ...REFERENCE,
    name: "sessions",
    about: "when the exchange was open",
    byDefault: true,
    order: ["date"],
    day: { column: "date", kind: "date" },
  },
  { ...QUOTE_ROWS, name: "quotes", about: "bid, ask, last, change", byDefault: true },
  { ...QUOTE_ROWS, name: "extended_quotes", about: "sizes, open, high, low, volume, delta", byDefault: true },
  { ...QUOTE_ROWS, name: "dividends", about: "what was said of dividends, when", byDefault: true },
  {
    ...BARS,
    name: "bars_1d",
    about: "a bar for each exchange date",
    byDefault: true,
    counted: true,
    order: ["instrument_id", "source_name", "delayed"],
  },
  { ...BARS, name: "bars_1h", about: "bars of an hour" },
  { ...BARS, name: "bars_5m", about: "bars of five minutes" },
  { ...BARS, name: "bars_1m", about: "bars of a minute" },
  {
    ...OF_DATES,
    name: "coverage_daily",
    about: "expected against stored",
    order: ["instrument", "source"],
    symbol: "name",
  },
  {
    ...LEDGER,
    name: "slots",
    about: "what was due when",
    order: ["slot_at", "job", "source_id", "account_id"],
    symbol: null,
  },
  {
    ...LEDGER,
    name: "misses",
    about: "what was due and is not there, and why",
    symbol: "name",
    order: ["slot_at", "job", "source_id", "account_id", "instrument"],
  },
  {
    ...LEDGER,
    name: "fills",
    about: "what was missed at first, and came later",
    symbol: "name",
    order: ["slot_at", "job", "source_id", "account_id", "instrument"],
  },
  {
    ...OF_DATES,
    name: "derived_closes",
    about: "closes that nobody observed",
    order: ["instrument_id", "source_id"],
    symbol: "instrument_id",
  },
  {
    name: "due_sets",
    about: "the instruments that a slot's due_set_id stands for",
    byDefault: false,
    day: null,
    partitioned: false,
    counted: true,
    order: ["id"],
    symbol: null,
  },
  {
    name: "accounts",
    about: "whom an account_id stands for, and which limit it has",
    byDefault: false,
    day: null,
    partitioned: false,
    counted: true,
    order: ["id"],
    symbol: null,
  },
  {
    name: "responses",
    about: "every answer, without its body",
    byDefault: false,
    partitioned: true,
    day: { column: "observed_at", kind: "time" },
    counted: true,
    symbol: null,
    order: ["observed_at", "source_id", "request_id"],
  },
  {
    name: "dead_letters",
    about: "what could not be stored as a row",
    byDefault: false,
    partitioned: true,
    day: { column: "observed_at", kind: "time" },
    counted: true,
    symbol: "name",
    order: ["observed_at", "source_id", "ordinal"],
  },
];

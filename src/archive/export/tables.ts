/** The tables and views that `export` can write: how each is cut into days, ordered and narrowed to symbols. */
import { EXPORT_SOURCE_ID } from "../../read/exportCall.ts";

/** One table or view of the archive. Its columns are read from the database itself. */
export type ExportTable = {
  name: string;
  about: string;
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

type Kind = Omit<ExportTable, "name" | "about" | "order">;

/** One file; every export has it. */
const REFERENCE: Kind = { byDefault: true, day: null, partitioned: false, counted: true, symbol: "whole" };

const NUMBERED: Kind = { ...REFERENCE, byDefault: false, symbol: null };

const DATED: Kind = { ...NUMBERED, day: { column: "date", kind: "date" }, partitioned: true };

const TIMED: Kind = { ...DATED, day: { column: "observed_at", kind: "time" } };

const QUOTES: Kind = { ...TIMED, byDefault: true, symbol: "instrument_id" };

const BARS: Kind = { ...DATED, counted: false, symbol: "symbol" };

const LEDGER: Kind = { ...TIMED, day: { column: "slot_at", kind: "time" } };

const MISSED: Kind = { ...LEDGER, symbol: "name" };

const CLOSES: Kind = { ...DATED, symbol: "instrument_id" };

const LETTERS: Kind = { ...TIMED, symbol: "name" };

const SERIES = ["instrument_id", "source_name", "delayed"];

const SLOT = ["slot_at", "job", "source_id", "account_id"];

const OBSERVED = ["instrument_id", "observed_at", "source_id"];

function table(kind: Kind, [name, about]: [string, string], ...order: string[]): ExportTable {
  return { ...kind, name, about, order };
}

/** Every table, in the order in which they are written. */
export const EXPORT_TABLES: readonly ExportTable[] = [
  {
    ...table(REFERENCE, ["sources", "account, simulated or import"], "id"),
    leftOut: `t.id = ${EXPORT_SOURCE_ID}`,
  },
  table({ ...REFERENCE, symbol: "symbol" }, ["instruments", "what is quoted"], "id"),
  table({ ...REFERENCE, day: DATED.day }, ["sessions", "when the exchange was open"], "date"),
  table(QUOTES, ["quotes", "bid, ask, last, change"], ...OBSERVED),
  table(QUOTES, ["extended_quotes", "sizes, open, high, low, volume, delta"], ...OBSERVED),
  table(QUOTES, ["dividends", "what was said of dividends, when"], ...OBSERVED),
  table({ ...BARS, byDefault: true, counted: true }, ["bars_1d", "a bar for each exchange date"], ...SERIES),
  table(BARS, ["bars_1h", "bars of an hour"], ...SERIES, "bar_at"),
  table(BARS, ["bars_5m", "bars of five minutes"], ...SERIES, "bar_at"),
  table(BARS, ["bars_1m", "bars of a minute"], ...SERIES, "bar_at"),
  table({ ...DATED, symbol: "name" }, ["coverage_daily", "expected against stored"], "instrument", "source"),
  table(LEDGER, ["slots", "what was due when"], ...SLOT),
  table(MISSED, ["misses", "what was due and is not there, and why"], ...SLOT, "instrument"),
  table(MISSED, ["fills", "what was missed at first, and came later"], ...SLOT, "instrument"),
  table(CLOSES, ["derived_closes", "closes that nobody observed"], "instrument_id", "source_id"),
  table(NUMBERED, ["due_sets", "the instruments that a slot's due_set_id stands for"], "id"),
  table(NUMBERED, ["accounts", "whom an account_id stands for, and which limit it has"], "id"),
  table(TIMED, ["responses", "every answer, without its body"], "observed_at", "source_id", "request_id"),
  table(
    LETTERS,
    ["dead_letters", "what could not be stored as a row"],
    "observed_at",
    "source_id",
    "ordinal",
  ),
];

/** The tables and views that `export` can write: how each is cut into days, ordered and narrowed to symbols. */
import pg from "pg";
import { QuotekeeperError } from "../../errors.ts";
import { HELD_DIGITS } from "../../quotes-api/decimal.ts";
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
    name: "coverage_daily",
    about: "expected against stored",
    byDefault: false,
    counted: true,
    day: { column: "date", kind: "date" },
    partitioned: true,
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
    name: "derived_closes",
    about: "closes that nobody observed",
    byDefault: false,
    counted: true,
    day: { column: "date", kind: "date" },
    partitioned: true,
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

// The columns of an exported table, as the database has them, and how each is asked for.

/** What a column holds, whatever the file's format makes of it. */
type ColumnKind = "time" | "date" | "boolean" | "integer" | "bigint" | "decimal" | "text";

/** One column of an export. */
export type ExportColumn = {
  name: string;
  kind: ColumnKind;
  nullable: boolean;
  /** SQL of its value, of the table's row `t`. */
  sql: string;
};

/** PostgreSQL's types by their names; everything else is text. */
const KINDS: Readonly<Record<string, ColumnKind>> = {
  timestamptz: "time",
  date: "date",
  bool: "boolean",
  int2: "integer",
  int4: "integer",
  int8: "bigint",
  numeric: "decimal",
};

/**
 * A table's columns in its own order. Behind `instrument_id` comes the instrument's name, behind `source_id` the kind of
 * the source, behind `account_id` the account's name: a file of quotes can be read alone, and simulated rows are told from
 * real ones in it.
 *
 * @throws QuotekeeperError ARCHIVE_EMPTY when there is no such table
 */
export async function readColumns(client: pg.ClientBase, table: string): Promise<ExportColumn[]> {
  const { rows } = await client.query<{ name: string; type: string; required: boolean }>(
    `select a.attname as name, coalesce(b.typname, y.typname) as type, a.attnotnull as required
     from pg_attribute a join pg_type y on y.oid = a.atttypid left join pg_type b on b.oid = y.typbasetype
     where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [table],
  );
  if (rows.length === 0) throw new QuotekeeperError("ARCHIVE_EMPTY", `the database has no table ${table}`);
  const has = (column: string): boolean => rows.some(({ name }) => name === column);
  const told: Record<string, Pick<ExportColumn, "name" | "sql">> = {
    instrument_id: { name: "instrument", sql: "i.name" },
    ...(has("source_id") && { source_id: { name: "source", sql: await wordSql(client, "source_id") } }),
    ...(has("account_id") && { account_id: { name: "account", sql: await wordSql(client, "account_id") } }),
  };
  return rows.flatMap(({ name, type, required }): ExportColumn[] => {
    const sql = type.startsWith("_")
      ? `to_jsonb(t.${name})`
      : name === "mean_spread"
        ? MEAN_SPREAD
        : `t.${name}`;
    const column = { name, kind: KINDS[type] ?? "text", nullable: !required, sql };
    const word = told[name];
    return word ? [column, { kind: "text", nullable: true, ...word }] : [column];
  });
}

/** Places of a quotient in files: as many as those of a number that it is made of. */
export const QUOTIENT_PLACES = HELD_DIGITS.fraction;

const MEAN_SPREAD = `round(t.mean_spread, least(scale(t.mean_spread), ${QUOTIENT_PLACES}))`;

/** What a number of a row stands for. There are a few of each: a join would be a third of the server's work on a row. */
async function wordSql(client: pg.ClientBase, column: "source_id" | "account_id"): Promise<string> {
  const words = column === "source_id" ? "id, kind as word from sources" : "id, name as word from accounts";
  const { rows } = await client.query<{ id: number; word: string }>(`select ${words} order by id`);
  const cases = rows.map(({ id, word }) => ` when ${id} then ${pg.escapeLiteral(word)}`).join("");
  return rows.length === 0 ? "null::text" : `case t.${column}${cases} end`;
}

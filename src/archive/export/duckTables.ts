/** The archive's tables as DuckDB has them in `quotekeeper sql`: the columns of PostgreSQL's, and where their rows are from. */
import { type Column, getTableColumns, is, type View } from "drizzle-orm";
import { getViewConfig, PgTable, type PgView } from "drizzle-orm/pg-core";
import { derivedCloses, fills } from "../schema/backfillSchema.ts";
import { EXPORT_TABLES, type ExportTable } from "./tables.ts";
import * as schema from "../schema/schema.ts";
import type { Engine } from "../tiers/engine.ts";

/** A column, and its type in PostgreSQL's words. */
export type DuckColumn = { name: string; type: string };

/** A table whose rows DuckDB reads from files. */
export type DuckTable = {
  name: string;
  columns: readonly DuckColumn[];
  /** Whether each exchange date has a file of its own. */
  isDated: boolean;
  /** How the database gives its rows. */
  rows: ExportTable;
};

const OF: Readonly<Record<string, PgTable | PgView>> = {
  sources: schema.sources,
  instruments: schema.instruments,
  sessions: schema.sessions,
  due_sets: schema.dueSets,
  accounts: schema.accounts,
  quotes: schema.quotes,
  extended_quotes: schema.extendedQuotes,
  dividends: schema.dividends,
  bars_1d: schema.bars1d,
  bars_1h: schema.bars1h,
  bars_5m: schema.bars5m,
  slots: schema.slots,
  misses: schema.misses,
  fills,
  derived_closes: derivedCloses,
  responses: schema.responses,
  dead_letters: schema.deadLetters,
  clock_steps: schema.clockSteps,
  latest_quotes: schema.latestQuotes,
};

/** What no export has. */
const WHOLE = { about: "", byDefault: false, day: null, partitioned: false, counted: false, symbol: null };
const MORE: readonly ExportTable[] = [
  { ...WHOLE, name: "clock_steps", order: ["moved_at"] },
  { ...WHOLE, name: "latest_quotes", order: ["instrument_id", "source_name", "delayed"] },
];

/** Every table that DuckDB is given rows of. */
export const DUCK_TABLES: readonly DuckTable[] = Object.entries(OF).map(([name, of]) => {
  const rows = [...EXPORT_TABLES, ...MORE].find((one) => one.name === name);
  if (!rows) throw new Error(`nothing says how the rows of ${name} are read`);
  const { leftOut: _, ...all } = rows;
  return { name, columns: columnsOf(of), isDated: rows.partitioned, rows: all };
});

function columnsOf(of: PgTable | PgView): DuckColumn[] {
  const columns = is(of, PgTable) ? getTableColumns(of) : getViewConfig(of as PgView & View).selectedFields;
  return Object.values(columns as Record<string, Column>).map((column) => ({
    name: column.name,
    type: column.getSQLType(),
  }));
}

/**
 * Series whose newest quote is not in the database any more, and when that was; rows for COPY. The bars of sessions know of
 * all quotes that there ever were. One look for each series: as `not exists` servers read all quotes.
 */
export function newestGone({ newestBars }: Engine): ExportTable {
  return {
    ...WHOLE,
    name: "newest_gone",
    from: `(
    select b.* from ${newestBars} b
    left join lateral (
      select true as is_there
      from quotes q
      where q.instrument_id = b.instrument_id and q.observed_at = b.last_at and q.source_id = b.source_id
      limit 1
    ) q on true
    where q.is_there is null
  )`,
    order: ["instrument_id", "source_id", "delayed"],
  };
}

/** The columns of `newestGone`. */
export const NEWEST_GONE_COLUMNS = [
  { name: "instrument_id", kind: "integer", nullable: false, sql: "t.instrument_id" },
  { name: "source_id", kind: "integer", nullable: false, sql: "t.source_id" },
  { name: "delayed", kind: "boolean", nullable: false, sql: "t.delayed" },
  { name: "last_at", kind: "time", nullable: false, sql: "t.last_at" },
] as const;

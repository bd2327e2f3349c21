/** The archive's tables as DuckDB has them in `quotekeeper sql`: the columns of PostgreSQL's, and where their rows are from. */
import { type Column, getTableColumns, getTableName, is, type View } from "drizzle-orm";
import { getViewConfig, PgTable, PgView } from "drizzle-orm/pg-core";
import { QuotekeeperError } from "../../ground/errors.ts";
import { derivedCloses, fills } from "../schema/backfillSchema.ts";
import { EXPORT_TABLES, type ExportTable } from "./tables.ts";
import * as schema from "../schema/schema.ts";
import type { Engine } from "../tiers/engine.ts";

export type DuckColumn = { name: string; type: string };

export type DuckTable = {
  name: string;
  columns: readonly DuckColumn[];
  /** Whether each exchange date has a file of its own. */
  isDated: boolean;
  rows: ExportTable;
};

/** What no export has. */
const WHOLE = { about: "", byDefault: false, day: null, partitioned: false, counted: false, symbol: null };
const MORE: readonly ExportTable[] = [
  { ...WHOLE, name: "clock_steps", order: ["moved_at"] },
  { ...WHOLE, name: "latest_quotes", order: ["instrument_id", "source_name", "delayed"] },
];

/** Views that DuckDB has of the other tables: migrations/duckdb/views.sql. */
const VIEWS = new Set(["bars_1m", "coverage_daily"]);

export const DUCK_TABLES: readonly DuckTable[] = [...EXPORT_TABLES, ...MORE]
  .filter(({ name }) => !VIEWS.has(name))
  .map(({ leftOut: _, ...rows }) => ({
    name: rows.name,
    columns: columnsOf(rows.name),
    isDated: rows.partitioned,
    rows,
  }));

export function duckTable(name: string): DuckTable {
  const found = DUCK_TABLES.find((table) => table.name === name);
  if (found) return found;
  throw new QuotekeeperError("UNEXPECTED", `DuckDB has no table ${name}`);
}

function columnsOf(name: string): DuckColumn[] {
  for (const of of Object.values<unknown>({ ...schema, derivedCloses, fills })) {
    const isTable = is(of, PgTable);
    if (!isTable && !is(of, PgView)) continue;
    if ((isTable ? getTableName(of) : getViewConfig(of).name) !== name) continue;
    const columns = isTable ? getTableColumns(of) : getViewConfig(of as PgView & View).selectedFields;
    return Object.values(columns as Record<string, Column>).map((column) => ({
      name: column.name,
      type: column.getSQLType(),
    }));
  }
  throw new QuotekeeperError("UNEXPECTED", `nothing says which columns ${name} has`);
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

export const NEWEST_GONE_COLUMNS = [
  { name: "instrument_id", kind: "integer", nullable: false, sql: "t.instrument_id" },
  { name: "source_id", kind: "integer", nullable: false, sql: "t.source_id" },
  { name: "delayed", kind: "boolean", nullable: false, sql: "t.delayed" },
  { name: "last_at", kind: "time", nullable: false, sql: "t.last_at" },
] as const;

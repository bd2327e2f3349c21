/**
 * The archive's tables and views by their own names in DuckDB, above the tables of the schema `parts` (duckFiles.ts). The views are
 * those of migrations/repeat/, in DuckDB's words: migrations/duckdb/views.sql.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Instant } from "../../ground/clock.ts";
import { PACKAGE_ROOT } from "../../ground/packageRoot.ts";
import { quoted } from "./duckFiles.ts";
import { DUCK_TABLES } from "./duckTables.ts";

/** All names that can be asked, in the order in which people read them. */
export const DUCK_NAMES: readonly string[] = [
  ...DUCK_TABLES.map(({ name }) => name),
  "bars_1m",
  "bars_1d_regular",
  "option_chain_latest",
  "dividend_calendar",
  "coverage_daily",
];

function read(name: "macros" | "views"): Promise<string> {
  return readFile(join(PACKAGE_ROOT, "migrations", "duckdb", `${name}.sql`), "utf8");
}

/** Statements before the tables have their rows. @param asOf what views take for now; null: now */
export async function macros(asOf: Instant | null): Promise<string[]> {
  const now = asOf === null ? [] : [`set variable as_of = timestamptz ${quoted(asOf)}`];
  return [...now, await read("macros")];
}

/** Statements that make the views, above the tables with their rows. */
export async function publicViews(asOf: Instant | null): Promise<string[]> {
  const tables = DUCK_TABLES.map(({ name, columns }) => {
    const list = columns.map((column) => `"${column.name}"`).join(", ");
    return `create view ${name} as select ${list} from parts.${name}`;
  });
  const chain =
    "create or replace view option_chain_latest as from chain_of('parts.latest_as_of', 'parts.interests_as_of')";
  return [...tables, await read("views"), ...(asOf === null ? [] : [chain])];
}

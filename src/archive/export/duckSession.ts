/** SQL with which `quotekeeper sql` prepares DuckDB, plans a statement, and locks DuckDB before it is given the statement. */
import { quoted } from "./duckFiles.ts";

export const DUCK_SETUP: readonly string[] = [
  "set TimeZone = 'UTC'",
  "set autoinstall_known_extensions = false",
  "set autoload_known_extensions = false",
  "create schema parts",
];

/** A statement's tree as JSON, without running it. Only statements that give rows have one. */
export function duckStatementTree(statement: string): string {
  return `select json_serialize_sql(${quoted(statement)})::varchar`;
}

/** Optimizers that only move conditions to where the rows are read. Others go by rows that are not there yet. */
const OF_CONDITIONS = [
  "expression_rewriter",
  "filter_pullup",
  "filter_pushdown",
  "cte_filter_pusher",
  "cte_inlining",
];

/** Has plans say what a statement reads, whatever the tables hold. */
export const PLAIN_PLANS = `select string_agg(name, ',') from duckdb_optimizers() where name not in (${OF_CONDITIONS.map(quoted).join(", ")})`;

/** @param optimizers names, from `PLAIN_PLANS`; empty: all are used again */
export function withoutOptimizers(optimizers: string): string {
  return `set disabled_optimizers = ${quoted(optimizers)}`;
}

export function planOf(select: string): string {
  return `explain (format json) ${select}`;
}

/** Nothing but these files is touched from here on, and no setting changes any more. */
export function locked(paths: readonly string[]): string[] {
  return [
    `set allowed_paths = [${paths.map(quoted).join(", ")}]`,
    "set enable_external_access = false",
    "set lock_configuration = true",
  ];
}

/** A statement as a part of another: in lines of its own, for it may end with a comment. @param select without a semicolon behind it */
export function inParentheses(select: string): string {
  return `(\n${select}\n)`;
}

/** Writes what a statement gives to a file that is locked in. @param select as for `inParentheses` */
export function copyToParquet(select: string, path: string): string {
  return `copy ${inParentheses(select)} to ${quoted(path)} (format parquet, compression zstd)`;
}

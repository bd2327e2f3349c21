/**
 * What may be asked: one statement that only reads. DuckDB itself parses it, and is told besides to touch no file but the
 * lake's; this is the first of two locks, since a table function can do more than give rows.
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import { duckStatementTree } from "../../archive/lake/duckViews.ts";
import { QuotekeeperError } from "../../errors.ts";

/** A statement that may run. */
type Statement = {
  /** What is asked, without EXPLAIN before it. */
  select: string;
  /** `explain`, `explain analyze`, or nothing. */
  explain: string;
};

/** Table functions that make rows of their arguments or of the catalog, and touch nothing. */
const HARMLESS = new Set([
  ...["generate_series", "range", "unnest", "json_each", "json_tree", "repeat", "repeat_row"],
  ...[
    "duckdb_columns",
    "duckdb_functions",
    "duckdb_keywords",
    "duckdb_tables",
    "duckdb_types",
    "duckdb_views",
  ],
  ...["pragma_table_info", "pragma_version", "pg_timezone_names", "summary"],
]);

const EXPLAIN = /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*explain(\s+analyze)?\s+/iu;

/** @throws QuotekeeperError SQL_WRONG, SQL_REFUSED */
export async function readStatement(connection: DuckDBConnection, text: string): Promise<Statement> {
  const [before, analyze] = EXPLAIN.exec(text) ?? [];
  const select = before === undefined ? text : text.slice(before.length);
  const reader = await connection.runAndReadAll(duckStatementTree(select));
  const tree = JSON.parse(String(reader.getRows()[0]?.[0])) as Tree;
  if (tree.error) {
    if (tree.error_type === "parser") throw wrong(text, text.length - select.length, tree);
    throw refused("only SELECT, WITH, VALUES, FROM, EXPLAIN, DESCRIBE, SHOW and SUMMARIZE are answered");
  }
  const count = tree.statements?.length ?? 0;
  if (count === 0) throw new QuotekeeperError("SQL_WRONG", "there is no statement");
  if (count > 1) throw refused(`there are ${count} statements; give one at a time`);
  checkFunctions(tree.statements);
  return { select, explain: before === undefined ? "" : `explain${analyze === undefined ? "" : " analyze"}` };
}

type Tree = {
  error: boolean;
  error_type?: string;
  error_message?: string;
  position?: string;
  statements?: unknown[];
};

function checkFunctions(node: unknown): void {
  if (Array.isArray(node)) return node.forEach(checkFunctions);
  if (node === null || typeof node !== "object") return;
  const { type, function: of } = node as { type?: unknown; function?: { function_name?: unknown } };
  if (type === "TABLE_FUNCTION") {
    const name = String(of?.function_name ?? "").toLowerCase();
    if (!HARMLESS.has(name)) throw refused(`the table function ${name} is not for statements here`);
  }
  if (type === "BASE_TABLE" && /[/\\*]|\.\w+$/u.test(String((node as { table_name?: unknown }).table_name)))
    throw refused(
      `${String((node as { table_name?: unknown }).table_name)} is a file, and only the archive's tables are read`,
    );
  Object.values(node).forEach(checkFunctions);
}

function wrong(text: string, skipped: number, { error_message, position }: Tree): QuotekeeperError {
  const at = Math.min(text.length, skipped + Number(position ?? 0));
  const lines = text.slice(0, at).split("\n");
  return new QuotekeeperError(
    "SQL_WRONG",
    `${error_message ?? "it cannot be read"} (line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1})`,
  );
}

function refused(detail: string): QuotekeeperError {
  return new QuotekeeperError("SQL_REFUSED", detail);
}

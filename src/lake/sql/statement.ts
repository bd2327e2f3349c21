/**
 * What may be asked: one statement that only reads, and only what is listed here. DuckDB itself parses it. This is the first
 * of two locks: the databases in which it is planned and answered touch no other file (`locked` of duckSession.ts).
 */
import { closest, distance } from "fastest-levenshtein";
import { DUCK_TABLES } from "../../archive/export/duckTables.ts";
import { duckStatementTree, inParentheses } from "../../archive/export/duckSession.ts";
import { DUCK_NAMES } from "../../archive/export/duckViews.ts";
import { QuotekeeperError } from "../../errors.ts";
import { type Duck, rowsOf } from "./duckdb.ts";

type Statement = {
  /** What is asked, without EXPLAIN before it. */
  select: string;
  /** `explain`, `explain analyze`, or nothing. */
  explain: string;
};

/** DuckDB's name for a database in memory. */
const CATALOG = "memory";

/** Tables and views that may be read, by schema. */
const READABLE: ReadonlyMap<string, readonly string[]> = new Map([
  ["main", DUCK_NAMES],
  // What the views are made of.
  ["parts", DUCK_TABLES.map(({ name }) => name)],
  ["information_schema", ["columns", "schemata", "tables", "views"]],
]);

/** Table functions that make rows of their arguments or of the catalog, and touch nothing. */
const HARMLESS = new Set([
  "generate_series",
  "range",
  "unnest",
  "json_each",
  "json_tree",
  "repeat",
  "repeat_row",
  "duckdb_columns",
  "duckdb_functions",
  "duckdb_keywords",
  "duckdb_tables",
  "duckdb_types",
  "duckdb_views",
  "pragma_table_info",
  "pragma_version",
  "pg_timezone_names",
  "summary",
]);

const EXPLAIN = /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*explain(\s+analyze)?\s+/iu;

/** @throws QuotekeeperError SQL_WRONG, SQL_REFUSED */
export async function readStatement(duck: Duck, text: string): Promise<Statement> {
  const [before, analyze] = EXPLAIN.exec(text) ?? [];
  const select = before === undefined ? text : text.slice(before.length);
  const tree = await treeOf(duck, select);
  if (tree.error) {
    if (tree.error_type === "parser") throw wrong(text, text.length - select.length, tree);
    throw refused("only SELECT, WITH, VALUES, FROM, EXPLAIN, DESCRIBE, SHOW and SUMMARIZE are answered");
  }
  const count = tree.statements?.length ?? 0;
  if (count === 0) throw new QuotekeeperError("SQL_WRONG", "there is no statement");
  if (count > 1) throw refused(`there are ${count} statements; give one at a time`);
  requireReadable(tree.statements, new Set());
  return { select, explain: before === undefined ? "" : `explain${analyze === undefined ? "" : " analyze"}` };
}

/**
 * One statement without the semicolon behind it, as a part of another has to be. Which of its semicolons that is, and which
 * are in a text or a comment, the parser says.
 */
export async function withoutEnd(duck: Duck, select: string): Promise<string> {
  for (let end = select.length; end > 0; end = select.lastIndexOf(";", end - 1)) {
    const cut = select.slice(0, end);
    if (!(await treeOf(duck, `from ${inParentheses(cut)}`)).error) return cut;
  }
  return select;
}

type Tree = {
  error: boolean;
  error_type?: string;
  error_message?: string;
  position?: string;
  statements?: unknown[];
};

async function treeOf(duck: Duck, select: string): Promise<Tree> {
  const [row] = await rowsOf(duck, duckStatementTree(select));
  return JSON.parse(String(row?.[0])) as Tree;
}

/** A node of the tree, as far as it says what is read. */
type Node = {
  type?: unknown;
  function?: { function_name?: unknown };
  catalog_name?: unknown;
  schema_name?: unknown;
  table_name?: unknown;
  /** What stands in WITH. */
  cte_map?: { map?: readonly { key?: unknown }[] };
};

/** @param named names from WITH, in lower case, that stand for more than tables here */
function requireReadable(node: unknown, named: ReadonlySet<string>): void {
  if (Array.isArray(node)) return node.forEach((one) => requireReadable(one, named));
  if (node === null || typeof node !== "object") return;
  const { type, function: of, cte_map: ctes, ...more } = node as Node;
  if (type === "TABLE_FUNCTION") {
    const name = lower(of?.function_name);
    if (!HARMLESS.has(name)) throw refused(`the table function ${name} is not for statements here`);
  }
  if (type === "BASE_TABLE") requireTable(more, named);
  const keys = ctes?.map?.map(({ key }) => lower(key)) ?? [];
  const within = keys.length === 0 ? named : new Set([...named, ...keys]);
  Object.values(node).forEach((one) => requireReadable(one, within));
}

function requireTable(node: Node, named: ReadonlySet<string>): void {
  const catalog = lower(node.catalog_name);
  const schema = lower(node.schema_name);
  const name = lower(node.table_name);
  const isQualified = catalog !== "" || schema !== "";
  if (!isQualified && named.has(name)) return;
  if (["", CATALOG].includes(catalog) && READABLE.get(schema || "main")?.includes(name)) return;
  const given = [node.catalog_name, node.schema_name, node.table_name]
    .filter((part) => part !== "")
    .join(".");
  if (isQualified || !/^\w+$/u.test(given))
    throw refused(`${given} is no table or view of the archive, and nothing else is read`);
  const nearest = closest(given.toLowerCase(), [...DUCK_NAMES]);
  const meant = distance(given.toLowerCase(), nearest) <= MOST_TYPOS ? `; did you mean ${nearest}?` : "";
  throw new QuotekeeperError("SQL_WRONG", `there is no table or view ${given}${meant}`);
}

/** Letters that a name may be off from the one that was meant. */
const MOST_TYPOS = 3;

function lower(name: unknown): string {
  return String(name ?? "").toLowerCase();
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

/**
 * What may be asked: one statement that only reads, and only what is listed here. DuckDB itself parses it. This is the first
 * of two locks: the databases in which it is planned and answered touch no other file (`locked` of duckSession.ts).
 */
import { closest, distance } from "fastest-levenshtein";
import { DUCK_TABLES } from "../../archive/export/duckTables.ts";
import { duckStatementTree, inParentheses } from "../../archive/export/duckSession.ts";
import { DUCK_NAMES } from "../../archive/export/duckViews.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Duck, rowsOf } from "./duckdb.ts";

type Statement = {
  /** What is asked, without EXPLAIN before it. */
  select: string;
  /** `explain`, `explain analyze`, or nothing. */
  explain: string;
};

/** DuckDB's name for a database in memory. */
const CATALOG = "memory";

/** What a statement may read. */
export type Readable = {
  /** Tables and views, by schema. */
  tables: ReadonlyMap<string, readonly string[]>;
  /** What they are, for messages. */
  kind: string;
  /** Table functions. */
  functions: ReadonlySet<string>;
  /** Table macros, each of one relation that may be read. */
  macros?: ReadonlySet<string>;
  /** Why a node of the statement's tree is refused besides; null: it is not. */
  refusal?: (node: StatementNode) => string | null;
};

/** Table functions that make rows of their arguments, and touch nothing. */
export const HARMLESS = [
  "generate_series",
  "range",
  "unnest",
  "json_each",
  "json_tree",
  "repeat",
  "repeat_row",
];

/** Table functions that make rows of the catalog. */
const OF_CATALOG = [
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
];

const OF_ARCHIVE: Readable = {
  tables: new Map([
    ["main", DUCK_NAMES],
    // What the views are made of.
    ["parts", DUCK_TABLES.map(({ name }) => name)],
    ["information_schema", ["columns", "schemata", "tables", "views"]],
  ]),
  kind: "table or view of the archive",
  functions: new Set([...HARMLESS, ...OF_CATALOG]),
};

const EXPLAIN = /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*explain(\s+analyze)?\s+/iu;

/** @throws QuotekeeperError SQL_WRONG, SQL_REFUSED */
export async function readStatement(
  duck: Duck,
  text: string,
  readable: Readable = OF_ARCHIVE,
): Promise<Statement> {
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
  requireReadable(tree.statements, readable, new Set());
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
export type StatementNode = {
  type?: unknown;
  /** Of a function. */
  function_name?: unknown;
  /** Of a table function. */
  function?: { function_name?: unknown; children?: readonly StatementNode[] };
  /** Of a column. */
  column_names?: readonly unknown[];
  sample?: unknown;
  catalog_name?: unknown;
  schema_name?: unknown;
  table_name?: unknown;
  /** What stands in WITH. */
  cte_map?: { map?: readonly { key?: unknown }[] };
};

/** @param named names from WITH, in lower case, that stand for more than tables here */
function requireReadable(node: unknown, readable: Readable, named: ReadonlySet<string>): void {
  if (Array.isArray(node)) return node.forEach((one) => requireReadable(one, readable, named));
  if (node === null || typeof node !== "object") return;
  const { type, function: of, cte_map: ctes, ...more } = node as StatementNode;
  const refusal = readable.refusal?.(node);
  if (refusal) throw refused(refusal);
  if (type === "TABLE_FUNCTION") requireFunction(of, readable, named);
  if (type === "BASE_TABLE") requireTable(more, readable, named);
  const keys = ctes?.map?.map(({ key }) => lower(key)) ?? [];
  const within = keys.length === 0 ? named : new Set([...named, ...keys]);
  Object.values(node).forEach((one) => requireReadable(one, readable, within));
}

function requireFunction(
  of: StatementNode["function"],
  readable: Readable,
  named: ReadonlySet<string>,
): void {
  const name = lower(of?.function_name);
  if (readable.functions.has(name)) return;
  const [relation, ...more] = of?.children ?? [];
  const [table, ...parts] = relation?.column_names ?? [];
  if (!readable.macros?.has(name)) throw refused(`the table function ${name} is not for statements here`);
  if (table === undefined || parts.length > 0 || more.length > 0)
    throw refused(`the table macro ${name} takes the name of one relation`);
  requireTable({ catalog_name: "", schema_name: "", table_name: table }, readable, named);
}

function requireTable(node: StatementNode, { tables, kind }: Readable, named: ReadonlySet<string>): void {
  const catalog = lower(node.catalog_name);
  const schema = lower(node.schema_name);
  const name = lower(node.table_name);
  const isQualified = catalog !== "" || schema !== "";
  if (!isQualified && named.has(name)) return;
  if (["", CATALOG].includes(catalog) && tables.get(schema || "main")?.includes(name)) return;
  const given = [node.catalog_name, node.schema_name, node.table_name]
    .filter((part) => part !== "")
    .join(".");
  if (isQualified || !/^\w+$/u.test(given)) throw refused(`${given} is no ${kind}, and nothing else is read`);
  const nearest = closest(given.toLowerCase(), [...(tables.get("main") ?? [])]);
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

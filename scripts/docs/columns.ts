/** docs/columns.md: what the database itself says of its tables, views and columns (`comment on`, migration 0021). */
import type pg from "pg";
import { DIVIDEND_FIELDS, EXTENDED_FIELDS, PRICE_FIELDS } from "../../src/quotes/fields.ts";
import { STRIKE, type Unit, UNITS } from "../../src/quotes/units.ts";
import { TYPE } from "../schema/dump.ts";
import { code, GENERATED, markdownTable, paragraphs } from "./markdown.ts";

/** A table or a view, with its columns in their order. */
export type Relation = {
  name: string;
  kind: "table" | "view";
  comment: string | null;
  columns: { name: string; type: string; comment: string | null }[];
};

/** Tables that people read, in the order in which they need them; views and all other tables go by name. */
const READ_FIRST = [
  "quotes",
  "extended_quotes",
  "dividends",
  "instruments",
  "sources",
  "responses",
  "dead_letters",
];

/** By table: what the numbers of its columns may be. */
const NUMBERS: Readonly<Record<string, readonly { column: string; unit: string; signed?: true }[]>> = {
  quotes: PRICE_FIELDS,
  extended_quotes: EXTENDED_FIELDS,
  dividends: DIVIDEND_FIELDS,
  instruments: [
    { column: "strike", ...STRIKE },
    { column: "contract_size", unit: "count" },
  ],
};

/** Tables of which the page says what they are, and not their columns. */
const INTERNAL: readonly string[] = [
  ...["archive_identity", "archive_lake", "backfill_positions", "backfills", "collectors", "dropped_days"],
  ...["epochs", "journal_positions", "late_days", "lease_history", "leases", "open_slots"],
  ...["schema_migrations", "schema_texts"],
];

/** What stands before a column's origin, which ends its comment. */
const ORIGIN = " Origin: ";

/**
 * The archive's tables and views, without partitions, by name.
 *
 * @param pool of a migrated database
 */
export async function readRelations(pool: pg.Pool): Promise<Relation[]> {
  const { rows } = await pool.query<Relation>(
    `select c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind,
            obj_description(c.oid, 'pg_class') as comment,
            (
              select coalesce(jsonb_agg(jsonb_build_object(
                'name', a.attname, 'type', replace(${TYPE}, 'timestamp with time zone', 'timestamptz'),
                'comment', col_description(c.oid, a.attnum)
              ) order by a.attnum), '[]')
              from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            ) as columns
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
     order by c.relname`,
  );
  return rows;
}

/** @returns the page, before prettier */
export function columnsPage(relations: readonly Relation[]): string {
  // One table without columns is but a lock.
  const shown = relations.filter(({ columns }) => columns.length > 0);
  const first = READ_FIRST.flatMap((name) => shown.filter((relation) => relation.name === name));
  const internal = shown.filter(({ name }) => INTERNAL.includes(name));
  const rest = shown.filter((relation) => !first.includes(relation) && !internal.includes(relation));
  const views = rest.filter(({ kind }) => kind === "view");
  const tables = rest.filter(({ kind }) => kind === "table");
  const order = [...first, ...views, ...tables];
  const part = (title: string, of: readonly Relation[]): string =>
    paragraphs(
      `## ${title}`,
      ...of.map((relation) => relationText(relation, order.slice(0, order.indexOf(relation)))),
    );
  return paragraphs(
    GENERATED,
    "# Tables, views and columns",
    "`\\d+ quotes` in `psql` shows the same of one table or view.",
    "All times are UTC, in microseconds; dates are the exchange's, in New York. Prices are in dollars; those of options are for one share of the underlying, not for a contract. NULL means that there is no value: not sent, not said, or not applicable. What stands in brackets is the origin: an element of the service's answer, a column or a file; without brackets the program itself. A column that is as in another table is named below.",
    unitsText(),
    part("Tables that people read", first).trimEnd(),
    part("Views", views).trimEnd(),
    part("Tables that the program keeps for itself", tables).trimEnd(),
    "### Without their columns",
    "`\\d+ leases` in `psql` shows the columns of one.",
    internal.map(({ name, comment }) => `- ${code(name)}: ${plain(comment ?? "")}`).join("\n"),
  );
}

/** How readers take a sign at a number, by the unit of its column. */
function unitsText(): string {
  const rows = Object.entries(UNITS).map(([unit, { holds, percent }]) => [
    unitName(unit as Unit),
    holds,
    percent === null ? "refused" : percent === 0 ? "taken off" : "divides the number by 100",
  ]);
  return paragraphs(
    "## Units of numbers",
    "The readers of CSV files, of XML and of JSON take a sign at a number by the unit of its column:",
    markdownTable(["unit", "holds", "percent sign"], rows).trimEnd(),
    "A `signed` column holds numbers below zero: `-0.05`, with the minus U+2212, or `(0.05)`. In any other a number below zero, such as -999, stands for no value: NULL, with a dead letter (`odd_field`); the rest of the row stays. Where a sign is refused, an answer's field is NULL with a dead letter; of a CSV file the whole row is a dead letter, or of a count the count alone. `1,234.50` is read, `0,123` is refused, and so is whatever else stands at a number.",
  ).trimEnd();
}

function unitName(unit: Unit): string {
  return unit === "own" ? "the service's own" : unit;
}

/** A relation by its own columns, and the names of those that another one above has described. */
function relationText({ name, comment, columns }: Relation, above: readonly Relation[]): string {
  const numbers = NUMBERS[name];
  const unitOf = (column: string): string => {
    const { unit, signed } = numbers?.find((one) => one.column === column) ?? { unit: "" };
    return unit in UNITS ? `${unitName(unit as Unit)}${signed ? ", signed" : ""}` : "";
  };
  const own = columns.filter((column) => describedIn(column, above) === null && !isTwin(column, columns));
  const rows = own.map((column) => [
    twinsOf(column, columns)
      .map((one) => code(one.name))
      .join(", "),
    column.type,
    ...(numbers ? [unitOf(column.name)] : []),
    meaningOf(column),
  ]);
  const table =
    rows.length === 0
      ? ""
      : markdownTable(["column", "type", ...(numbers ? ["unit"] : []), "what it is"], rows);
  return [`### ${name}`, plain(comment ?? ""), table, sharedText(columns, above)]
    .filter((text) => text !== "")
    .join("\n\n");
}

type Column = Relation["columns"][number];

/** The first relation above that has the column with the same type and comment. */
function describedIn({ name, type, comment }: Column, above: readonly Relation[]): string | null {
  const same = (one: Column): boolean => one.name === name && one.type === type && one.comment === comment;
  return above.find(({ columns }) => columns.some(same))?.name ?? null;
}

/** A column of the call and the same one of the put; else the column alone. */
function twinsOf(column: Column, columns: readonly Column[]): Column[] {
  return [column, ...columns.filter((one) => one !== column && isTwinOf(one, column))];
}

const isTwin = (column: Column, columns: readonly Column[]): boolean =>
  columns.some((one) => isTwinOf(column, one));

/** Whether a column says of the put what the other one says of the call. */
function isTwinOf(put: Column, { name, comment }: Column): boolean {
  return (
    name.startsWith("call_") &&
    put.name === name.replace("call_", "put_") &&
    put.comment?.toLowerCase() === comment?.toLowerCase().replaceAll("call", "put")
  );
}

function sharedText(columns: readonly Column[], above: readonly Relation[]): string {
  const byRelation = new Map<string, string[]>();
  for (const column of columns) {
    const where = describedIn(column, above);
    if (where !== null) byRelation.set(where, [...(byRelation.get(where) ?? []), code(column.name)]);
  }
  const parts = [...byRelation].map(([where, names]) => `as in [${where}](#${where}) ${names.join(", ")}`);
  return parts.length === 0 ? "" : plain(`${parts.join("; ").replace(/^a/, "A")}.`);
}

/** What a column is; in brackets where its value comes from, if not from the program. */
function meaningOf({ comment }: Column): string {
  const [meaning = "", origin = ""] = (comment ?? "").split(ORIGIN);
  const from = origin.replace(/\.$/, "");
  return plain(from === "the program" || from === "" ? meaning : `${meaning.replace(/\.$/, "")} (${from}).`);
}

/** Comments are plain text: what Markdown would take for its own is no markup. */
function plain(text: string): string {
  return text.replaceAll(/[*<\\]/g, "\\$&");
}

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
  const rest = shown.filter((relation) => !first.includes(relation));
  const part = (title: string, of: readonly Relation[]): string =>
    paragraphs(`## ${title}`, ...of.map(relationText));
  return paragraphs(
    GENERATED,
    "# Tables, views and columns",
    "What the database says of itself, written down by its migrations. `\\d+ quotes` in `psql` shows the same for one table or view, and every tool that knows `comment on`.",
    "All times are UTC, in microseconds; dates are the exchange's, in New York. Prices are in dollars; those of options are for one share of the underlying, not for a contract. NULL means that there is no value. The origin is an element of the service's answer, a column, a file, or the program itself.",
    unitsText(),
    part("Tables that people read", first).trimEnd(),
    part(
      "Views",
      rest.filter(({ kind }) => kind === "view"),
    ).trimEnd(),
    part(
      "Tables that the program keeps for itself",
      rest.filter(({ kind }) => kind === "table"),
    ).trimEnd(),
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
    "A column that is `signed` holds numbers below zero, written as `-0.05`, with the minus of typography (U+2212), or as accounts have them: `(0.05)`. In any other column a number below zero, such as -999, stands for no value: the field is NULL, a dead letter (`odd_field`) has the number, and the rest of the row stays. So an index that goes below zero, such as TICK, has no such `last`. Where a sign is refused, an answer's field is NULL with a dead letter, and its row stays; of a CSV file the whole row is a dead letter, or of a count the count alone. Thousands separators are commas before three digits each, and no such number begins with 0: `1,234.50` is read, `0,123` is refused. Whatever else stands at a number is refused, never skipped.",
  ).trimEnd();
}

function unitName(unit: Unit): string {
  return unit === "own" ? "the service's own" : unit;
}

function relationText({ name, comment, columns }: Relation): string {
  const numbers = NUMBERS[name];
  const unitOf = (column: string): string => {
    const { unit, signed } = numbers?.find((one) => one.column === column) ?? { unit: "" };
    return unit in UNITS ? `${unitName(unit as Unit)}${signed ? ", signed" : ""}` : "";
  };
  const rows = columns.map((column) => {
    const [meaning = "", origin = ""] = (column.comment ?? "").split(ORIGIN);
    const unit = numbers ? [unitOf(column.name)] : [];
    return [code(column.name), column.type, ...unit, plain(meaning), plain(origin.replace(/\.$/, ""))];
  });
  const table = markdownTable(["column", "type", ...(numbers ? ["unit"] : []), "what it is", "origin"], rows);
  return [`### ${name}`, plain(comment ?? ""), table].filter((text) => text !== "").join("\n\n");
}

/** Comments are plain text: what Markdown would take for its own is no markup. */
function plain(text: string): string {
  return text.replaceAll(/[*<\\]/g, "\\$&");
}

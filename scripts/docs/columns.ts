/** docs/columns.md: what the database itself says of its tables, views and columns (`comment on`, migration 0021). */
import type pg from "pg";
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

function relationText({ name, comment, columns }: Relation): string {
  const rows = columns.map((column) => {
    const [meaning = "", origin = ""] = (column.comment ?? "").split(ORIGIN);
    return [code(column.name), column.type, plain(meaning), plain(origin.replace(/\.$/, ""))];
  });
  const table = markdownTable(["column", "type", "what it is", "origin"], rows);
  return [`### ${name}`, plain(comment ?? ""), table].filter((text) => text !== "").join("\n\n");
}

/** Comments are plain text: what Markdown would take for its own is no markup. */
function plain(text: string): string {
  return text.replaceAll(/[*<\\]/g, "\\$&");
}

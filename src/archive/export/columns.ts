/** The columns of an exported table, as the database has them, and how each is asked for. */
import type pg from "pg";
import { QuotekeeperError } from "../../errors.ts";
import { INSTRUMENT_NAME } from "../instruments.ts";

/** What a column holds, whatever the file's format makes of it. */
type ColumnKind = "time" | "date" | "boolean" | "integer" | "bigint" | "decimal" | "text";

/** One column of an export. */
export type ExportColumn = {
  name: string;
  kind: ColumnKind;
  nullable: boolean;
  /** SQL of its value, of the table's row `t`. */
  sql: string;
};

/** PostgreSQL's types by their names; everything else is text. */
const KINDS: Readonly<Record<string, ColumnKind>> = {
  timestamptz: "time",
  date: "date",
  bool: "boolean",
  int2: "integer",
  int4: "integer",
  int8: "bigint",
  numeric: "decimal",
};

/**
 * A table's columns in its own order. Behind `instrument_id` comes the instrument's name, behind `source_id` the kind of
 * the source: a file of quotes can be read alone, and simulated rows are told from real ones in it.
 *
 * @throws QuotekeeperError ARCHIVE_EMPTY when there is no such table
 */
export async function readColumns(client: pg.ClientBase, table: string): Promise<ExportColumn[]> {
  const { rows } = await client.query<{ name: string; type: string; required: boolean }>(
    `select a.attname as name, y.typname as type, a.attnotnull as required
     from pg_attribute a join pg_type y on y.oid = a.atttypid
     where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [table],
  );
  if (rows.length === 0) throw new QuotekeeperError("ARCHIVE_EMPTY", `the database has no table ${table}`);
  return rows.flatMap(({ name, type, required }): ExportColumn[] => {
    const sql = type.startsWith("_") ? `to_jsonb(t.${name})` : `t.${name}`;
    const column = { name, kind: KINDS[type] ?? "text", nullable: !required, sql };
    return [column, ...told(name)];
  });
}

function told(name: string): ExportColumn[] {
  if (name === "instrument_id")
    return [{ name: "instrument", kind: "text", nullable: true, sql: INSTRUMENT_NAME }];
  return name === "source_id" ? [{ name: "source", kind: "text", nullable: true, sql: "s.kind" }] : [];
}

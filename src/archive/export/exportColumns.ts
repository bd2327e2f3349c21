/** The columns of an exported table, as the database has them, and how each is asked for. */
import pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { HELD_DIGITS } from "../../quotes/decimal.ts";

type ColumnKind = "time" | "date" | "boolean" | "integer" | "bigint" | "decimal" | "text";

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
 * the source, behind `account_id` the account's name: a file of quotes can be read alone, and simulated rows are told from
 * real ones in it.
 *
 * @throws QuotekeeperError ARCHIVE_EMPTY when there is no such table
 */
export async function readColumns(client: pg.ClientBase, table: string): Promise<ExportColumn[]> {
  const { rows } = await client.query<{ name: string; type: string; required: boolean }>(
    `select a.attname as name, coalesce(b.typname, y.typname) as type, a.attnotnull as required
     from pg_attribute a join pg_type y on y.oid = a.atttypid left join pg_type b on b.oid = y.typbasetype
     where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [table],
  );
  if (rows.length === 0) throw new QuotekeeperError("ARCHIVE_EMPTY", `the database has no table ${table}`);
  const has = (column: string): boolean => rows.some(({ name }) => name === column);
  const told: Record<string, Pick<ExportColumn, "name" | "sql">> = {
    instrument_id: { name: "instrument", sql: "i.name" },
    ...(has("source_id") && { source_id: { name: "source", sql: await wordSql(client, "source_id") } }),
    ...(has("account_id") && { account_id: { name: "account", sql: await wordSql(client, "account_id") } }),
  };
  return rows.flatMap(({ name, type, required }): ExportColumn[] => {
    const sql = type.startsWith("_")
      ? `to_jsonb(t.${name})`
      : name === "mean_spread"
        ? MEAN_SPREAD
        : `t.${name}`;
    const column = { name, kind: KINDS[type] ?? "text", nullable: !required, sql };
    const word = told[name];
    return word ? [column, { kind: "text", nullable: true, ...word }] : [column];
  });
}

/** Places of a quotient in files: as many as those of a number that it is made of. */
export const QUOTIENT_PLACES = HELD_DIGITS.fraction;

const MEAN_SPREAD = `round(t.mean_spread, least(scale(t.mean_spread), ${QUOTIENT_PLACES}))`;

/** What a number of a row stands for. There are a few of each: a join would be a third of the server's work on a row. */
async function wordSql(client: pg.ClientBase, column: "source_id" | "account_id"): Promise<string> {
  const words = column === "source_id" ? "id, kind as word from sources" : "id, name as word from accounts";
  const { rows } = await client.query<{ id: number; word: string }>(`select ${words} order by id`);
  const cases = rows.map(({ id, word }) => ` when ${id} then ${pg.escapeLiteral(word)}`).join("");
  return rows.length === 0 ? "null::text" : `case t.${column}${cases} end`;
}

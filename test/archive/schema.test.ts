import { expect, test } from "@jest/globals";
import { is } from "drizzle-orm";
import { getTableConfig, getViewConfig, PgTable, PgView, type PgColumn } from "drizzle-orm/pg-core";
import * as backfillSchema from "../../src/archive/schema/backfillSchema.ts";
import * as internalSchema from "../../src/archive/schema/internalSchema.ts";
import * as mainSchema from "../../src/archive/schema/schema.ts";
import { TYPE } from "../../scripts/schema/dump.ts";
import { EMPTIED, rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";

const schema = { ...mainSchema, ...internalSchema, ...backfillSchema };
const { pool } = await freshDatabase();
const tables = Object.values<unknown>(schema)
  .filter((value): value is PgTable => is(value, PgTable))
  .map((table) => getTableConfig(table));
const views = Object.values<unknown>(schema)
  .filter((value): value is PgView => is(value, PgView))
  .map((view) => getViewConfig(view));

/** Tables that the database's own functions and the migrations write, and no statement of the program. */
const WRITTEN_BY_SQL = ["archive_identity", "intraday_bars", "migration_lock"];

const OWN_TABLES = `select oid from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    and relname <> all ('{${WRITTEN_BY_SQL.join()}}')`;

/** The columns of a table, primary key or not, of the migrated database. */
function columnsOf(relation: string) {
  return rowsOfQuery(
    pool,
    `select attname as name, ${TYPE} as type, attnotnull as "notNull"
     from pg_attribute a where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attname`,
    [relation],
  );
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
const drawn = (column: PgColumn) => ({
  name: column.name,
  type: column.getSQLType(),
  notNull: column.notNull,
});

test("Drizzle knows every table of the migrated database that the program writes, and no other", async () => {
  const found = await rowsOfQuery(
    pool,
    `select relname from pg_class where oid in (${OWN_TABLES}) order by relname`,
  );

  expect(tables.map(({ name }) => name).sort()).toEqual(found.map(({ relname }) => relname));
});

test("a test's database is emptied of every table before the next test has it, but for what a migration alone writes", () => {
  const written = tables.map(({ name }) => name).filter((name) => !/^schema_(migrations|texts)$/.test(name));

  expect(EMPTIED.toSorted()).toEqual([...written, "intraday_bars"].toSorted());
});

test.each(tables.map((table) => [table.name, table] as const))(
  "the columns of %s have the names, types and nullability that Drizzle says",
  async (name, { columns }) => {
    expect(await columnsOf(name)).toEqual(columns.map(drawn).sort(byName));
  },
);

test.each(views.map((view) => [view.name, view] as const))(
  "the view %s has the columns that Drizzle says",
  async (name, { selectedFields }) => {
    const found = await columnsOf(name);

    const said = Object.values(selectedFields as Record<string, PgColumn>)
      .map(drawn)
      .sort(byName);
    // A view's columns are all nullable to PostgreSQL.
    expect(found).toEqual(said.map((column) => ({ ...column, notNull: false })));
  },
);

test("the primary keys, unique constraints and references are those that Drizzle says", async () => {
  const found = await rowsOfQuery(
    pool,
    `select conrelid::regclass::text || ' ' || case contype::text when 'f'
         then 'f (' || a.attname || ') to ' || confrelid::regclass::text
         else contype::text || ' ' || regexp_replace(pg_get_constraintdef(c.oid), '^(PRIMARY KEY|UNIQUE) ', '') end as key
     from pg_constraint c
     left join pg_attribute a on c.contype = 'f' and a.attrelid = c.conrelid and a.attnum = c.conkey[1]
     where contype in ('p', 'u', 'f') and conrelid in (${OWN_TABLES})`,
  );

  const said = tables.flatMap(({ name, columns, primaryKeys, uniqueConstraints, foreignKeys }) => [
    ...primaryKeys.map((key) => `${name} p ${list(key.columns)}`),
    ...columns.filter(({ primary }) => primary).map((column) => `${name} p ${list([column])}`),
    ...columns.filter(({ isUnique }) => isUnique).map((column) => `${name} u ${list([column])}`),
    ...uniqueConstraints.map(
      (key) => `${name} u ${key.nullsNotDistinct ? "NULLS NOT DISTINCT " : ""}${list(key.columns)}`,
    ),
    ...foreignKeys.map((key) => {
      const { columns: own, foreignTable } = key.reference();
      return `${name} f ${list(own)} to ${getTableConfig(foreignTable).name}`;
    }),
  ]);
  // The move to Citus drops references to tables of which every node has a copy.
  const isThere = (key: string): boolean =>
    !process.env["TEST_CITUS_URL"] || !/^(?!instruments ).* f .* to (sources|instruments)$/.test(key);
  expect(found.map(({ key }) => key).sort()).toEqual(said.filter(isThere).sort());
});

test("every key of a table that grows holds its time column", () => {
  const growing = tables.filter(({ name }) =>
    ["responses", "quotes", "extended_quotes", "dividends", "dead_letters"].includes(name),
  );

  expect(growing).toHaveLength(5);
  for (const { primaryKeys } of growing)
    expect(primaryKeys.flatMap(({ columns }) => columns.map(({ name }) => name))).toContain("observed_at");
});

test("prices are numeric and counts are bigint: nothing of the archive is a float", async () => {
  const types = tables.flatMap(({ columns }) => columns.map((column) => column.getSQLType()));

  expect(types.filter((type) => /real|double|float/.test(type))).toEqual([]);
  expect(new Set(types)).toContain("numeric");
});

function list(columns: readonly { name: string }[]): string {
  return `(${columns.map(({ name }) => name).join(", ")})`;
}

test("a page of rows that every answer updates has room for the next version of each", async () => {
  const rows = await rowsOfQuery(
    pool,
    `select relname::text as table from pg_class
     where relnamespace = current_schema()::regnamespace and 'fillfactor=50' = any (reloptions) order by 1`,
  );

  expect(rows).toEqual([{ table: "instruments" }, { table: "session_bars" }]);
});

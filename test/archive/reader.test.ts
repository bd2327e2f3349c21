import { expect, test } from "@jest/globals";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";

const READER = "quotekeeper_reader";

const { pool } = await freshDatabase();
await pool.query(
  "create schema secrets; create table secrets.keys (key text); insert into secrets.keys values ('x')",
);

/** Runs a statement as the reader, on a connection that is as it was afterwards. */
async function asReader(statement: string): Promise<unknown> {
  const client = await pool.connect();
  try {
    await client.query(`set role ${READER}`);
    return await client.query(statement);
  } finally {
    await client.query("discard all");
    client.release();
  }
}

const RELATIONS = (
  await rowsOfQuery(
    pool,
    `select c.relname as name, c.relkind in ('r', 'p') as is_table from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e') order by 1`,
  )
).map(({ name, is_table }) => ({ name: String(name), isTable: is_table === true }));

test.each(RELATIONS.map(({ name }) => [name]))(
  "quotekeeper_reader reads %s, and deletes nothing from it",
  async (name) => {
    await expect(asReader(`select * from ${name} limit 1`)).resolves.toMatchObject({ command: "SELECT" });
    // 42501: no right to; 55000: a view of several tables, which nobody can.
    await expect(asReader(`delete from ${name}`)).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|55000)$/),
    });
  },
);

test.each(RELATIONS.filter(({ isTable }) => isTable).map(({ name }) => [name]))(
  "quotekeeper_reader writes nothing to %s",
  async (name) => {
    const statements = [
      `insert into ${name} default values`,
      `truncate ${name}`,
      `drop table ${name}`,
      `alter table ${name} add column stray int`,
      `lock table ${name} in access exclusive mode`,
    ];
    for (const statement of statements)
      await expect(asReader(statement)).rejects.toMatchObject({
        code: expect.stringMatching(/^(42501|25P01)$/),
      });
  },
);

test.each([
  ["table", "create table public.stray (id int)"],
  ["schema", "create schema stray"],
  ["function", "create function public.stray() returns int language sql as 'select 1'"],
  ["role", "create role stray"],
  ["database", "create database stray"],
])("quotekeeper_reader makes no %s", async (_what, statement) => {
  await expect(asReader(statement)).rejects.toMatchObject({ code: "42501" });
});

test.each([
  ["another schema", "select * from secrets.keys"],
  ["passwords", "select * from pg_authid"],
  ["the server's files", "select pg_read_file('postgresql.conf')"],
  ["a command of the machine", "copy (select 1) to program 'true'"],
  ["the bars anew", "select recompute_session_bars('2026-01-01', '2026-01-02')"],
])("quotekeeper_reader does not get at %s", async (_what, statement) => {
  await expect(asReader(statement)).rejects.toMatchObject({ code: "42501" });
});

test("quotekeeper_reader is no superuser, owns nothing, and is no member of another role", async () => {
  expect(
    await rowsOfQuery(
      pool,
      `select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls,
              exists (select from pg_auth_members where member = r.oid) as member,
              exists (select from pg_class where relowner = r.oid) as owner
       from pg_roles r where rolname = $1`,
      [READER],
    ),
  ).toEqual([
    {
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolbypassrls: false,
      member: false,
      owner: false,
    },
  ]);
});

/** What somebody else has put where quotekeeper looks names up, and with whose rights it runs: with none of quotekeeper's. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { connectBeside } from "../../src/archive/connect/connect.ts";
import { databaseError } from "../../src/archive/connect/databaseError.ts";
import { currentVersion, migrate } from "../../src/archive/schema/migrations.ts";
import { readSharedSchema } from "../../src/archive/connect/searchPath.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase, poolOn, type TestDatabase } from "../support/database.ts";
import { at } from "../support/journal.ts";
import { until } from "../support/until.ts";

/** A role that may make things in `public`, as everybody may on a server that was upgraded from PostgreSQL 14. */
const MALLORY = `mallory_${process.pid}`;

/** Makes mallory a superuser, if it runs with the rights of one. */
const ESCALATE = `language plpgsql as $$
  begin
    execute 'alter role ${MALLORY} superuser';
    return null;
  end $$`;

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ migrated: false });
  await database.pool.query(`create role ${MALLORY}; grant create on schema public to ${MALLORY}`);
});

// After the databases, which are dropped by then.
afterAll(async () => {
  const url = new URL(database.url);
  url.pathname = "/template1";
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(`drop role ${MALLORY}`);
  await client.end();
});

/** On a session that began before anything was planted. */
async function asMallory(statements: string): Promise<void> {
  await database.pool.query(`set role ${MALLORY}; ${statements}; reset role`);
}

async function mallory(): Promise<unknown> {
  const [row] = await rowsOfQuery(
    database.pool,
    `select rolsuper from pg_catalog.pg_roles where rolname = '${MALLORY}'`,
  );
  return row;
}

/** The code and the words of what refuses to work. */
async function refusalOf(work: Promise<unknown>): Promise<string> {
  return databaseError(await work.then(String, (error: unknown) => error), "db").message;
}

test.each([
  [
    "a function that hides one of PostgreSQL's",
    `create function public.quote_ident(name) returns text ${ESCALATE}`,
    `DATABASE_STRANGERS: db: function public.quote_ident(name) of ${MALLORY} would run with the rights of quotekeeper`,
  ],
  [
    "an operator that hides one of PostgreSQL's",
    `create function public.mine(oid, integer) returns boolean ${ESCALATE};
       create operator public.= (leftarg = oid, rightarg = integer, function = public.mine)`,
    `DATABASE_STRANGERS: db: operator public.= (oid, integer) of ${MALLORY} would run`,
  ],
  [
    "a history of migrations that is a view",
    `create function public.mine() returns text ${ESCALATE};
       create view public.schema_migrations as select 1 as version, ''::text as name, public.mine() as sha256`,
    "DATABASE_OCCUPIED: db: a view called schema_migrations that is not",
  ],
  [
    "a history of migrations with a trigger",
    `create table public.schema_migrations (version integer primary key, name text, sha256 text, applied_at timestamptz);
       create function public.mine() returns trigger ${ESCALATE};
       create trigger t before insert on public.schema_migrations for each row execute function public.mine();
       grant all on public.schema_migrations to public`,
    "DATABASE_OCCUPIED: db: a table called schema_migrations that is not",
  ],
  [
    "a type that the move to TimescaleDB would use",
    `create function public.mine(numeric) returns boolean ${ESCALATE};
       create domain public.dictionary_numeric as numeric check (public.mine(value))`,
    "DATABASE_OCCUPIED: db: a type called dictionary_numeric that is not",
  ],
])(
  "a database in which somebody has planted %s is refused before anything is made, and mallory gains nothing",
  async (_what, planted, refusal) => {
    await asMallory(planted);
    const relations = "select relname from pg_class where relnamespace = 'public'::regnamespace";
    const before = await rowsOfQuery(database.pool, relations);
    const pool = poolOn(database.url);

    expect(await refusalOf(migrate(pool, at(0)))).toContain(refusal);

    expect(await mallory()).toEqual({ rolsuper: false });
    const made = await rowsOfQuery(database.pool, relations);
    expect(made.filter(({ relname }) => !/^migration_lock$/.test(String(relname)))).toEqual(before);
    await asMallory(`drop owned by ${MALLORY}`);
    await database.pool.query(
      `drop table if exists migration_lock; grant create on schema public to ${MALLORY}`,
    );
  },
);

test("a database that was cleaned of planted objects is migrated by the same pool, and functions that write have a path of their own", async () => {
  await asMallory(`create function public.quote_ident(name) returns text ${ESCALATE}`);
  const pool = poolOn(database.url);
  await refusalOf(migrate(pool, at(0)));
  await asMallory("drop function public.quote_ident(name)");

  expect((await migrate(pool, at(0))).warnings).toEqual([]);

  const open = await rowsOfQuery(
    pool,
    `select oid::regprocedure from pg_proc
       where pronamespace = 'public'::regnamespace and provolatile = 'v' and proconfig is null
         and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')`,
  );
  expect(open).toEqual([]);
});

test("an overload of the archive's own function is refused to sessions that write and to those that read, and none of them stays", async () => {
  const { pool } = database;
  const sessions = () =>
    rowsOfQuery(
      pool,
      "select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'",
    );
  const before = new Set((await sessions()).map(({ pid }) => pid));
  await asMallory(`create function public.keep_bars_of_dropped(text, timestamptz) returns text ${ESCALATE}`);
  const refusal = `DATABASE_STRANGERS: db: function public.keep_bars_of_dropped(text, timestamp with time zone) of ${MALLORY} would run`;

  expect(await refusalOf(currentVersion(poolOn(database.url)))).toContain(refusal);
  expect(await refusalOf(poolOn(database.url, { readOnly: true }).query("select 1"))).toContain(refusal);
  expect(await refusalOf(connectBeside(pool))).toContain(refusal);

  const isOver = async () => (await sessions()).every(({ pid }) => before.has(pid));
  await until(isOver, "the end of the refused sessions");
  await asMallory("drop function public.keep_bars_of_dropped(text, timestamptz)");
});

test("a planted object that hides nothing, and a schema in which everybody may make functions, are named with what to do and stop nothing", async () => {
  const { pool } = database;
  await asMallory(`create function public.mine() returns text ${ESCALATE}`);

  const { warnings } = await migrate(poolOn(database.url), at(0));
  await pool.query("grant create on schema public to public");
  const said = await readSharedSchema(pool);
  await pool.query("revoke create on schema public from public");

  expect(warnings).toEqual([
    `the schema public has function public.mine() of ${MALLORY}: drop it, or move it to another schema`,
  ]);
  expect(said).toBe(
    `everybody may create functions in the schema public: run \`revoke create on schema public from public\`; ${warnings.join()}`,
  );
});

test("an archive in a schema of its own is found there, whatever schema comes first later, and nothing else is looked at", async () => {
  const { pool, url, name } = await freshDatabase({ migrated: false });
  await pool.query(`create schema keeper; alter database ${name} set search_path = keeper, public`);
  await migrate(poolOn(url), at(0));
  await pool.query(
    `create schema tools; alter database ${name} set search_path = tools, keeper, public, pg_catalog`,
  );
  const [owner, reader] = [poolOn(url), poolOn(url, { readOnly: true })];
  await owner.query("select 1");
  const beside = await connectBeside(owner);

  for (const session of [owner, reader, beside])
    expect((await (session as pg.Pool).query("show search_path")).rows).toEqual([{ search_path: "keeper" }]);
  expect((await migrate(owner, at(0))).applied).toEqual([]);
  expect(
    await rowsOfQuery(
      owner,
      `select distinct proconfig from pg_proc
       where pronamespace = 'keeper'::regnamespace and provolatile = 'v'
         and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')`,
    ),
  ).toEqual([{ proconfig: ["search_path=keeper"] }]);

  await beside.end();
});

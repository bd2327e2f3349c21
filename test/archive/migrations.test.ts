import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { readHistory, statementsOf } from "../../src/archive/schema/history.ts";
import { currentVersion, migrate } from "../../src/archive/schema/migrations.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { dumpSchema } from "../../scripts/schema/dump.ts";
import { rowsOfQuery } from "../support/archive.ts";

const NOW = "2026-11-20T22:50:00.000000Z";
const empty = () => freshDatabase({ migrated: false });

/** What the schema consists of: every relation, column, constraint, index and what was applied. */
async function shapeOf({ pool }: { pool: Awaited<ReturnType<typeof empty>>["pool"] }): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull
     from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'public'::regnamespace
     union all select conname, contype, pg_get_constraintdef(oid), null, null from pg_constraint
       where connamespace = 'public'::regnamespace
     union all select name, 'm', sha256, version::text, null from schema_migrations
     order by 1, 2, 3`,
  );
  return rows;
}

test("a migration brings an empty database to the newest version, and asking for the version changes nothing", async () => {
  const { pool } = await empty();
  const { migrations, repeated } = await readHistory();

  expect(await currentVersion(pool)).toBe(0);
  expect((await pool.query("select to_regclass('schema_migrations') as there")).rows).toEqual([
    { there: null },
  ]);
  const report = await migrate(pool, NOW);

  const applied = [...migrations, ...repeated].map(({ name }) => name);
  expect(report).toEqual({ version: migrations.at(-1)?.version, applied, toRebuild: null, warnings: [] });
  expect(await currentVersion(pool)).toBe(report.version);
});

test("twenty migrations at the same time are done by one of them, and the others change nothing", async () => {
  const database = await empty();
  const pools = Array.from({ length: 20 }, () => poolOn(database.url, { max: 1 }));

  const reports = await Promise.all(pools.map((pool) => migrate(pool, NOW)));

  expect(reports.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
  const alone = await empty();
  await migrate(alone.pool, NOW);
  expect(await shapeOf(database)).toEqual(await shapeOf(alone));
});

test("a migration of a database that is newer than the program is refused, and nothing is changed", async () => {
  const { pool } = await freshDatabase();
  await pool.query(
    "insert into schema_migrations (version, name, sha256) values (9999, '9999_future.sql', '')",
  );

  await expect(migrate(pool, NOW)).rejects.toMatchObject({
    code: "DATABASE_NEWER",
    message: expect.stringContaining("9999"),
  });
  await expect(migrate(pool, NOW)).rejects.toMatchObject({ code: "DATABASE_NEWER" });
});

test("a migration whose file was edited after it was applied is refused, and the file is named", async () => {
  const { pool } = await empty();
  const history = await readHistory();
  const next = { version: 5000, name: "5000_next.sql", sha256: "next", sql: "select 1" };
  const withNext = (sha256: string) => ({
    ...history,
    migrations: [...history.migrations, { ...next, sha256 }],
  });
  await migrate(pool, NOW, { files: withNext("next") });

  await expect(migrate(pool, NOW, { files: withNext("edited") })).rejects.toMatchObject({
    code: "MIGRATION_CHANGED",
    message: expect.stringContaining("5000_next.sql"),
  });
});

test("a database that an earlier text of a migration left as the present one does is taken as it is", async () => {
  const { pool } = await freshDatabase();
  const { migrations } = await readHistory();
  const rewritten = migrations.filter(({ formerly = [] }) => formerly.length > 0);
  for (const { version, formerly } of rewritten)
    await pool.query("update schema_migrations set sha256 = $2 where version = $1", [version, formerly?.[0]]);

  expect(rewritten.map(({ name }) => name)).toEqual(["0036_class_shares.sql"]);
  await expect(migrate(pool, NOW)).resolves.toMatchObject({ applied: [] });
});

test("a migration of a database older than version 24 is refused, and nothing is changed", async () => {
  const { pool } = await freshDatabase();
  await pool.query("delete from schema_migrations");
  await pool.query("insert into schema_migrations (version, name, sha256) values (23, '0023_old.sql', '')");

  await expect(migrate(pool, NOW)).rejects.toMatchObject({
    code: "DATABASE_TOO_OLD",
    message: expect.stringContaining(
      "is at schema version 23, this program takes over databases from version 24 on",
    ),
  });
  expect(await currentVersion(pool)).toBe(23);
});

test("a migration one of whose statements fails is undone as a whole: the files before it stay, it is tried again the next time", async () => {
  const { pool } = await empty();
  const history = await readHistory();
  const next = { version: 5000, name: "5000_half.sql", sha256: "half" };
  const withNext = (sql: string) => ({
    ...history,
    migrations: [...history.migrations, { ...next, sql }],
  });

  await expect(
    migrate(pool, NOW, { files: withNext("create table half (id int); select 1 / 0") }),
  ).rejects.toMatchObject({ code: "22012" });

  expect(await currentVersion(pool)).toBe(history.migrations.at(-1)?.version);
  expect((await pool.query("select to_regclass('half') as there")).rows).toEqual([{ there: null }]);
  const { applied } = await migrate(pool, NOW, { files: withNext("create table half (id int)") });
  expect(applied).toContain("5000_half.sql");
});

test("a text of repeat/ that was changed is applied by the next migration, and by no other", async () => {
  const { pool } = await freshDatabase();
  const history = await readHistory();
  const sql =
    "create or replace function log_return(close numeric, before numeric) returns numeric language sql immutable parallel safe as 'select 7.0'";
  const repeated = history.repeated.map((text) =>
    text.name === "10_time_and_names.sql" ? { ...text, sql, sha256: "changed" } : text,
  );

  const first = await migrate(pool, NOW, { files: { ...history, repeated } });
  const second = await migrate(pool, NOW, { files: { ...history, repeated } });

  expect([first.applied, second.applied]).toEqual([["10_time_and_names.sql"], []]);
  expect((await pool.query("select log_return(1, 2) as value")).rows).toEqual([{ value: "7.0" }]);
});

test("files that are applied once are the ones whose SHA-256 stands in migrations/checksums.txt: none is ever edited", async () => {
  const kept = readFileSync("migrations/checksums.txt", "utf8").trim().split("\n");
  const { migrations, earlier } = await readHistory();

  const found = [...earlier, ...migrations].map(({ name, sha256 }) => `${sha256}  ${name}`);

  expect(found).toEqual(kept);
});

test("a script is taken apart at the semicolons between its statements, not at those in quotes, in a body or in a comment", () => {
  const statements = [
    "-- Of a; comment's sake.\nalter table a add column b text default 'x;''y'",
    "\ndo $$ begin perform 1; end $$",
    "\nselect 1",
  ];
  const sql = `${statements.join(";")};\n-- The end; of it.\n`;

  expect(statementsOf({ name: "one.sql", sha256: "", sql })).toEqual(statements);
});

test("files that are applied once are numbered without a gap, and each says in its first line why it is there", async () => {
  const { migrations, earlier } = await readHistory();
  const files = [...earlier, ...migrations];

  expect(files.map(({ version }) => version)).toEqual(files.map((_, place) => 25 + place));
  for (const { sql } of files) expect(sql).toMatch(/^-- \S.{10,}\n/);
});

test("a view of somebody's own that is made of a function that changes is named, and stays until it is dropped", async () => {
  const { pool } = await empty();
  await migrate(pool, NOW);
  await pool.query("delete from schema_migrations where version >= 32; delete from schema_texts");
  await pool.query(
    "create view mine as select * from quotes_at(now()); create view also as select * from mine",
  );

  await expect(migrate(pool, NOW)).rejects.toThrow(/^mine is made of a function or view/u);
  expect(await rowsOfQuery(pool, "select count(*)::int as n from also")).toEqual([{ n: 0 }]);
  await pool.query("drop view mine cascade");
  await migrate(pool, NOW);

  expect(await dumpSchema(pool)).toBe(readFileSync("test/schema.sql", "utf8"));
});

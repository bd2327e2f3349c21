/** Databases that answer and take no archive: why, and what to do. */
import { randomBytes } from "node:crypto";
import { afterAll, expect, test } from "@jest/globals";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { databaseError } from "../../src/archive/connect/databaseError.ts";
import { explain } from "../../src/archive/connect/explain.ts";
import { loadAll, startLoader } from "../../src/archive/load/loader.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { countsOf } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn, type TestDatabase } from "../support/database.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { tempDir } from "../support/tempDir.ts";
import { unlessOnCitus } from "../support/unlessOnCitus.ts";
import { answerXml, equityXml } from "../support/xml.ts";

/** Citus has relations of its own in the schema, and its nodes let in nobody who may not log in. */
const testBeside = unlessOnCitus("who may not make tables there, and whose tables stand beside.");

const roles: string[] = [];
const home = new URL((await freshDatabase({ migrated: false })).url);
home.pathname = "/postgres";
const admin = createPool(home.href);
afterAll(async () => {
  // The databases, and with them all that the roles own, are gone by now.
  for (const role of roles) await admin.query(`drop role ${role}`);
  await admin.end();
});

/** A role that may do nothing. */
async function makeRole(): Promise<string> {
  const role = `limited_${randomBytes(4).toString("hex")}`;
  roles.push(role);
  await admin.query(`create role ${role}`);
  return role;
}

/** What a pool's use of the database ends with, as an operator reads it. */
async function messageOf(pool: pg.Pool, work: (pool: pg.Pool) => Promise<unknown>): Promise<string> {
  const error: unknown = await work(pool).then(
    () => new Error("it went well"),
    (reason: unknown) => reason,
  );
  return databaseError(await explain(pool, error), "127.0.0.1:5432/db").message;
}

const migrating = (pool: pg.Pool) => migrate(pool, at(0));

/** A pool whose sessions are a role's from their first statement on. */
async function poolAs(database: TestDatabase, role: string): Promise<pg.Pool> {
  await admin.query(`alter database ${database.name} set role = '${role}'`);
  return poolOn(database.url);
}

test("a database that is read only by its own setting is named with the statement that undoes it, and that works", async () => {
  const { name, url } = await freshDatabase({ migrated: false });
  await admin.query(`alter database ${name} set default_transaction_read_only = on`);

  const message = await messageOf(poolOn(url), migrating);

  expect(message).toMatch(
    /^DATABASE_READ_ONLY: 127.0.0.1:5432\/db: the database is set to read only for \w+: run `/,
  );
  const [, remedy = ""] = /`(.*)`/.exec(message) ?? [];
  const operator = await poolOn(url).connect();
  for (const statement of remedy.split("; ")) await operator.query(statement);
  operator.release(true);
  expect((await migrate(poolOn(url), at(0))).version).toBeGreaterThan(0);
});

test("a database that is read only by its user's setting is named with that setting", async () => {
  const { url, pool, name } = await freshDatabase({ migrated: false });
  const { rows } = await pool.query<{ user: string }>("select current_user as user");
  await admin.query(`alter role ${rows[0]?.user} in database ${name} set default_transaction_read_only = on`);

  const message = await messageOf(poolOn(url), migrating);

  expect(message).toContain(
    `alter role ${rows[0]?.user} in database ${name} reset default_transaction_read_only`,
  );
});

test("a database that is read only by the address's options is named with those options", async () => {
  const { url } = await freshDatabase();
  const address = new URL(url);
  address.searchParams.set("options", "-c default_transaction_read_only=on");

  const message = await messageOf(poolOn(address.href), migrating);

  expect(message).toContain("take it out of the options of DATABASE_URL");
});

testBeside(
  "a missing right to make tables is named with the statement that grants it, and that is enough",
  async () => {
    const database = await freshDatabase({ migrated: false });
    const pool = await poolAs(database, await makeRole());

    const message = await messageOf(pool, migrating);

    expect(message).toMatch(
      /^DATABASE_RIGHTS_MISSING: .* may not create tables in the schema public of \w+: run `/,
    );
    const [, remedy = ""] = /`(grant .*)`/.exec(message) ?? [];
    const operator = await pool.connect();
    await operator.query("reset role");
    await operator.query("set role none");
    await operator.query(remedy);
    operator.release(true);
    expect((await migrating(pool)).version).toBeGreaterThan(0);
  },
);

test("a missing right to any schema is named", async () => {
  const database = await freshDatabase({ migrated: false });
  await database.pool.query("revoke all on schema public from public");
  const pool = await poolAs(database, await makeRole());

  expect(await messageOf(pool, migrating)).toMatch(
    /may use no schema of its search path: run `grant usage, create on/,
  );
});

test("a missing right to tables of another role is named with both roles", async () => {
  const database = await freshDatabase();
  const role = await makeRole();
  await database.pool.query(`grant create on schema public to ${role}`);
  const pool = await poolAs(database, role);

  const message = await messageOf(pool, () =>
    pool.query("insert into sources (name, kind) values ('a', 'import')"),
  );

  expect(message).toMatch(/^DATABASE_RIGHTS_MISSING: .*permission denied for table sources/);
  expect(message).toMatch(
    new RegExp(`the role ${role} does not own .* and \\d+ more, which \\w+ does: use that role`),
  );
});

testBeside("an archive is made beside tables of another role", async () => {
  const database = await freshDatabase({ migrated: false });
  const role = await makeRole();
  await database.pool.query(`create table orders (x int); grant create on schema public to ${role}`);

  const { version } = await migrating(await poolAs(database, role));

  expect(version).toBeGreaterThan(0);
});

test("an error that blames no setting stays as it came", async () => {
  const { pool } = await freshDatabase();
  const error = await pool.query("select nothing").catch((reason: unknown) => reason);

  expect(await explain(pool, error)).toBe(error);
});

test("a loader whose database becomes read only says so, tries every 30 s, and goes on by itself afterwards", async () => {
  const { name, url, pool: watcher } = await freshDatabase();
  const journalDir = tempDir();
  const answer = (second: number) => answerRecord(at(second), answerXml(equityXml("A")));
  await appendAll(journalDir, [answer(0)]);
  await admin.query(`alter database ${name} set default_transaction_read_only = on`);
  const clock = createTestClock(undefined, {
    onSleep: async () => {
      await appendAll(journalDir, [answer(60)], { clock: createTestClock(at(60)) });
      await admin.query(`alter database ${name} reset default_transaction_read_only`);
    },
  });
  const failures: { error: unknown; waitMs: number }[] = [];
  const pool = poolOn(url);
  let loader: ReturnType<typeof startLoader> | undefined;

  await new Promise<void>((resolve) => {
    const onFailure = (error: unknown, waitMs: number) => void failures.push({ error, waitMs });
    loader = startLoader({ pool, journalDir, clock, onFailure, onRecovered: resolve });
  });
  await loader?.close(1_000);

  expect(failures).toMatchObject([{ waitMs: 30_000, error: { code: "DATABASE_READ_ONLY" } }]);
  expect(await countsOf(watcher)).toMatchObject({ responses: 2 });
  expect((await loadAll({ pool, journalDir, clock })).responses).toBe(0);
});

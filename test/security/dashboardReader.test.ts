/** What a statement that somebody smuggled into the dashboard could do: nothing but read the archive. */
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { readWithoutReader } from "../../src/archive/schema/readerRole.ts";
import { openArchive } from "../../src/archive/openArchive.ts";
import { systemClock, instantFromDate } from "../../src/ground/clock.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { makeServerDir, openOwnServer, type OwnServer } from "../support/postgres/server.ts";

// A server of its own: roles belong to a server, and other tests need theirs.
const dir = makeServerDir();
let server: OwnServer;
let admin: pg.Pool;
beforeAll(async () => {
  server = await openOwnServer(dir);
  admin = createPool(server.url);
  // Others may log in too.
  appendFileSync(
    join(dir, "postgres", "pg_hba.conf"),
    "\nhost all maker,limited,dashboard 127.0.0.1/32 trust\n",
  );
  await admin.query("select pg_reload_conf()");
  // What PostgreSQL 16 gives to whoever makes a role, as a migration does where it may: no right to take it yet.
  await admin.query(
    `create role maker createrole login; create role limited login;
     grant quotekeeper_reader to maker with admin true, inherit false, set false`,
  );
  for (const owner of ["maker", "limited"]) await admin.query(`create database ${owner} owner ${owner}`);
  for (const url of [urlOf("maker"), urlOf("limited"), server.url]) await migrated(url);
  await admin.query("create role dashboard login in role quotekeeper_reader");
});
afterAll(async () => {
  await admin.end();
  await server.close();
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

function urlOf(owner: string, user = owner): string {
  return `postgresql://${user}@${new URL(server.url).host}/${owner}`;
}

async function migrated(url: string): Promise<void> {
  const pool = createPool(url);
  await migrate(pool, instantFromDate(systemClock.now()));
  await pool.end();
}

/** The dashboard's own connections under some settings. */
async function dashboardOf<T>(env: Record<string, string>, look: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const archive = await openArchive(loadConfig({ QUOTEKEEPER_DATA_DIR: dir, ...env }, dir), systemClock);
  const reader = archive.openReader();
  try {
    return await look(reader);
  } finally {
    await reader.end();
    await archive.close();
  }
}

const users = async (pool: pg.Pool): Promise<unknown> =>
  (await rowsOfQuery(pool, "select session_user, current_user"))[0];

/** Ways back to the rights of who logged in. */
const ESCAPES = ["reset role", "set role none", "set session authorization default"];

const ATTACKS = [
  "delete from quotes",
  "insert into sources (id, name, kind) values (98, 'x', 'import')",
  "update instruments set symbol = 'X'",
  "truncate dead_letters",
  "drop table slots",
  "create table public.mine (id int)",
  "create role mine superuser",
  "select pg_read_file('postgresql.conf')",
  "select * from pg_authid",
  "copy (select 1) to program 'true'",
];

/** The SQLSTATEs of the attacks, each after the session was told that it may write. */
async function attack(pool: pg.Pool, before: readonly string[] = []): Promise<Set<unknown>> {
  const client = await pool.connect();
  try {
    const found = new Set<unknown>();
    for (const escape of ["select 1", ...before]) {
      await client.query(`${escape}; set default_transaction_read_only = off`);
      for (const statement of ATTACKS) {
        await client.query("begin");
        found.add(
          await client.query(statement).then(
            () => `${escape}: ${statement}`,
            ({ code }: { code?: string }) => code,
          ),
        );
        await client.query("rollback");
      }
    }
    return found;
  } finally {
    client.release(true);
  }
}

/** What was not refused for want of a right (42501, insufficient_privilege). */
const allowed = (found: Set<unknown>): unknown[] => [...found].filter((code) => code !== "42501");

test("a statement that was smuggled into the dashboard can only read on the embedded database, whose reader it logs in as", async () => {
  await dashboardOf({}, async (pool) => {
    expect(await users(pool)).toEqual({
      session_user: "quotekeeper_viewer",
      current_user: "quotekeeper_reader",
    });
    expect(allowed(await attack(pool, ESCAPES))).toEqual([]);
  });
});

test("a statement that was smuggled into the dashboard can only read on a server of one's own whose user may make roles: it has taken the reader's", async () => {
  await dashboardOf({ DATABASE_URL: urlOf("maker") }, async (pool) => {
    expect(await users(pool)).toEqual({ session_user: "maker", current_user: "quotekeeper_reader" });
    expect(await rowsOfQuery(pool, "select * from latest_quotes")).toEqual([]);
    expect(allowed(await attack(pool))).toEqual([]);
  });
});

test("a statement that was smuggled into the dashboard can only read, even where its user is a superuser", async () => {
  await dashboardOf({ DATABASE_URL: server.url }, async (pool) =>
    expect(allowed(await attack(pool))).toEqual([]),
  );
});

test("a statement that was smuggled into the dashboard can only read on a server of one's own with DATABASE_READER_URL, whatever role it takes", async () => {
  const env = { DATABASE_URL: urlOf("maker"), DATABASE_READER_URL: urlOf("maker", "dashboard") };

  await dashboardOf(env, async (pool) => {
    expect(await users(pool)).toEqual({ session_user: "dashboard", current_user: "quotekeeper_reader" });
    expect(await rowsOfQuery(pool, "select * from latest_quotes")).toEqual([]);
    expect(allowed(await attack(pool, ESCAPES))).toEqual([]);
  });
});

test("where its user may not take the reader's role, the dashboard works, says so and what to do, until he may", async () => {
  const env = { DATABASE_URL: urlOf("limited") };
  const look = () =>
    dashboardOf(env, async (pool) => ({
      ...((await users(pool)) as object),
      said: await readWithoutReader(pool),
      refused: await pool.query("delete from quotes").catch(({ code }: { code?: string }) => code),
    }));

  const before = await look();
  await admin.query("grant quotekeeper_reader to limited");
  const after = await look();

  expect(before).toMatchObject({
    current_user: "limited",
    said: expect.stringMatching(
      /all rights of limited: .*`grant quotekeeper_reader to limited`, or set DATABASE_READER_URL/,
    ),
    refused: "25006",
  });
  expect(after).toMatchObject({ current_user: "quotekeeper_reader", said: null });
});

test("a reader's address without that of the database is refused: the embedded database has its own", () => {
  const address = "postgresql://canary:canary@127.0.0.1/x";

  expect(() => loadConfig({ DATABASE_READER_URL: address }, dir)).toThrow(
    /DATABASE_READER_URL is set, and DATABASE_URL is not/,
  );
});

/** A server whose user may not make roles: the archive works without `quotekeeper_reader`, and says how to get it. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { runProgram } from "../../src/cli/program.ts";
import { capturedEdges, run } from "../cli/edges.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { makeServerDir, openOwnServer, type OwnServer } from "../support/postgres/server.ts";
import { tempDir } from "../support/tempDir.ts";

// A server of its own: roles belong to a server, and other tests need theirs.
// Its directory is no tempDir(): that one would go before the server has ended.
const serverDir = makeServerDir();
let server: OwnServer;
let admin: pg.Pool;
beforeAll(async () => {
  server = await openOwnServer(serverDir);
  admin = createPool(server.url);
  await admin.query("drop owned by quotekeeper_reader; drop role quotekeeper_reader; create role limited");
}, 120_000);
afterAll(async () => {
  await admin.end();
  await server.close();
  rmSync(serverDir, { recursive: true, force: true, maxRetries: 10 });
});

/** An empty database that belongs to a role which may not make roles, and is used as that role. */
async function limitedDatabase(name: string) {
  await admin.query(`create database ${name} owner limited`);
  await admin.query(`alter database ${name} set role = 'limited'`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const dir = tempDir();
  mkdirSync(join(dir, "jobs"));
  writeFileSync(
    join(dir, "jobs", "job.yaml"),
    'name: job\nschedule: "* * * * *"\nsession: always\nsymbols: [AAPL]\n',
  );
  return {
    DATABASE_URL: url.href,
    QUOTEKEEPER_DATA_DIR: join(dir, "data"),
    QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"),
  };
}

const REMEDY =
  /have an administrator run `create role quotekeeper_reader; grant quotekeeper_reader to \w+`, then run `quotekeeper migrate`/;

test("all works without the role, what to do is said by migrate, status and collect, and migrate then gives its rights", async () => {
  const env = await limitedDatabase("without");

  const migrated = await run(["migrate"], env);
  const polled = await run(["poll", "--symbols", "AAPL"], env);
  const status = await run(["status"], env);
  const { edges, stderr, stdout, interrupt } = capturedEdges({ env });
  let isOver = false;
  const ended = runProgram(["collect"], edges).finally(() => (isOver = true));
  while (!REMEDY.test(stderr()) && !isOver) await new Promise(setImmediate);
  interrupt();
  const collected = await ended;

  expect(migrated).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining("applied 0029_baseline.sql"),
  });
  expect(migrated.stderr).toMatch(
    /There is no role quotekeeper_reader for people's tools and the dashboard, for limited may not make/,
  );
  expect(migrated.stderr).toMatch(REMEDY);
  expect(polled).toMatchObject({ exitCode: 0 });
  expect(status.stdout).toMatch(/^database +ok .* no role quotekeeper_reader: have an administrator run/m);
  expect(collected).toBe(0);
  expect(stderr().match(new RegExp(REMEDY, "g"))).toHaveLength(1);
  expect(stdout()).not.toContain("quotekeeper_reader");

  await admin.query("create role quotekeeper_reader");
  const again = await run(["migrate"], env);
  const named = await run(["status"], env);
  const pool = createPool(env.DATABASE_URL);
  const [rights] = await rowsOfQuery(
    pool,
    `select bool_and(has_table_privilege('quotekeeper_reader', oid, 'select')) as reads,
            bool_or(has_table_privilege('quotekeeper_reader', oid, 'insert')) as writes, count(*) > 20 as all_of_them
     from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')`,
  );
  await pool.query("create table later (x int)");
  const [later] = await rowsOfQuery(
    pool,
    "select has_table_privilege('quotekeeper_reader', 'later', 'select') as reads",
  );
  await pool.query("revoke select on dead_letters from quotekeeper_reader");
  await run(["migrate"], env);
  const [revoked] = await rowsOfQuery(
    pool,
    "select has_table_privilege('quotekeeper_reader', 'dead_letters', 'select') as reads",
  );
  await pool.end();

  expect(again).toMatchObject({ exitCode: 0, stderr: "" });
  expect(named.stdout).not.toContain("no role");
  expect(rights).toEqual({ reads: true, writes: false, all_of_them: true });
  expect(later).toEqual({ reads: true });
  expect(revoked).toEqual({ reads: false });
});

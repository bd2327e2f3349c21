/** A database that answers and does not take the archive: what each command says of it, and what goes on. */
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { createPool } from "../../src/archive/connect/connect.ts";
import { prepareSchema } from "../../src/cli/collecting.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Archive } from "../../src/archive/openArchive.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock, patientClock } from "../support/clock.ts";
import { freshDatabase, poolOn, type TestDatabase } from "../support/database.ts";
import { silentLog } from "../support/silentLog.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { capturedEdges, run } from "./edges.ts";

const FOREIGN = "create table quotes (ticker text)";

const home = new URL((await freshDatabase({ migrated: false })).url);
home.pathname = "/postgres";
const admin = createPool(home.href);
afterAll(() => admin.end());

const makeReadOnly = ({ name }: TestDatabase) =>
  admin.query(`alter database ${name} set default_transaction_read_only = on`);
const makeWritable = ({ name }: TestDatabase) =>
  admin.query(`alter database ${name} reset default_transaction_read_only`);

function settings({ url }: Pick<TestDatabase, "url">) {
  const dir = tempDir();
  mkdirSync(join(dir, "jobs"));
  writeFileSync(
    join(dir, "jobs", "job.yaml"),
    'name: job\nschedule: "* * * * *"\nsession: always\nsymbols: [AAPL]\n',
  );
  return {
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: join(dir, "data"),
    QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"),
    QUOTEKEEPER_HTTP_PORT: "0",
  };
}

const journalled = ({ QUOTEKEEPER_DATA_DIR: dir }: { QUOTEKEEPER_DATA_DIR: string }): number => {
  const journal = join(dir, "journal");
  if (!existsSync(journal)) return 0;
  return readdirSync(journal).reduce((sum, name) => sum + statSync(join(journal, name)).size, 0);
};

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

/** A command that goes on until it is ended, in this process. */
function going(command: "start" | "collect" | "web", env: ReturnType<typeof settings>) {
  const { clock, passWaits } = patientClock();
  const { edges, stdout, stderr, interrupt, said } = capturedEdges({ env, clock });
  const ended = runProgram([command], edges);
  const end = async (): Promise<number> => {
    interrupt();
    return ended;
  };
  ends.push(end);
  return { stdout, stderr, said, passWaits, end };
}

const line = (subject: string, { stdout }: { stdout: string }): string =>
  new RegExp(`^${subject} .*$`, "m").exec(stdout)?.[0] ?? "";

test("while a foreign table is in the way, collecting continues into the journal, and loads when the table is gone", async () => {
  const database = await freshDatabase({ migrated: false });
  await database.pool.query(FOREIGN);
  const env = settings(database);

  const { stderr, passWaits, end } = going("collect", env);
  const statePath = join(env.QUOTEKEEPER_DATA_DIR, "loader.json");
  await until(() => journalled(env) > 0 && existsSync(statePath), "an answer, and a loader that is stuck");
  const stuck = await run(["status"], env);
  const { mode } = statSync(statePath);
  await database.pool.query("drop table quotes");
  const loaded = () =>
    rowsOfQuery(database.pool, "select 1 from responses").then(
      (rows) => rows.length > 0,
      () => false,
    );
  await until(async () => {
    passWaits();
    return (await loaded()) && !existsSync(statePath);
  }, "everything loaded");
  const mended = await run(["status"], env);
  const exitCode = await end();

  expect(stderr()).toMatch(
    /DATABASE_OCCUPIED: .*a table called quotes that is not quotekeeper's is in the way.*Collection goes on meanwhile/,
  );
  expect(line("database", stuck)).toMatch(
    /ATTENTION DATABASE_OCCUPIED: .*a table called quotes that is not quotekeeper's is in the way/,
  );
  expect(mode & 0o777).toBe(0o600);
  expect(line("database", mended)).toMatch(/^database +ok /);
  expect(exitCode).toBe(0);
});

test("while the database is read only, collecting continues into the journal; start then exits with 1", async () => {
  const database = await freshDatabase({ migrated: false });
  await makeReadOnly(database);
  const env = settings(database);

  const { stdout, stderr, end } = going("start", env);
  await until(() => journalled(env) > 0, "an answer in the journal");
  const exitCode = await end();

  expect(exitCode).toBe(1);
  expect(stderr()).toMatch(/DATABASE_READ_ONLY: .*Collection goes on meanwhile/);
  expect(stdout()).toContain("the rest is safe in the journal and is loaded at the next start");
});

test.each([
  ["with a database that does not exist", "DATABASE_REFUSED", "select 1"],
  [
    "with a schema that is newer than the program",
    "DATABASE_NEWER",
    "insert into schema_migrations (version, name, sha256) values (9999, '9999_future.sql', '')",
  ],
])("collecting does not begin: %s, exit code 1", async (_what, code, sql) => {
  const database = await freshDatabase();
  await database.pool.query(sql);
  const env = settings(database);
  const url = code === "DATABASE_REFUSED" ? `${database.url}_of_no_such_name` : database.url;

  const { exitCode, stderr } = await run(["collect"], { ...env, DATABASE_URL: url });

  expect(exitCode).toBe(1);
  expect(stderr).toContain(code);
  expect(journalled(env)).toBe(0);
});

test("status says what another process's loader met, and since when, until it loads again", async () => {
  const database = await freshDatabase();
  const env = settings(database);
  // Whoever only looks sees nothing of this: a table that the loader alone writes to refuses every row.
  await database.pool.query(
    `create function refuse() returns trigger language plpgsql as
         $$ begin raise exception 'prepared statement "s1" already exists' using errcode = '42P05'; end $$;
       create trigger refuse before insert or update on journal_positions for each row execute function refuse()`,
  );

  const { passWaits, end } = going("collect", env);
  await until(() => existsSync(join(env.QUOTEKEEPER_DATA_DIR, "loader.json")), "a loader that is stuck");
  const stuck = await run(["status"], env);
  const json = await run(["status", "--json"], env);
  await database.pool.query("drop trigger refuse on journal_positions");
  await until(async () => {
    passWaits();
    return /^database +ok/m.test((await run(["status"], env)).stdout);
  }, "everything loaded");
  const exitCode = await end();

  expect(stuck.exitCode).toBe(1);
  expect(line("database", stuck)).toMatch(
    /ATTENTION DATABASE_POOLED: .*42P05 .*Loading has failed since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d New York\.$/,
  );
  expect(JSON.parse(json.stdout)).toMatchObject({ healthy: false });
  expect(exitCode).toBe(0);
});

const NAMED =
  /DATABASE_OCCUPIED: .*a table called quotes that is not quotekeeper's is in the way\. Give quotekeeper a/;

async function occupied() {
  const database = await freshDatabase({ migrated: false });
  await database.pool.query(FOREIGN);
  return { ...database, env: settings(database) };
}

test.each([
  ["migrate", ["migrate"]],
  ["status", ["status"]],
  ["coverage", ["coverage"]],
  ["export", ["export", "--format", "csv", "--out", join(tempDir(), "out")]],
  ["serve", ["serve", "--source", "archive", "--port", "0"]],
])("a foreign table called quotes is named, exit code 1, by %s", async (_name, argv) => {
  const { env, pool } = await occupied();

  const { exitCode, stdout, stderr } = await run(argv, env);

  expect(exitCode).toBe(1);
  expect(stdout + stderr).toMatch(NAMED);
  const made = await rowsOfQuery(
    pool,
    // Citus puts views of its own there.
    "select relname from pg_class where relnamespace = 'public'::regnamespace and relname not like 'citus%'",
  );
  expect(made).toEqual([{ relname: "quotes" }]);
});

test("poll, which keeps its answer, and backfill name a foreign table called quotes, exit code 1", async () => {
  const { env } = await occupied();

  const polled = await run(["poll", "--symbols", "AAPL"], env);
  const kept = journalled(env);
  const filled = await run(["backfill", "--journal"], env);

  expect(kept).toBeGreaterThan(0);
  for (const { exitCode, stderr } of [polled, filled]) {
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(NAMED);
  }
});

test("a dashboard that meets a foreign table called quotes is not ready and names it", async () => {
  const { env } = await occupied();
  const { said, end } = going("web", env);
  const [, address = ""] = await said(/^Dashboard {2}(\S+)/m);

  const quotes = await fetch(`${address}/api/quotes`);
  const ready = await fetch(`${address}/readyz`);
  const named = await until(async () => {
    const now = await (await fetch(`${address}/api/now`)).text();
    return now.includes("a table called quotes that is not quotekeeper's");
  }, "the foreign table on Now");
  await end();

  expect(await quotes.json()).toMatchObject({ error: { code: "DATABASE_OCCUPIED", person: true } });
  expect(ready.status).toBe(503);
  expect(named).toBe(true);
});

async function readOnly() {
  const database = await freshDatabase();
  const env = settings(database);
  await run(["poll", "--symbols", "AAPL"], env);
  await makeReadOnly(database);
  return { database, env };
}

test("coverage, export and the dashboard read an archive that is read only", async () => {
  const { env } = await readOnly();

  const coverage = await run(["coverage"], env);
  const files = await run(["export", "--format", "csv", "--out", join(tempDir(), "out")], env);
  const { said, end } = going("web", env);
  const [, address = ""] = await said(/^Dashboard {2}(\S+)/m);
  const quotes = await fetch(`${address}/api/quotes`);
  const ready = await fetch(`${address}/readyz`);
  const { view } = (await quotes.json()) as { view: { rows: unknown[] } };
  await end();

  expect([coverage.exitCode, files.exitCode, quotes.status, ready.status]).toEqual([0, 0, 200, 200]);
  expect(view.rows).toHaveLength(1);
});

test("a poll into an archive that is read only keeps the answer and names the setting, and the next poll loads both", async () => {
  const { database, env } = await readOnly();

  const refused = await run(["poll", "--symbols", "AAPL"], env);
  await makeWritable(database);
  const taken = await run(["poll", "--symbols", "AAPL"], env);

  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toMatch(/DATABASE_READ_ONLY: .*the database is set to read only for/);
  expect(taken.exitCode).toBe(0);
  expect(await rowsOfQuery(poolOn(database.url), "select 1 from responses")).toHaveLength(3);
});

test("a database whose schema turns out to be another program's after the wait for it is told of, whatever goes on meanwhile", async () => {
  const { pool } = await freshDatabase();
  await pool.query("insert into schema_migrations (version, name, sha256) values (9999, 'later', '')");
  const holder = await pool.connect();
  await holder.query("begin; lock table migration_lock in access exclusive mode");
  const late: string[] = [];
  const archive = { pool, address: "127.0.0.1/quotes" } as Archive;

  const { isReady, settled } = await prepareSchema(
    archive,
    { clock: createTestClock() },
    {
      ...{ log: silentLog, ending: new Promise(() => undefined) },
      onLate: ({ code }) => late.push(code),
    },
  );
  await holder.query("rollback");
  holder.release();

  expect([isReady, await settled, late]).toEqual([null, false, ["DATABASE_NEWER"]]);
});

/** Whoever can log in to the machine can log in as `quotekeeper_reader`: all it can run, against the real server. */
import { readFileSync, rmSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { rolesSql } from "../../src/archive/embedded/roles.ts";
import { type EmbeddedServer, openEmbedded } from "../../src/archive/embedded/embeddedServer.ts";
import { readHistory } from "../../src/archive/schema/history.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import { endReaders, settleReaderSettings } from "../../src/archive/schema/readerRole.ts";
import { withSourceLock } from "../../src/archive/refill/oneAtATime.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { makeServerDir } from "../support/postgres/server.ts";
import { until } from "../support/until.ts";

// A cluster is made, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const NOW = "2026-11-20T22:50:00.000000Z";

// No tempDir(): that one would go before the server has ended.
const dir = makeServerDir();
let server: EmbeddedServer;
let owner: pg.Pool;
beforeAll(async () => {
  server = await openEmbedded(dir, systemClock);
  owner = createPool(server.ownerUrl);
  await migrate(owner, NOW);
});
afterAll(async () => {
  await owner.end();
  await server.close();
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

const readers: pg.Client[] = [];
afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.end().catch(() => undefined);
});

/** A reader who has taken off all that a session begins with. */
async function hostileReader(url: string = server.readerUrl): Promise<pg.Client> {
  const reader = new pg.Client({ connectionString: url });
  reader.on("error", () => undefined);
  readers.push(reader);
  await reader.connect();
  await reader.query(
    `set default_transaction_read_only = off; set statement_timeout = 0; set idle_in_transaction_session_timeout = 0`,
  );
  return reader;
}

test.each([
  ["a lock of the program's", "select pg_advisory_lock(7433986)"],
  ["a shared one", "select pg_advisory_lock_shared(7433985)"],
  ["one tried", "select pg_try_advisory_xact_lock(7433988)"],
  ["locks without number", "select pg_advisory_lock(n) from generate_series(1, 1000000) n"],
  ["a table's lock", "begin; lock table quotes in access exclusive mode"],
  ["rows' locks", "select * from instruments for share"],
  ["a large object", "select lo_create(0)"],
  ["one with content", "select lo_from_bytea(0, 'x')"],
  ["one written", "select lowrite(0, 'x')"],
  ["a temporary table", "create temporary table t (x int)"],
  ["one from a query", "select 1 as x into temporary t"],
  ["a table", "create table public.t (x int)"],
  ["a loop", "do $$ begin loop perform pg_current_xact_id(); end loop; end $$"],
  ["the server's log of changes", "select pg_logical_emit_message(false, 'x', repeat('x', 1000000))"],
  ["a message by the function for it", "select pg_notify('x', 'x')"],
  ["others' sessions", "select pg_terminate_backend(pid) from pg_stat_activity"],
  ["more room for sorting", "set temp_file_limit = -1"],
  ["that for sessions to come", "alter role quotekeeper_reader set temp_file_limit = -1"],
  ["more connections", "alter role quotekeeper_reader connection limit -1"],
  ["rights of the owner", "set role quotekeeper"],
  ["the server's files", "select pg_read_file('quotekeeper.json')"],
  ["marks of the server's files", "select * from pg_stat_file('quotekeeper.json')"],
  ["a command of the machine", "copy (select 1) to program 'true'"],
  ["passwords", "select rolpassword from pg_authid"],
])("a reader of the embedded database does not get %s: %s", async (_what, statement) => {
  const reader = await hostileReader();

  // 42501 insufficient_privilege.
  await expect(reader.query(statement)).rejects.toMatchObject({ code: "42501" });
});

test("the program ignores a reader's messages, and their full queue holds up nothing", async () => {
  const [holder, sender] = [await hostileReader(), await hostileReader()];
  // Who listens and does not end a transaction keeps all that is sent from then on.
  await holder.query("listen a");
  await holder.query("begin; select 1");
  await expect(sender.query("notify a")).resolves.toMatchObject({ command: "NOTIFY" });
  const page = `notify a, '${"x".repeat(7_900)}'`;
  let full: unknown = null;
  // 64 pages of 8 kB, one a message.
  for (let sent = 0; full === null && sent <= 64; sent++)
    await sender.query(page).catch((error: unknown) => (full = error));

  // 54000 program_limit_exceeded.
  expect(full).toMatchObject({ code: "54000" });
  const heard: unknown[] = [];
  const client = await owner.connect();
  client.on("notification", (message) => heard.push(message));
  await client.query("insert into late_days values ('1999-01-04', pg_current_xact_id(), now())");
  await client.query("delete from late_days where date = '1999-01-04'");
  client.release();
  expect((await migrate(owner, NOW)).applied).toEqual([]);
  expect(heard).toEqual([]);
});

test("a reader of the embedded database reads what is there", async () => {
  const reader = await hostileReader();

  await expect(reader.query("select * from latest_quotes")).resolves.toMatchObject({ rowCount: 0 });
  await expect(reader.query("show temp_file_limit")).resolves.toMatchObject({
    rows: [{ temp_file_limit: "100MB" }],
  });
});

test.each([
  ["that has read a table", "begin; select count(*) from quotes"],
  // PostgreSQL takes the lock before it looks at rights.
  ["that has prepared to write it", "begin; prepare p as delete from quotes"],
  ["that has prepared to lock its rows", "begin; prepare p as select * from quotes for update"],
])("a reader's transaction %s is ended when a migration waits for it", async (_what, statements) => {
  const reader = await hostileReader();
  await reader.query(statements);
  const history = await readHistory();
  const first = (history.migrations.at(-1)?.version ?? 0) + 1;
  const version = first + (await added());
  const sql = `-- One more.\nalter table quotes add column added_${version} int`;
  const more = Array.from({ length: version - first + 1 }, (_, place) => ({
    version: first + place,
    name: `added_${first + place}.sql`,
    sql: first + place === version ? sql : "",
    sha256: String(place),
  }));

  const { applied } = await migrate(owner, NOW, {
    files: { ...history, migrations: [...history.migrations, ...more] },
  });

  expect(applied).toEqual([`added_${version}.sql`]);
  await expect(reader.query("select 1")).rejects.toThrow();
});

async function added(): Promise<number> {
  const { rows } = await owner.query<{ n: number }>(
    "select count(*)::int as n from schema_migrations where name like 'added%'",
  );
  return rows[0]?.n ?? 0;
}

test.each([
  ["a statement", "select pg_sleep(100000)"],
  ["a transaction that does nothing", "begin; select count(*) from quotes"],
])(
  "a reader's connection is ended with %s that lasts too long, whatever it has set",
  async (_what, statements) => {
    const reader = await hostileReader();
    let ended = false;
    reader.once("end", () => (ended = true));
    const reading = reader.query(statements).catch(() => undefined);

    await until(async () => {
      await endReaders(owner, 0);
      return ended;
    }, "the reader being ended");

    await reading;
  },
);

test("a reader of the embedded database may go on for 30 s, like everybody else", async () => {
  const reader = await hostileReader();
  await reader.query("begin; select count(*) from quotes");
  const other = await owner.connect();
  await other.query("begin; select 1");

  expect(await endReaders(owner)).toBe(0);
  await endReaders(owner, 0);

  await expect(other.query("commit")).resolves.toBeDefined();
  other.release();
});

test("a reader of the embedded database takes no connection of the program's, however many it opens", async () => {
  for (let open = 0; open < 10; open++) await hostileReader();

  // 53300 too_many_connections.
  await expect(hostileReader()).rejects.toMatchObject({ code: "53300" });
  for (const url of [server.ownerUrl, server.viewerUrl]) {
    const pool = createPool(url);
    await expect(pool.query("select 1 as one")).resolves.toMatchObject({ rows: [{ one: 1 }] });
    await pool.end();
  }
});

test("a reader of the embedded database shuts no other reader out by what it sets for sessions to come", async () => {
  const reader = await hostileReader();
  await reader.query("alter role quotekeeper_reader set local_preload_libraries = 'nowhere'");
  await reader.query("alter role quotekeeper_reader in database quotekeeper set statement_timeout = 1");
  await expect(hostileReader()).rejects.toMatchObject({ code: "58P01" });

  await settleReaderSettings(owner);

  const next = new pg.Client({ connectionString: server.readerUrl });
  readers.push(next);
  await next.connect();
  expect((await next.query("show statement_timeout")).rows).toEqual([{ statement_timeout: "30s" }]);
  expect((await next.query("show temp_file_limit")).rows).toEqual([{ temp_file_limit: "100MB" }]);
});

test("the program's own reader reads what a reader does, and nothing else", async () => {
  const pool = createPool(server.viewerUrl, { readOnly: true });

  const reading = pool.query("select count(*)::int as n from quotes");
  await expect(reading).resolves.toMatchObject({ rows: [{ n: 0 }] });
  await expect(pool.query("begin read write; create temporary table t (x int)")).rejects.toMatchObject({
    code: "42501",
  });
  await pool.end();
});

test("what only a superuser can take from readers stands in docs/databases.md, for servers of one's own", () => {
  const [, statement = ""] =
    /```sql\n(do \$\$.*?)\n```/s.exec(readFileSync("docs/databases.md", "utf8")) ?? [];

  expect(statement).toContain("revoke execute on function");
  expect(rolesSql({ ownerPassword: "", viewerPassword: "" })).toContain(statement);
});

test("a reader who can take advisory locks on a server of one's own holds up no migration, partition or import, and makes no temporary table", async () => {
  const database = await freshDatabase({ migrated: false });
  await migrate(database.pool, NOW);
  const url = new URL(database.url);
  [url.username, url.password] = ["quotekeeper_reader", ""];
  const reader = await hostileReader(url.href);
  // Those that the program took once, and one of an import.
  await reader.query("select pg_advisory_lock(n) from generate_series(7433984, 7434000) n");
  await reader.query("select pg_advisory_lock(7433991, hashtext('csv'))");

  await migrate(database.pool, NOW);
  const client = await database.pool.connect();
  await ensurePartitions(client, "2031-01-01T00:00:00.000000Z", "2031-01-01T00:00:00.000000Z");
  client.release();
  const imported = await withSourceLock(database.pool, "csv", () => Promise.resolve("imported"));

  expect(imported).toBe("imported");
  await expect(reader.query("create temporary table t (x int)")).rejects.toMatchObject({ code: "42501" });
});

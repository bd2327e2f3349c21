/** The files that `sql` keeps of the database's rows: the second statement reads them, and nothing that has changed since. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { askSql } from "../../../src/files/sql/askSql.ts";
import { ownDuck } from "../../../src/files/sql/duckdb.ts";
import { openSqlDirs } from "../../../src/cli/sqlDirs.ts";
import { run } from "../../cli/edges.ts";
import { handOnDatabases } from "../../support/database.ts";
import { see } from "../../support/observations.ts";
import { tempDir } from "../../support/tempDir.ts";
import { dayOf, late, old, type World } from "./lakeWorld.ts";

handOnDatabases();

const QUOTES = "select count(*) as n, sum(bid) as bid, count(distinct observed_at) as times from quotes";

/** Asks with a data directory, and without a lake. */
async function asked({ url }: Pick<World, "url">, dataDir: string, statement = QUOTES): Promise<string> {
  const env = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: dataDir };
  const { stdout, stderr } = await run(["sql", "--csv", statement], env);
  return stdout.split("\n")[1] ?? stderr;
}

async function truth({ pool }: Pick<World, "pool">): Promise<string> {
  const { rows } = await pool.query<{ row: string }>(
    "select concat_ws(',', count(*), trim_scale(sum(bid)), count(distinct observed_at)) as row from quotes",
  );
  return rows[0]?.row ?? "";
}

/** The Parquet files in the cache, with their names and inodes. */
function kept(dataDir: string): string[] {
  const dir = join(dataDir, "cache", "sql", "files");
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".parquet"))
    .map((name) => `${name.slice(name.indexOf("/") + 1)} ${statSync(join(dir, name)).ino}`)
    .sort();
}

const datesOf = (names: readonly string[]): string[] =>
  names.map((name) => name.replace(/^quotes\/(\d{4}-\d\d-\d\d).*$/u, "$1"));

test("the second statement reads the files of the first, and whatever changed since is read from the database: a late row, a row that nobody noted, a lost row", async () => {
  const world = await old();
  const dataDir = tempDir();

  const first = await asked(world, dataDir);
  const files = kept(dataDir);
  const second = await asked(world, dataDir);
  const again = kept(dataDir);

  expect([first, second]).toEqual([await truth(world), await truth(world)]);
  expect(datesOf(files)).toEqual(["2026-01-05", "2026-01-12", "2026-01-31", "2026-02-02"]);
  expect(again).toEqual(files);
  // A late change that leaves the number of rows as it was.
  await world.pool.query("update quotes set bid = bid + 1 where observed_at < '2026-01-06'");
  await late(world.pool, "2026-01-05");
  expect(await asked(world, dataDir)).toBe(await truth(world));
  await see(world.pool, { at: "2026-01-12 12:00", id: 1, bid: "1.5", ask: "1.6", last: "1.55" });
  expect(await asked(world, dataDir)).toBe(await truth(world));
  await world.pool.query(
    "delete from quotes where observed_at > '2026-02-02 05:00+00' and instrument_id = 1",
  );
  expect(await asked(world, dataDir)).toBe(await truth(world));
  const changed = kept(dataDir);
  expect(changed).toHaveLength(files.length);
  expect(changed.filter((name) => files.includes(name)).map((name) => name.slice(0, 17))).toEqual([
    "quotes/2026-01-31",
  ]);
});

test("every row of the date that is not over is seen at once, and only hours that changed are written again", async () => {
  const world = await old();
  await world.pool.query("delete from quotes");
  const dataDir = tempDir();
  // The first and the last hour of the database's exchange date: it is not over in any of its hours.
  const insert = (hour: number, nth: number): Promise<unknown> =>
    world.pool.query(
      `insert into quotes (observed_at, instrument_id, source_id, delayed, bid)
       select (now() at time zone 'America/New_York' - interval '15 minutes')::date::timestamp at time zone 'America/New_York'
         + make_interval(hours => $1, secs => $2), 1, 1, false, $2`,
      [hour, nth],
    );
  await insert(0, 1);
  await insert(20, 2);

  const seen = [await asked(world, dataDir)];
  const files = kept(dataDir);
  const truths = [await truth(world)];
  for (const change of [
    () => insert(20, 3),
    () => world.pool.query("update quotes set bid = 7 where bid = 3"),
    () => world.pool.query("delete from quotes where bid = 2"),
  ]) {
    await change();
    truths.push(await truth(world));
    seen.push(await asked(world, dataDir));
  }
  const after = kept(dataDir);

  expect(seen).toEqual(truths);
  expect([files.length, after.length]).toEqual([2, 2]);
  expect([files[0] === after[0], files[1] === after[1]]).toEqual([true, false]);

  // Days later, the date is over: a statement that does not ask for it removes its hours all the same.
  const dir = join(dataDir, "cache", "sql", "files");
  const [database = ""] = readdirSync(dir);
  const quotes = join(dir, database, "quotes");
  const [ofHour = ""] = readdirSync(quotes);
  renameSync(join(quotes, ofHour), join(quotes, `2026-01-05_2026-01-05T14${ofHour.slice(24)}`));
  const bounded = "select 1 from quotes where observed_at >= timestamptz '2026-02-01 05:00:00+00'";
  await asked(world, dataDir, bounded);
  expect(datesOf(kept(dataDir))).not.toContain("2026-01-05");
});

test("a statement reads its own snapshot to the end, though another one replaces and removes the files meanwhile", async () => {
  const world = await old();
  const dataDir = tempDir();
  const before = await truth(world);
  const dirs = await openSqlDirs(dataDir, undefined);

  const rows = await askSql(
    QUOTES,
    {
      duck: ownDuck(),
      pool: world.pool,
      lake: null,
      dir: dirs.temp,
      places: dirs.places,
      asOf: null,
      parquet: null,
      signal: new AbortController().signal,
      onRows: () => undefined,
    },
    async ({ next, asOf }) => {
      await world.pool.query("update quotes set bid = bid + 1");
      await late(world.pool, "2026-01-05", "2026-01-12", "2026-01-31", "2026-02-02");
      expect(await asked(world, dataDir)).toBe(await truth(world));
      rmSync(join(dataDir, "cache", "sql", "files"), { recursive: true });
      return [asOf, ...((await next()) ?? [])];
    },
  );
  await dirs.close();

  expect(rows[1]?.toString()).toBe(before);
  expect(Date.parse(String(rows[0]))).toBeLessThanOrEqual(Date.now() + 60_000);
  expect(readdirSync(join(dataDir, "cache", "sql"))).toEqual([]);
});

test("a statement removes the directory that a killed one left, and leaves that of one that runs", async () => {
  const dataDir = tempDir();
  const dir = join(dataDir, "cache", "sql");
  const killed = spawnSync(process.execPath, ["-e", ""]).pid;
  const [left, used] = [killed, process.ppid].map((pid) => `quotekeeper-sql-${pid}-abcdef`);
  for (const name of [left, used]) mkdirSync(join(dir, name ?? ""), { recursive: true });

  const dirs = await openSqlDirs(dataDir, undefined);
  const there = readdirSync(dir);
  await dirs.close();

  expect([there.includes(left ?? ""), there.includes(used ?? "")]).toEqual([false, true]);
});

test("files leave the cache when the lake has their date, when the database has no row of it, and when they are another database's", async () => {
  const world = await old();
  const dataDir = tempDir();
  await asked(world, dataDir);
  await world.pool.query("delete from quotes where observed_at > '2026-02-01'");
  await asked(world, dataDir);
  const without = kept(dataDir);
  await world.lake("--through 2026-01-15");
  const env = { DATABASE_URL: world.url, QUOTEKEEPER_DATA_DIR: dataDir, QUOTEKEEPER_LAKE_DIR: world.out };
  const { stdout } = await run(["sql", "--csv", QUOTES], env);
  const beside = kept(dataDir);
  const other = await old();
  await asked(other, dataDir);

  expect(stdout.split("\n")[1]).toBe(await truth(world));
  expect([datesOf(without), datesOf(beside), kept(dataDir).length]).toEqual([
    ["2026-01-05", "2026-01-12", "2026-01-31"],
    ["2026-01-31"],
    4,
  ]);
  expect(readdirSync(join(dataDir, "cache", "sql", "files"))).toHaveLength(1);
});

test("a copy of a database, which has the same archive in it, is not answered from the files of the original", async () => {
  const [original, copy] = [await old(), await old()];
  const dataDir = tempDir();
  const { rows } = await original.pool.query<{ id: string }>("select id from archive_identity");
  await copy.pool.query("update archive_identity set id = $1", [rows[0]?.id]);
  await copy.pool.query("update quotes set bid = bid + 1");

  const answers = [await asked(original, dataDir), await asked(copy, dataDir)];

  expect(answers).toEqual([await truth(original), await truth(copy)]);
});

test("a file of the cache that is cut is written again; without a cache the statement says so and is answered", async () => {
  const world = await old();
  const [dataDir, blocked] = [tempDir(), tempDir()];
  await asked(world, dataDir);
  const files = join(dataDir, "cache", "sql", "files");
  const names = readdirSync(files, { recursive: true, encoding: "utf8" });
  truncateSync(join(files, names.find((name) => name.endsWith(".parquet")) ?? ""), 10);
  writeFileSync(join(blocked, "cache"), "");

  const mended = await asked(world, dataDir);
  const env = { DATABASE_URL: world.url, QUOTEKEEPER_DATA_DIR: blocked };
  const without = await run(["sql", "--csv", QUOTES], env);

  expect(mended).toBe(await truth(world));
  expect(without.stdout.split("\n")[1]).toBe(await truth(world));
  expect(without.stderr).toMatch(/, copied for this statement alone: .* cannot be written \(\w+\)\.\n$/u);
});

test("rows that came late to a date that the lake has no file of are in the answer, also where a run was cut short at the date, and only dates that the statement names are copied", async () => {
  const world = await old();
  const dataDir = tempDir();
  await world.lake();
  await see(world.pool, { at: "2026-01-20 12:00", id: 1, bid: "1.5", ask: "1.6", last: "1.55" });
  await late(world.pool, "2026-01-20");
  const env = { DATABASE_URL: world.url, QUOTEKEEPER_DATA_DIR: dataDir, QUOTEKEEPER_LAKE_DIR: world.out };

  const { stdout } = await run(["sql", "--csv", QUOTES], env);
  const ofLake = kept(dataDir);
  const { tables, ...day } = dayOf(world.out, "2026-02-02");
  const written = tables.filter(({ name }) => name !== "quotes");
  writeFileSync(
    join(world.out, "days", "2026-02-02.json"),
    JSON.stringify({ ...day, complete: false, tables: written }),
  );
  const cutShort = await run(["sql", "--csv", QUOTES], env);
  const named = tempDir();
  await asked(world, named, "select * from quotes where observed_at >= timestamptz '2026-01-31 05:00:00+00'");
  const ofBars = tempDir();
  await asked(world, ofBars, "select * from bars_1d where date = '2026-01-12' or date = '2026-01-31'");

  for (const answer of [stdout, cutShort.stdout]) expect(answer.split("\n")[1]).toBe(await truth(world));
  expect(datesOf(ofLake)).toEqual(["2026-01-20"]);
  expect(datesOf(kept(named))).toEqual(["2026-01-31", "2026-02-02"]);
  expect(kept(ofBars).length).toBeGreaterThan(0);
});

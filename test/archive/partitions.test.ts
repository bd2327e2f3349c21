import { expect, test } from "@jest/globals";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { ensurePartitions, ensurePartitionsFor } from "../../src/archive/schema/partitions.ts";
import { PARTITIONED_TABLES } from "../../src/archive/tiers/hypertables.ts";
import { followOwnRows, rowsOfQuery } from "../support/archive.ts";
import { freshDatabase, poolOn, type TestDatabase } from "../support/database.ts";

const NOW = "2026-11-20T22:50:00.000000Z";

// With native partitions, whatever its server offers besides. Tests look at months of their own.
const database = await freshDatabase({ migrated: false });
const { pool } = database;
await migrate(pool, NOW, { toTimescaledb: false });

/** The months of some years for which a table has a partition. */
async function monthsOf(table: string, from: number, to: number): Promise<unknown[]> {
  const rows = await rowsOfQuery(
    pool,
    `select month from pg_inherits join pg_class on oid = inhrelid, replace(relname, $1 || '_', '') as month
     where inhparent = $1::regclass and left(month, 4)::int between $2 and $3 order by month`,
    [table, from, to],
  );
  return rows.map(({ month }) => month);
}

async function ensure({ pool: on }: Pick<TestDatabase, "pool">, from: string, to: string): Promise<void> {
  const client = await on.connect();
  await ensurePartitions(client, from, to).finally(() => client.release());
}

test("the months of a migration and the three after it have a partition in each table", async () => {
  for (const table of PARTITIONED_TABLES)
    expect(await monthsOf(table, 2026, 2027)).toEqual(["2026_11", "2026_12", "2027_01", "2027_02"]);
});

test("any old month gets its partitions, and only those that are missing are made", async () => {
  await ensure(database, "1999-11-03T00:00:00.000000Z", "1999-12-31T23:59:59.999999Z");
  await ensure(database, "1999-12-01T00:00:00.000000Z", "2000-04-01T00:00:00.000000Z");
  await ensure(database, "0999-12-01T00:00:00.000000Z", "0999-12-01T00:00:00.000000Z");

  expect(await monthsOf("quotes", 999, 1000)).toEqual(["0999_12", "1000_01", "1000_02", "1000_03"]);
  expect(await monthsOf("quotes", 1999, 2007)).toEqual([
    ...["1999_11", "1999_12", "2000_01", "2000_02", "2000_03", "2000_04", "2000_05", "2000_06", "2000_07"],
  ]);
});

test("twenty connections that make the same partitions make them once", async () => {
  const instant = "2031-05-01T00:00:00.000000Z";

  const pools = Array.from({ length: 20 }, () => poolOn(database.url, { max: 1 }));
  await Promise.all(pools.map((one) => ensure({ pool: one }, instant, instant)));

  expect(await monthsOf("dividends", 2031, 2031)).toEqual(["2031_05", "2031_06", "2031_07", "2031_08"]);
});

test("rows of a month years ago beside rows of today need no partition in between", async () => {
  const client = await pool.connect();

  await ensurePartitionsFor(client, ["1996-11-03T00:00:00.000000Z", NOW]);
  client.release();

  expect(await monthsOf("quotes", 1996, 1998)).toEqual(["1996_11"]);
  expect(await monthsOf("quotes", 2012, 2030)).toEqual(["2026_11", "2026_12", "2027_01", "2027_02"]);
});

test("partitions are made while somebody reads the table, and nobody waits for anybody", async () => {
  const reader = await pool.connect();
  await reader.query("begin; select count(*) from quotes");

  await ensure(database, "2011-03-01T00:00:00.000000Z", "2011-03-01T00:00:00.000000Z");
  await reader.query("rollback");
  reader.release();

  expect((await monthsOf("quotes", 2011, 2011))[0]).toBe("2011_03");
});

test("a month begins and ends at midnight UTC, to the microsecond", async () => {
  const times = ["2010-02-28T23:59:59.999999Z", "2010-03-01T00:00:00.000000Z", "2010-12-31T23:59:59.999999Z"];
  await ensure(database, times[0] ?? "", times[2] ?? "");

  for (const time of times)
    await pool.query(
      "insert into quotes (observed_at, instrument_id, source_id, delayed) values ($1, 1, 1, false)",
      [time],
    );

  const rows = await rowsOfQuery(
    pool,
    "select tableoid::regclass::text as in from quotes where observed_at < '2011-01-01' order by observed_at",
  );
  expect(rows.map((row) => row["in"])).toEqual(["quotes_2010_02", "quotes_2010_03", "quotes_2010_12"]);
});

test("rows that are put into a partition itself are in the bars like all others, once", async () => {
  const row = (table: string, minute: number) =>
    pool.query(
      `insert into ${table} (observed_at, instrument_id, source_id, delayed) values ($1, 1, 1, false)`,
      [`2026-11-20T15:${minute}:00Z`],
    );

  await row("quotes_2026_11", 10);
  await row("quotes", 11);
  await followOwnRows(pool);

  expect(
    await rowsOfQuery(pool, "select date, quote_count from session_bars where date > '2026-11-01'"),
  ).toEqual([{ date: "2026-11-20", quote_count: "2" }]);
});

test("the table of sessions has the years of old rows before they are inserted", async () => {
  await ensure(database, "2008-03-01T00:00:00.000000Z", "2008-03-01T00:00:00.000000Z");

  expect(
    await rowsOfQuery(
      pool,
      "select count(*) as n from sessions where date between '2008-01-01' and '2008-12-31'",
    ),
  ).toEqual([{ n: "253" }]);
});

test("a migration corrects the table of sessions where it differs", async () => {
  await pool.query("update sessions set kind = 'early' where date = '2026-11-20'");
  await pool.query(
    "insert into sessions select '2026-11-26', kind, pre_at, open_at, close_at, post_at from sessions limit 1",
  );

  await migrate(pool, NOW, { toTimescaledb: false });

  expect(
    await rowsOfQuery(pool, "select date, kind from sessions where date in ('2026-11-20', '2026-11-26')"),
  ).toEqual([{ date: "2026-11-20", kind: "regular" }]);
});

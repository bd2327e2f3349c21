import { describe, expect, test } from "@jest/globals";
import { migrate } from "../../src/archive/migrations.ts";
import {
  ensurePartitions,
  ensurePartitionsFor,
  MONTHS_AHEAD,
  monthOf,
  monthStart,
  PARTITIONED_TABLES,
} from "../../src/archive/partitions.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase, poolOn, type TestDatabase } from "../support/database.ts";

const NOW = "2026-11-20T22:50:00.000000Z";

/** A database with native partitions, whatever its server offers besides. */
async function plainDatabase(): Promise<TestDatabase> {
  const database = await freshDatabase({ migrated: false });
  await migrate(database.pool, NOW, { toTimescaledb: false });
  return database;
}

/** The months for which a table has a partition. */
async function monthsOf({ pool }: TestDatabase, table: string): Promise<unknown[]> {
  const rows = await rowsOfQuery(
    pool,
    `select replace(relname, $1 || '_', '') as month
     from pg_inherits join pg_class on oid = inhrelid where inhparent = $1::regclass order by relname`,
    [table],
  );
  return rows.map(({ month }) => month);
}

async function ensure({ pool }: TestDatabase, from: string, to: string): Promise<void> {
  const client = await pool.connect();
  await ensurePartitions(client, from, to).finally(() => client.release());
}

test("the months of a migration and the three after it have a partition in each table", async () => {
  const database = await plainDatabase();

  expect(MONTHS_AHEAD).toBe(3);
  for (const table of PARTITIONED_TABLES)
    expect(await monthsOf(database, table)).toEqual(["2026_11", "2026_12", "2027_01", "2027_02"]);
});

describe("with a database of one's own", () => {
  test("any old month gets its partitions, and only those that are missing are made", async () => {
    const database = await plainDatabase();

    await ensure(database, "1999-11-03T00:00:00.000000Z", "1999-12-31T23:59:59.999999Z");
    await ensure(database, "1999-12-01T00:00:00.000000Z", "2000-04-01T00:00:00.000000Z");

    expect((await monthsOf(database, "quotes")).slice(0, 10)).toEqual([
      ...["1999_11", "1999_12", "2000_01", "2000_02", "2000_03", "2000_04", "2000_05", "2000_06", "2000_07"],
      "2026_11",
    ]);
  });

  test("from twenty connections at once they are made once", async () => {
    const database = await plainDatabase();
    const instant = "2031-05-01T00:00:00.000000Z";

    const pools = Array.from({ length: 20 }, () => poolOn(database.url, { max: 1 }));
    await Promise.all(pools.map((pool) => ensure({ ...database, pool }, instant, instant)));

    expect((await monthsOf(database, "dividends")).slice(4)).toEqual([
      "2031_05",
      "2031_06",
      "2031_07",
      "2031_08",
    ]);
  });

  test("rows of a month years ago beside rows of today need no partition in between", async () => {
    const database = await plainDatabase();
    const client = await database.pool.connect();

    await ensurePartitionsFor(client, ["1999-11-03T00:00:00.000000Z", NOW]);
    client.release();

    expect(await monthsOf(database, "quotes")).toEqual([
      "1999_11",
      "2026_11",
      "2026_12",
      "2027_01",
      "2027_02",
    ]);
  });

  test("they are made while somebody reads the table, and nobody waits for anybody", async () => {
    const database = await plainDatabase();
    const reader = await database.pool.connect();
    await reader.query("begin; select count(*) from quotes");

    await ensure(database, "2011-03-01T00:00:00.000000Z", "2011-03-01T00:00:00.000000Z");
    await reader.query("rollback");
    reader.release();

    expect((await monthsOf(database, "quotes"))[0]).toBe("2011_03");
  });

  test("a month begins and ends at midnight UTC, to the microsecond", async () => {
    const database = await plainDatabase();
    const times = [
      "2010-02-28T23:59:59.999999Z",
      "2010-03-01T00:00:00.000000Z",
      "2010-12-31T23:59:59.999999Z",
    ];
    await ensure(database, times[0] ?? "", times[2] ?? "");

    for (const time of times)
      await database.pool.query(
        "insert into quotes (observed_at, instrument_id, source_id, delayed) values ($1, 1, 1, false)",
        [time],
      );

    const rows = await rowsOfQuery(
      database.pool,
      "select tableoid::regclass::text as in from quotes order by observed_at",
    );
    expect(rows.map((row) => row["in"])).toEqual(["quotes_2010_02", "quotes_2010_03", "quotes_2010_12"]);
  });
});

test("rows that are put into a partition itself are in the bars like all others, once", async () => {
  const { pool } = await plainDatabase();
  const row = (table: string, minute: number) =>
    pool.query(
      `insert into ${table} (observed_at, instrument_id, source_id, delayed) values ($1, 1, 1, false)`,
      [`2026-11-20T15:${minute}:00Z`],
    );

  await row("quotes_2026_11", 10);
  await row("quotes", 11);

  expect(await rowsOfQuery(pool, "select date, quote_count from session_bars")).toEqual([
    { date: "2026-11-20", quote_count: "2" },
  ]);
});

describe("the calendar of the exchange", () => {
  test("is a table: half days, holidays and the offset of summer time are in it", async () => {
    const { pool } = await freshDatabase({ migrated: false });
    await migrate(pool, NOW);

    expect(
      await rowsOfQuery(
        pool,
        "select date, kind, open_at, close_at from sessions where date between '2026-11-25' and '2026-11-28' or date = '2026-07-02'",
      ),
    ).toEqual([
      {
        date: "2026-07-02",
        kind: "regular",
        open_at: "2026-07-02 13:30:00+00",
        close_at: "2026-07-02 20:00:00+00",
      },
      {
        date: "2026-11-25",
        kind: "regular",
        open_at: "2026-11-25 14:30:00+00",
        close_at: "2026-11-25 21:00:00+00",
      },
      {
        date: "2026-11-27",
        kind: "early",
        open_at: "2026-11-27 14:30:00+00",
        close_at: "2026-11-27 18:00:00+00",
      },
    ]);
  });

  test("has the years of old rows before they are inserted", async () => {
    const database = await freshDatabase();

    await ensure(database, "2011-03-01T00:00:00.000000Z", "2011-03-01T00:00:00.000000Z");

    expect(
      await rowsOfQuery(database.pool, "select count(*) as n from sessions where date <= '2011-12-31'"),
    ).toEqual([{ n: "252" }]);
  });

  test("is written anew where it differs, at each migration", async () => {
    const { pool } = await freshDatabase({ migrated: false });
    await migrate(pool, NOW);
    await pool.query("update sessions set kind = 'early' where date = '2026-11-20'");
    await pool.query(
      "insert into sessions select '2026-11-26', kind, pre_at, open_at, close_at, post_at from sessions limit 1",
    );

    await migrate(pool, NOW);

    expect(
      await rowsOfQuery(pool, "select date, kind from sessions where date in ('2026-11-20', '2026-11-26')"),
    ).toEqual([{ date: "2026-11-20", kind: "regular" }]);
  });
});

test("months are counted so that they can be added", () => {
  expect(monthStart(monthOf(NOW) + 2)).toBe("2027-01-01");
  expect(monthStart(monthOf("0999-12-01T00:00:00.000000Z"))).toBe("0999-12-01");
});

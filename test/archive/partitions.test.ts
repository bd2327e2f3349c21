import { describe, expect, test } from "@jest/globals";
import { migrate } from "../../src/archive/migrate.ts";
import {
  ensurePartitions,
  MONTHS_AHEAD,
  monthOf,
  monthStart,
  PARTITIONED_TABLES,
} from "../../src/archive/partitions.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase, poolOn, type TestDatabase } from "../support/database.ts";

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
  const database = await freshDatabase({ migrated: false });

  await migrate(database.pool, "2026-11-20T22:50:00.000000Z");

  expect(MONTHS_AHEAD).toBe(3);
  for (const table of PARTITIONED_TABLES)
    expect(await monthsOf(database, table)).toEqual(["2026_11", "2026_12", "2027_01", "2027_02"]);
});

describe("with a database of one's own", () => {
  test("any old month gets its partitions, and only those that are missing are made", async () => {
    const database = await freshDatabase({ migrated: false });
    await migrate(database.pool, "2026-11-20T22:50:00.000000Z");

    await ensure(database, "1999-11-03T00:00:00.000000Z", "1999-12-31T23:59:59.999999Z");
    await ensure(database, "1999-12-01T00:00:00.000000Z", "2000-04-01T00:00:00.000000Z");

    expect((await monthsOf(database, "quotes")).slice(0, 10)).toEqual([
      ...["1999_11", "1999_12", "2000_01", "2000_02", "2000_03", "2000_04", "2000_05", "2000_06", "2000_07"],
      "2026_11",
    ]);
  });

  test("from twenty connections at once they are made once", async () => {
    const database = await freshDatabase({ migrated: false });
    await migrate(database.pool, "2026-11-20T22:50:00.000000Z");
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

  test("a month begins and ends at midnight UTC, to the microsecond", async () => {
    const database = await freshDatabase();
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

test("months are counted so that they can be added", () => {
  expect(monthStart(monthOf("2026-11-20T22:50:00.000000Z") + 2)).toBe("2027-01-01");
  expect(monthStart(monthOf("0999-12-01T00:00:00.000000Z"))).toBe("0999-12-01");
});

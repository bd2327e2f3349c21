/**
 * The statements that only TimescaleDB Community gets, on any PostgreSQL: tables and functions of its names stand in for
 * it. What TimescaleDB itself does with them is for tiers.test.ts, on a server that has it.
 */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { RETENTION } from "../../src/archive/tiers/community.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { see, type Seen, addStocks } from "../support/observations.ts";

const STAND_INS = `
  create schema timescaledb_information;
  create table timescaledb_information.chunks (hypertable_schema name default current_schema(),
    hypertable_name text default 'quotes', range_start timestamptz, range_end timestamptz);
  create function drop_chunks(of_table text, older_than timestamptz) returns void language plpgsql as $$
  begin
    execute format('delete from %I where observed_at < $1', of_table) using older_than;
  end $$;`;

/** A plain archive of one instrument's day: prices of 0 and quotes without volume among the others. */
async function archiveOf(date: string, isZero: (n: number) => boolean): Promise<pg.Pool> {
  const { pool } = await freshDatabase({ migrated: false });
  await migrate(pool, "2026-11-20T22:50:00.000000Z", { toTimescaledb: false });
  await pool.query(STAND_INS);
  await addStocks(pool, ["AAPL"]);
  const seen = Array.from({ length: 60 }, (_, n): Seen => {
    const minute = String(n % 60).padStart(2, "0");
    return {
      ...{
        at: `${date} ${n < 30 ? "09" : "10"}:${minute}:01`,
        bid: n % 3 === 0 ? null : "1.00",
        ask: "1.25",
      },
      last: isZero(n) ? "0" : String(100 + ((n * 37) % 11)),
      volume: n % 10 < 6 && n > 12 ? null : String(1_000 + n),
    };
  });
  await see(pool, ...seen);
  return pool;
}

const barsOf = async (pool: pg.Pool) => ({
  fives: await rowsOfQuery(pool, "select * from bars_5m order by bar_at"),
  hours: await rowsOfQuery(pool, "select * from bars_1h order by bar_at"),
});

test("retention keeps daily bars and their last volume, whatever of their rows comes again", async () => {
  const old = await archiveOf("2020-03-02", () => false);
  await old.query(RETENTION);
  await old.query(
    "insert into timescaledb_information.chunks values (default, default, '2020-02-20', '2020-03-20')",
  );
  await see(old, { at: "2020-03-02 10:59:59", bid: "1.00", ask: "1.25", last: "7", volume: null });
  const days = () =>
    rowsOfQuery(old, "select open, high, low, close, mean_spread, quote_count, volume from bars_1d");
  const [before, wide] = [await days(), await barsOf(old)];
  const rows = await rowsOfQuery(
    old,
    "select to_char(observed_at at time zone 'America/New_York', 'YYYY-MM-DD HH24:MI:SS') as at, bid, ask, last from quotes order by observed_at",
  );
  expect(before).toMatchObject([{ low: "7", quote_count: "61", volume: "1059" }]);

  await old.query("call drop_old_quotes(0, '{\"days\": 30}')");
  expect(await rowsOfQuery(old, "select count(*) as n from quotes")).toEqual([{ n: "0" }]);
  expect(await days()).toEqual(before);
  expect(await barsOf(old)).toEqual(wide);

  await see(old, ...(rows.slice(0, 20) as Seen[]));
  await old.query("select recompute_session_bars('2020-03-02', '2020-03-02')");
  expect(await days()).toEqual(before);
  await see(old, ...(rows as Seen[]), { at: "2020-03-02 09:00:00", bid: "1", ask: "2", last: "5" });
  expect(await days()).toMatchObject([{ open: "5", low: "5", quote_count: "62" }]);
});

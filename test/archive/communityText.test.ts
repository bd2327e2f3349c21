/**
 * The statements that only TimescaleDB Community gets, on any PostgreSQL: tables and functions of its names stand in for
 * it. What TimescaleDB itself does with them is for tiers.test.ts, on a server that has it.
 */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { migrate } from "../../src/archive/migrations.ts";
import { retention, WIDE_BARS } from "../../src/archive/tiers/community.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { see, type Seen } from "../support/observations.ts";

const STAND_INS = `
  create function time_bucket(interval, timestamptz) returns timestamptz language sql immutable
    as $$ select date_bin($1, $2, '2000-01-01 00:00+00') $$;
  create table bar_pieces (instrument_id int, source_id smallint, delayed boolean, bar_at timestamptz, open numeric,
    high numeric, low numeric, close numeric, open_at timestamptz, close_at timestamptz, spread_sum numeric,
    spread_count bigint, quote_count bigint);
  create table volume_pieces (instrument_id int, source_id smallint, bar_at timestamptz, first_shown bigint,
    shown bigint, row_count bigint);
  create schema timescaledb_information;
  create table timescaledb_information.chunks (hypertable_schema name default current_schema(),
    hypertable_name text default 'quotes', range_start timestamptz, range_end timestamptz);
  create procedure refresh_continuous_aggregate(text, timestamptz, timestamptz) language sql as 'select 1';
  create function drop_chunks(of_table text, older_than timestamptz) returns void language plpgsql as $$
  begin
    execute format('delete from %I where observed_at < $1', of_table) using older_than;
  end $$;
  drop trigger follow_deleted_quotes on quotes`;

/** Aggregates as TimescaleDB makes them; \`counts\` says which prices of \`last\` do. */
async function makePieces(pool: pg.Pool, counts: string): Promise<void> {
  await pool.query("truncate bar_pieces, volume_pieces");
  const ordered = (way: string): string =>
    `(array_agg(last order by observed_at ${way}) filter (where ${counts}))[1]`;
  await pool.query(
    `insert into bar_pieces
     select instrument_id, source_id, delayed, time_bucket('5 minutes', observed_at), ${ordered("asc")},
            max(last) filter (where ${counts}), min(last) filter (where ${counts}), ${ordered("desc")},
            min(observed_at) filter (where ${counts}), max(observed_at) filter (where ${counts}),
            sum(ask - bid) filter (where bid > 0 and ask > 0), count(*) filter (where bid > 0 and ask > 0), count(*)
     from quotes group by 1, 2, 3, 4`,
  );
  const shown = (way: string): string =>
    `(array_agg(volume order by observed_at ${way}) filter (where volume is not null))[1]`;
  await pool.query(
    `insert into volume_pieces
     select instrument_id, source_id, time_bucket('5 minutes', observed_at), ${shown("asc")}, ${shown("desc")}, count(*)
     from extended_quotes group by 1, 2, 3`,
  );
}

/** A plain archive of one instrument's day: prices of 0 and quotes without volume among the others. */
async function archiveOf(date: string, isZero: (n: number) => boolean): Promise<pg.Pool> {
  const { pool } = await freshDatabase({ migrated: false });
  await migrate(pool, "2026-11-20T22:50:00.000000Z", { toTimescaledb: false });
  await pool.query(STAND_INS);
  await pool.query(
    "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now())",
  );
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
  fives: await rowsOfQuery(pool, "select b::text from bars_5m b order by bar_at"),
  hours: await rowsOfQuery(pool, "select b::text from bars_1h b order by bar_at"),
});

test("wide bars are the same from rows, from pieces, and from pieces made when 0 was a price", async () => {
  const pool = await archiveOf("2026-11-20", (n) => n % 7 === 0);
  const plain = await barsOf(pool);
  expect(JSON.stringify(plain.hours)).not.toMatch(/[(,]0[,)]/);

  await pool.query(WIDE_BARS);
  const rounded = (bars: typeof plain) =>
    JSON.parse(JSON.stringify(bars).replace(/(\.\d\d)0+(?=,)/g, "$1")) as unknown;
  expect(rounded(await barsOf(pool))).toEqual(rounded(plain));
  await makePieces(pool, "last is not null");
  expect(rounded(await barsOf(pool))).toEqual(rounded(plain));
  await makePieces(pool, "last > 0");
  expect(rounded(await barsOf(pool))).toEqual(rounded(plain));
  // Pieces are what is read then.
  await pool.query("update bar_pieces set high = 555");
  expect(JSON.stringify(await barsOf(pool))).toContain("555");
});

test("retention keeps daily bars and their last volume, whatever of their rows comes again", async () => {
  const old = await archiveOf("2020-03-02", () => false);
  await old.query(WIDE_BARS);
  await old.query(retention(""));
  await makePieces(old, "last > 0");
  await old.query(
    "insert into timescaledb_information.chunks values (default, default, '2020-02-20', '2020-03-20')",
  );
  await see(old, { at: "2020-03-02 10:59:59", bid: "1.00", ask: "1.25", last: "7", volume: null });
  await makePieces(old, "last > 0");
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

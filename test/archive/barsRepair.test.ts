/** An archive of the release before, whose bars count rows twice and take 0 for a price, after it is migrated. */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { migrate, readMigrations } from "../../src/archive/schema/migrations.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { see, type Seen } from "../support/observations.ts";

const NOW = "2026-11-20T22:50:00.000000Z";
const REPAIR = "0009_bars_follow_rows.sql";

const BARS = `select instrument_id as id, date, open, high, low, close, spread_sum, spread_count, quote_count
              from session_bars order by 1, 2`;

const QUOTES = `
  insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
  select '2026-11-18 15:00+00'::timestamptz + day * interval '1 day' + n * interval '1 minute', id, 1, false, 10, 10.25,
         case when id = 2 and n = 0 then 0 else 10 + n end
  from generate_series(1, 2) id cross join generate_series(0, 1) day cross join generate_series(0, 3) n`;

/** A database of the release before: its migrations, and a partition with the trigger that it made. */
async function archiveBefore(): Promise<pg.Pool> {
  const { pool } = await freshDatabase({ migrated: false });
  const before = (await readMigrations()).filter(({ name }) => name < REPAIR);
  await pool.query(
    "create table schema_migrations (version int primary key, name text, sha256 text, applied_at timestamptz default now())",
  );
  for (const { sql, version, name, sha256 } of before) {
    await pool.query(sql);
    await pool.query("insert into schema_migrations values ($1, $2, $3)", [version, name, sha256]);
  }
  await pool.query(`
    create table quotes_2026_11 partition of quotes for values from ('2026-11-01 00:00+00') to ('2026-12-01 00:00+00');
    create trigger keep_session_bars after insert on quotes_2026_11
      referencing new table as inserted for each statement execute function keep_session_bars()`);
  return pool;
}

/** What both repairs leave of a whole day. */
const BAR = {
  open: "10",
  high: "13",
  low: "10",
  close: "13",
  spread_sum: "1.00",
  spread_count: "4",
  quote_count: "4",
};

test("bars that were doubled are right after migrating, prices of 0 are out of them, and bars without rows stay", async () => {
  const pool = await archiveBefore();
  await pool.query(QUOTES);
  // Lost and loaded again: half of a day, and twice all of the other; then a day is lost for good.
  await pool.query("delete from quotes where instrument_id = 1 and last > 11 and observed_at < '2026-11-19'");
  await pool.query(`${QUOTES} on conflict do nothing`);
  await pool.query("delete from quotes where observed_at < '2026-11-19'");
  await pool.query(`${QUOTES} on conflict do nothing`);
  await pool.query("delete from quotes where instrument_id = 2 and observed_at > '2026-11-19'");
  expect((await rowsOfQuery(pool, BARS)).map((row) => row["quote_count"])).toEqual(["10", "4", "8", "4"]);

  await migrate(pool, NOW, { toTimescaledb: false });

  expect(await rowsOfQuery(pool, BARS)).toEqual([
    { id: 1, date: "2026-11-18", ...BAR },
    { id: 1, date: "2026-11-19", ...BAR },
    { id: 2, date: "2026-11-18", ...BAR, open: "11", low: "11" },
    { id: 2, date: "2026-11-19", ...BAR, open: null, low: null },
  ]);
  // From now on bars follow rows that are lost, in partitions that were there before as well.
  await pool.query("delete from quotes_2026_11 where instrument_id = 1 and last > 10");
  expect((await rowsOfQuery(pool, BARS)).map((row) => row["quote_count"])).toEqual(["1", "1", "4", "4"]);
});

test("on a hypertable bars of which retention has dropped quotes are marked, and have the counts of their pieces", async () => {
  const pool = await archiveBefore();
  // A hypertable is a table to the catalog, not a partitioned one; its aggregates are views.
  await pool.query(`
    alter table quotes rename to quotes_before_move;
    create table quotes (like quotes_before_move, primary key (instrument_id, observed_at, source_id));
    create trigger keep_session_bars after insert on quotes
      referencing new table as inserted for each statement execute function keep_session_bars();
    ${QUOTES};
    create table bar_pieces as
      select instrument_id, source_id, delayed, date_bin('5 minutes', observed_at, '2000-01-01 00:00+00') as bar_at,
             sum(ask - bid) as spread_sum, count(*) as spread_count, count(*) as quote_count
      from quotes group by 1, 2, 3, 4;
    delete from quotes;
    ${QUOTES};
    delete from quotes where observed_at < '2026-11-19'`);

  const repair = (await readMigrations()).find(({ name }) => name === REPAIR);
  await pool.query(repair?.sql ?? "");

  expect(await rowsOfQuery(pool, BARS)).toEqual([
    { id: 1, date: "2026-11-18", ...BAR },
    { id: 1, date: "2026-11-19", ...BAR },
    { id: 2, date: "2026-11-18", ...BAR, open: null, low: null },
    { id: 2, date: "2026-11-19", ...BAR, open: "11", low: "11" },
  ]);
  expect(
    await rowsOfQuery(pool, "select distinct date, quotes_dropped as dropped from session_bars order by 1"),
  ).toEqual([
    { date: "2026-11-18", dropped: true },
    { date: "2026-11-19", dropped: false },
  ]);
});

test("bars of the simulated market become those of its own sessions, and all others stay as they are", async () => {
  const bars = (pool: pg.Pool, sources: number[]) =>
    rowsOfQuery(
      pool,
      `select source_id, date, minutes, bar_at, session, open, high, low, close, spread_sum, spread_count, quote_count, volume,
              volume_before, log_return
       from intraday_bars where source_id = any ($1) order by source_id, date, minutes, bar_at`,
      [sources],
    );
  // Over the opens and closes of a Friday, in a Saturday's morning, and after it, so that these dates are over.
  const seen = [1, 2].flatMap((source) =>
    [
      "2026-11-20 03:50",
      "2026-11-20 09:20",
      "2026-11-20 15:50",
      "2026-11-20 19:50",
      "2026-11-21 09:20",
    ].flatMap((from, part) =>
      Array.from({ length: 9 }, (_, n): Seen => {
        const at = new Date(Date.parse(`${from}Z`) + n * 150_000)
          .toISOString()
          .slice(0, 19)
          .replace("T", " ");
        return {
          at,
          source,
          bid: "9.5",
          ask: "10",
          last: n === 4 ? null : String(10 + ((part + n * 7) % 5)),
          volume: String(10 * n),
        };
      }),
    ),
  );
  const { pool } = await freshDatabase({ migrated: false });
  const files = (await readMigrations()).filter(({ name }) => name < "0022");
  await migrate(pool, NOW, { files, toTimescaledb: false });
  await pool.query(
    "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now())",
  );
  await see(pool, ...seen);
  const [before, real] = [await bars(pool, [2]), await bars(pool, [1])];

  await migrate(pool, NOW, { toTimescaledb: false });

  const { pool: anew } = await freshDatabase();
  await anew.query(
    "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now())",
  );
  await see(anew, ...seen);
  const after = await bars(pool, [2]);
  expect(after).not.toEqual(before);
  expect(after).toEqual(await bars(anew, [2]));
  expect(await bars(pool, [1])).toEqual(real);
  expect(real.length).toBeGreaterThan(20);
});

test("bars that reach over a close at 15:56 end with it after migrating, and all others stay as they are", async () => {
  const seen = [1, 2].flatMap((id) =>
    ["2005-06-01", "2005-06-02", "2005-06-03"].flatMap((date) =>
      Array.from({ length: 30 }, (_, n): Seen => ({
        ...{ at: `${date} ${15 + Math.floor(n / 20)}:${String((n % 20) * 3).padStart(2, "0")}`, id },
        ...{ bid: "9.5", ask: "10", last: String(10 + ((n * 7) % 5)), volume: String(10 * n) },
      })),
    ),
  );
  const filled = async (pool: pg.Pool): Promise<pg.Pool> => {
    await pool.query(
      "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now()), (2, 'CS', 'MSFT', now(), now())",
    );
    await see(pool, ...seen);
    return pool;
  };
  const barsOf = (pool: pg.Pool, dates: string) =>
    rowsOfQuery(pool, `select * from intraday_bars where ${dates} order by instrument_id, minutes, bar_at`);
  const { pool } = await freshDatabase({ migrated: false });
  const files = (await readMigrations()).filter(({ name }) => name < "0026");
  await migrate(pool, NOW, { files, toTimescaledb: false });
  await filled(pool);
  const others = await barsOf(pool, "date > '2005-06-01'");
  const before = await barsOf(pool, "date = '2005-06-01'");

  await migrate(pool, NOW, { toTimescaledb: false });

  const { pool: anew } = await freshDatabase();
  const after = await barsOf(pool, "date = '2005-06-01'");
  expect(after).not.toEqual(before);
  expect(after).toEqual(await barsOf(await filled(anew), "date = '2005-06-01'"));
  expect(await barsOf(pool, "date > '2005-06-01'")).toEqual(others);
  expect(others.length).toBeGreaterThan(20);
  expect(await rowsOfQuery(pool, "select date from late_days")).toEqual([{ date: "2005-06-01" }]);
});

import { expect, test } from "@jest/globals";
import type pg from "pg";
import { listsOfQuery, rowsOfQuery } from "../support/archive.ts";
import { handOnDatabases } from "../support/database.ts";
import { archive, see, addContracts } from "../support/observations.ts";

handOnDatabases();

const bars = (pool: pg.Pool, width: string, where = "true") =>
  rowsOfQuery(
    pool,
    `select to_char(bar_at at time zone 'America/New_York', 'DD HH24:MI') as at, session, open, high, low, close,
            trim_scale(mean_spread) as spread, quote_count as n, volume
     from bars_${width} where ${where} order by bar_at, delayed, source_name`,
  );

/** The rows of a query when `option_chain_latest` is to take a time for the present. */
async function asOf(pool: pg.Pool, time: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = await pool.connect();
  await client.query("select set_config('quotekeeper.as_of', $1, false)", [time]);
  const { rows } = await client.query<Record<string, unknown>>(sql).finally(() => client.release(true));
  return rows;
}

const FRIDAY = "2026-11-20";

test("bars hold open, high, low and close of the last price, the mean spread, and how many observations they rest on", async () => {
  const pool = await archive("AAPL");
  await see(
    pool,
    { at: `${FRIDAY} 10:00:01`, bid: "9.90", ask: "10.10", last: "10.00", volume: "100" },
    { at: `${FRIDAY} 10:00:20`, bid: "0", ask: "0", last: "12.50", volume: "150" },
    { at: `${FRIDAY} 10:00:40`, bid: "9.95", ask: "10.05", last: "9.0450", volume: "180" },
    { at: `${FRIDAY} 10:00:59.999999`, last: null, volume: null },
    { at: `${FRIDAY} 10:01:00`, bid: "1", ask: "3", last: "11", volume: "9007199254740993" },
  );

  const minutes = await bars(pool, "1m");
  expect(minutes.map((bar) => Object.values(bar))).toEqual([
    ["20 10:00", "regular", "10.00", "12.50", "9.0450", "9.0450", "0.15", "4", "80"],
    ["20 10:01", "regular", "11", "11", "11", "11", "2", "1", "9007199254740813"],
  ]);
  expect(await bars(pool, "5m")).toMatchObject([{ at: "20 10:00", open: "10.00", close: "11", n: "5" }]);
});

test("bars pass over a price of 0, which is no trade, and count its quote", async () => {
  const pool = await archive("AAPL", "MSFT");
  await see(
    pool,
    { at: `${FRIDAY} 10:00:01`, last: "0" },
    { at: `${FRIDAY} 10:00:02`, last: "10" },
    { at: `${FRIDAY} 10:00:03`, last: "12" },
    { at: `${FRIDAY} 10:00:04`, last: "0.00" },
    { at: `${FRIDAY} 10:00:01`, id: 2, last: "0" },
  );
  // Added to what is there.
  await see(pool, { at: `${FRIDAY} 10:00:05`, last: "0" }, { at: `${FRIDAY} 10:00:05`, id: 2, last: "0" });

  for (const width of ["1m", "5m", "1h", "1d"])
    expect(
      await rowsOfQuery(
        pool,
        `select open, high, low, close, quote_count as n from bars_${width} order by symbol`,
      ),
    ).toEqual([
      { open: "10", high: "12", low: "10", close: "12", n: "5" },
      { open: null, high: null, low: null, close: null, n: "2" },
    ]);
});

test("a daily bar follows twenty loaders that write the same session at the same time", async () => {
  const pool = await archive("AAPL", "MSFT", "IBM");
  await see(pool, { at: `${FRIDAY} 09:00`, last: "2" });

  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      see(
        pool,
        ...[1, 2, 3].map((id) => ({ at: `${FRIDAY} 10:${String(n + 10)}:00`, id, last: String(n + 1) })),
        { at: `${FRIDAY} 11:00`, id: 3, last: "50" },
      ),
    ),
  );

  expect(
    await rowsOfQuery(pool, "select open, high, close, quote_count as n from bars_1d order by symbol"),
  ).toEqual([
    { open: "2", high: "20", close: "20", n: "21" },
    { open: "1", high: "50", close: "50", n: "21" },
    { open: "1", high: "20", close: "20", n: "20" },
  ]);
});

test("latest_quotes has the newest quote of each instrument, source and kind of feed, also when an older one comes later", async () => {
  const pool = await archive("AAPL", "MSFT", "NEVER");
  await see(
    pool,
    { at: `${FRIDAY} 10:00`, last: "2", volume: "5" },
    { at: "2026-10-20 10:00", id: 2, last: "7" },
  );
  await see(pool, { at: "2026-11-19 10:00", last: "1" }, { at: `${FRIDAY} 09:59`, last: "1", delayed: true });

  expect(
    await rowsOfQuery(
      pool,
      "select symbol, delayed, last, volume from latest_quotes order by symbol, delayed",
    ),
  ).toEqual([
    { symbol: "AAPL", delayed: false, last: "2", volume: "5" },
    { symbol: "AAPL", delayed: true, last: "1", volume: null },
    { symbol: "MSFT", delayed: false, last: "7", volume: null },
  ]);
});

test("option_chain_latest shows calls and puts of a strike side by side, with mid, spread, delta and moneyness", async () => {
  const pool = await archive("AAPL");
  await addContracts(pool, [
    ["2026-12-18", "CALL", "100"],
    ["2026-12-18", "PUT", "100"],
    ["2026-12-18", "PUT", "80"],
  ]);
  await see(
    pool,
    { at: `${FRIDAY} 10:00`, last: "120" },
    { at: `${FRIDAY} 09:00`, id: 2, bid: "1", ask: "99" },
    { at: `${FRIDAY} 10:00`, id: 2, bid: "20.10", ask: "20.30", delta: "0.9" },
    { at: `${FRIDAY} 10:01`, id: 3, bid: "0.40", ask: "0.50", delta: "-3.0E-6" },
    { at: `${FRIDAY} 10:01`, id: 4, bid: "0.05", ask: "0.06" },
    { at: `${FRIDAY} 10:02`, id: 4, bid: "7", ask: "8", source: 2 },
  );

  const rows = await asOf(
    pool,
    "2026-11-21",
    `select strike, source, trim_scale(call_mid) as call_mid, call_spread, call_delta, trim_scale(put_mid) as put_mid, put_spread,
            put_delta, trim_scale(moneyness) as moneyness
     from option_chain_latest where underlying = 'AAPL' and expiration = '2026-12-18' order by source, strike`,
  );
  expect(rows.map((row) => Object.values(row))).toEqual([
    ["80", "account", null, null, null, "0.055", "0.01", null, "1.5"],
    ["100", "account", "20.2", "0.20", "0.9", "0.45", "0.10", "-0.0000030", "1.2"],
    ["80", "simulated", null, null, null, "7.5", "1", null, null],
  ]);
});

test("option_chain_latest is as of now unless it is told a time, and passes over prices of 0", async () => {
  const pool = await archive("AAPL");
  await pool.query(
    `insert into instruments (id, security_type, symbol, underlying_id, expiration, option_type, strike, first_seen_at, last_seen_at)
     select 1 + n, 'OPT', 'AAPL', 1, (now() at time zone 'America/New_York')::date + days, 'CALL', 100, now(), now()
     from unnest(array[-5, 5]) with ordinality as e (days, n)`,
  );
  await see(pool, ...[1, 3].map((id) => ({ at: `${FRIDAY} 10:00`, id, bid: "0", ask: "0", last: "0" })));

  const chain = "select call_instrument_id as id, call_mid, call_spread, moneyness from option_chain_latest";
  const passed = { call_mid: null, call_spread: null, moneyness: null };
  expect(await rowsOfQuery(pool, chain)).toEqual([{ id: 3, ...passed }]);
  expect(await asOf(pool, "", chain)).toEqual([{ id: 3, ...passed }]);
});

test("quotekeeper.as_of means one thing: option_chain_latest and option_surface have the contracts and the quotes of that time", async () => {
  const pool = await archive("AAPL");
  await addContracts(pool, [
    ["2026-11-20", "CALL", "100"],
    ["2026-12-18", "CALL", "100"],
  ]);
  await see(
    pool,
    ...["10:00", "12:00"].flatMap((time, hour) => [
      { at: `2026-11-19 ${time}`, bid: `${100 + hour}`, ask: `${100 + hour}`, last: `${100 + hour}` },
      ...[2, 3].map((id) => ({ at: `2026-11-19 ${time}`, id, bid: `${id + hour}`, ask: `${id + hour}` })),
    ]),
    { at: "2026-11-23 10:00", last: "110" },
    { at: "2026-11-23 10:00", id: 3, bid: "12", ask: "12" },
  );
  const both = async (time: string): Promise<unknown[]> => [
    await asOf(
      pool,
      time,
      "select expiration, call_bid as bid, underlying_last::int as spot from option_chain_latest order by 1",
    ),
    await asOf(pool, time, "select expiration, bid, spot::int from option_surface order by 1"),
  ];

  const before = [
    { expiration: "2026-11-20", bid: "2", spot: 100 },
    { expiration: "2026-12-18", bid: "3", spot: 100 },
  ];
  expect(await both("2026-11-19 11:00 America/New_York")).toEqual([before, before]);
  const after = [{ expiration: "2026-12-18", bid: "4", spot: 101 }];
  expect(await both("2026-11-20 16:00 America/New_York")).toEqual([after, after]);
  const last = [{ expiration: "2026-12-18", bid: "12", spot: 110 }];
  expect(await both("2026-11-24 00:00 America/New_York")).toEqual([last, last]);
  expect(await both("2026-11-19 09:00 America/New_York")).toEqual([[], []]);
});

test("dividend_calendar lists ex-dates ahead, and every change with what was said before", async () => {
  const pool = await archive("AAPL", "MSFT");
  await pool.query(
    `insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield)
     select now() + (place - 10) * interval '1 microsecond', id, 1, ((now() at time zone 'America/New_York')::date + days), amount, yield
     from (values (1, 1, -80, 0.24, 0.5), (2, 1, 10, 0.24, 0.5), (3, 1, 10, 0.25, 0.5), (4, 1, 10, 0.25, 0.6),
                  (5, 2, -1, 0.75, null)) as v (place, id, days, amount, yield)`,
  );

  const rows = await listsOfQuery(
    pool,
    "select symbol, change, amount, previous_amount, is_newest, is_ahead from dividend_calendar order by observed_at",
  );
  expect(rows).toEqual([
    ["AAPL", "first", "0.24", null, false, false],
    ["AAPL", "ex_date", "0.24", "0.24", false, false],
    ["AAPL", "amount", "0.25", "0.24", false, false],
    ["AAPL", "yield", "0.25", "0.25", true, true],
    ["MSFT", "first", "0.75", null, true, false],
  ]);
});

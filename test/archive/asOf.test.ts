/** The archive as of an instant, beside what a plain search of all rows finds. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import { rowsOfQuery } from "../support/archive.ts";
import { deltaOf, valueOf } from "../support/blackScholes.ts";
import { archive, see, type Seen, addContracts } from "../support/observations.ts";
import { runs } from "../support/runs.ts";

/** Two stocks, and contracts on the first: 3 and 4 until a Friday, 5 until the Friday before. */
async function world(): Promise<pg.Pool> {
  const pool = await archive("AAPL", "MSFT");
  const contracts = [
    ["2026-11-20", "CALL", "150.00"],
    ["2026-11-20", "PUT", "155"],
    ["2026-11-13", "CALL", "145"],
  ] as const;
  await addContracts(pool, contracts, 3);
  return pool;
}

/** Hours from the first of the instants. */
const hours = fc.integer({ min: 0, max: 240 });
const cents = fc.integer({ min: 0, max: 30_000 }).map((number) => (number / 100).toFixed(2));
const price = fc.option(cents, { nil: null });

const observation = fc.record({
  hour: hours,
  id: fc.integer({ min: 1, max: 5 }),
  source: fc.constantFrom(1, 2),
  delayed: fc.boolean(),
  bid: price,
  ask: price,
  last: price,
  volume: fc.option(fc.nat(1_000).map(String), { nil: null }),
});

const at = (hour: number): string => {
  const day = 10 + Math.floor(hour / 24);
  return `2026-11-${day} ${String(hour % 24).padStart(2, "0")}:00`;
};

const NEWEST = `
  select distinct on (q.instrument_id, q.source_id, q.delayed)
         q.instrument_id, q.source_id, q.delayed, q.observed_at, q.bid, q.ask, q.last, e.volume
  from quotes q
  left join extended_quotes e using (instrument_id, observed_at, source_id)
  where q.observed_at <= $1::timestamp at time zone 'America/New_York'
  order by q.instrument_id, q.source_id, q.delayed, q.observed_at desc`;

test("quotes_at has of each series the newest quote, chain_at and asof those of them that are asked for", async () => {
  const pool = await world();
  await fc.assert(
    fc.asyncProperty(fc.array(observation, { minLength: 1, maxLength: 40 }), hours, async (seen, hour) => {
      await pool.query("truncate quotes, extended_quotes, session_bars, intraday_bars");
      await see(pool, ...seen.map(({ hour: of, ...rest }): Seen => ({ ...rest, at: at(of) })));
      const instant = [at(hour)];
      const T = "($1::timestamp at time zone 'America/New_York')";

      const found = await rowsOfQuery(
        pool,
        `select instrument_id, source_id, delayed, observed_at, bid, ask, last, volume from quotes_at(${T})
         order by instrument_id, source_id, delayed`,
        instant,
      );
      const chain = await rowsOfQuery(
        pool,
        `select instrument_id, source_id, delayed, observed_at, bid, ask, last, spot from chain_at('AAPL', ${T})
         order by instrument_id, source_id, delayed`,
        instant,
      );
      const some = await rowsOfQuery(
        pool,
        `select instrument_id, delayed, observed_at, age from asof(${T}, '{MSFT,AAPL:2026-11-20:CALL:150,NONE,AAPL:2026-11-20:PUT:150}')
         order by instrument_id, source, delayed`,
        instant,
      );

      expect(found).toEqual(await rowsOfQuery(pool, NEWEST, instant));
      // The exchange closes at 16:00 on both Fridays.
      const contracts = await rowsOfQuery(
        pool,
        `with n as materialized (${NEWEST}), u as materialized (select * from quotes where instrument_id = 1)
         select n.instrument_id, n.source_id, n.delayed, n.observed_at, n.bid, n.ask, nullif(n.last, 0) as last,
                (select case when u.bid > 0 and u.ask > 0 then (u.bid + u.ask) / 2 else u.last end from u
                 where u.source_id = n.source_id and u.delayed = n.delayed
                   and u.observed_at <= n.observed_at and u.observed_at > n.observed_at - interval '1 day'
                   and (u.last > 0 or (u.bid > 0 and u.ask > 0))
                 order by u.observed_at desc limit 1) as spot
         from n
         where n.instrument_id in (3, 4) and $1 < '2026-11-20 16:00' or n.instrument_id = 5 and $1 < '2026-11-13 16:00'
         order by 1, 2, 3`,
        instant,
      );
      expect(chain).toEqual(contracts);
      expect(some).toEqual(
        await rowsOfQuery(
          pool,
          `with n as materialized (${NEWEST})
           select instrument_id, delayed, observed_at, ${T} - observed_at as age from n where instrument_id in (2, 3)
           order by instrument_id, (select kind from sources where id = source_id), delayed`,
          instant,
        ),
      );
    }),
    { numRuns: runs(10) },
  );
});

test("surface_at gives volatilities at which each side of the market is worth what it is quoted at, and none without a bid", async () => {
  const pool = await world();
  await see(
    pool,
    { at: "2026-11-10 11:00", id: 1, bid: "151.90", ask: "152.10", last: "150.00" },
    { at: "2026-11-10 11:00", id: 3, bid: "3.90", ask: "4.10", last: "4.00", delta: "0.63" },
    { at: "2026-11-10 11:00", id: 4, bid: "0", ask: "4.30", last: "4.00", delta: "-0.60" },
    // Less than it is worth to exercise it.
    { at: "2026-11-10 11:00", id: 5, bid: "6.00", ask: "6.50", last: "6.00" },
  );

  const rows = await rowsOfQuery(
    pool,
    `select strike::text, spot::text, round(years * 365 * 24)::int as hours, iv_bid < iv_mid and iv_mid < iv_ask as in_order,
            num_nulls(iv_bid, iv_mid, iv_ask, delta, delta_difference) as unknown,
            abs((option_value(option_type, spot::float8, strike::float8, years, iv_mid, 0.04, 0)).value - mid::float8) < 1e-9 as mid,
            abs((option_value(option_type, spot::float8, strike::float8, years, iv_ask, 0.04, 0)).value - ask::float8) < 1e-9 as ask,
            round((delta - service_delta::float8)::numeric, 12) = round(delta_difference::numeric, 12) as difference
     from surface_at('AAPL', '2026-11-10 12:00 America/New_York') order by instrument_id`,
  );

  const spot = "152.0000000000000000";
  expect(rows.map((row) => Object.values(row))).toEqual([
    ["150.00", spot, 245, true, 0, true, true, true],
    ["155", spot, 245, null, 4, null, true, null],
    ["145", spot, 77, null, 5, null, null, null],
  ]);
});

test("surface_at is what plain arithmetic makes of the quotes: spot, time, volatilities at which the model gives bid, mid and ask, and delta", async () => {
  const pool = await archive("AAPL");
  // Fridays without and with an early close, a Saturday whose session is Friday's, a holiday whose session is Thursday's.
  const closes = {
    "2026-11-20": "2026-11-20T21:00Z",
    "2026-11-27": "2026-11-27T18:00Z",
    "2026-12-19": "2026-12-18T21:00Z",
    "2027-03-26": "2027-03-25T20:00Z",
  };
  const contracts = Object.keys(closes).flatMap((expiration) =>
    (["CALL", "PUT"] as const).flatMap((type) =>
      [140, 150, 165].map((strike) => ({ expiration, type, strike })),
    ),
  );
  await addContracts(
    pool,
    contracts.map(({ expiration, type, strike }) => [expiration, type, `${strike}`]),
  );
  const time = "2026-11-10 11:07:13";
  const bidOf = (n: number): number => {
    const { type, strike } = contracts[n] ?? { type: "CALL", strike: 0 };
    return Math.max(type === "CALL" ? 151 - strike : strike - 151, 0) + 1.5 + (n % 5) / 4;
  };
  await see(
    pool,
    { at: time, bid: "150.95", ask: "151.05", last: "1" },
    ...contracts.map((_, n): Seen => ({
      at: time,
      id: n + 2,
      bid: `${bidOf(n)}`,
      ask: `${bidOf(n) + 0.5}`,
    })),
  );

  const rows = await rowsOfQuery(
    pool,
    `select instrument_id - 2 as n, spot::float8, years, iv_bid, iv_mid, iv_ask, delta
     from surface_at('AAPL', '2026-11-10 12:00 America/New_York') order by 1`,
  );

  expect(rows.map(({ n }) => n)).toEqual(contracts.map((_, n) => n));
  for (const [n, row] of (
    rows as Record<"spot" | "years" | "iv_bid" | "iv_mid" | "iv_ask" | "delta", number>[]
  ).entries()) {
    const { expiration, type, strike } = contracts[n] ?? { expiration: "", type: "CALL", strike: 0 };
    const seconds =
      (Date.parse(closes[expiration as keyof typeof closes]) - Date.parse("2026-11-10T16:07:13Z")) / 1_000;
    const option = { type, spot: 151, strike, years: seconds / (365 * 86_400), rate: 0.04 };
    const { spot, years, iv_bid, iv_mid, iv_ask, delta } = row;
    expect([spot, years]).toEqual([151, expect.closeTo(option.years, 12)]);
    for (const [place, iv] of [iv_bid, iv_mid, iv_ask].entries())
      expect([n, valueOf(option, iv)]).toEqual([n, expect.closeTo(bidOf(n) + place / 4, 8)]);
    expect([n, delta]).toEqual([n, expect.closeTo(deltaOf(option, iv_mid), 6)]);
  }
});

test("rate and dividend yield are settings, and option_surface is the surface of now or of quotekeeper.as_of", async () => {
  const pool = await world();
  await see(
    pool,
    { at: "2026-11-10 11:00", id: 1, bid: "151.90", ask: "152.10" },
    { at: "2026-11-10 11:00", id: 3, bid: "3.90", ask: "4.10" },
  );
  const client = await pool.connect();
  const ask = async (setting: string, value: string): Promise<unknown[]> => {
    await client.query("select set_config($1, $2, false)", [setting, value]);
    const { rows } = await client.query<{ iv: number }>(
      "select round(iv_mid::numeric, 3)::float8 as iv from option_surface",
    );
    return rows.map(({ iv }) => iv);
  };

  const answers = [
    await ask("quotekeeper.as_of", "2026-11-10T12:00-05"),
    await ask("quotekeeper.rate", "0.2"),
    await ask("quotekeeper.dividend_yield", "0.2"),
    await ask("quotekeeper.as_of", "2026-11-20T16:00-05"),
  ];
  client.release(true);

  const [first, higher, level, expired] = answers as number[][];
  expect(first).toHaveLength(1);
  expect(higher?.[0]).toBeLessThan(first?.[0] as number);
  expect(level?.[0]).toBeGreaterThan(higher?.[0] as number);
  expect(expired).toEqual([]);
});

/** What a living service says beyond the specification, in the views and functions beside what the archive reckons itself. */
import { beforeAll, expect, test } from "@jest/globals";
import type pg from "pg";
import { rowsOfQuery } from "../support/archive.ts";
import { addContracts, archive, see } from "../support/observations.ts";

const EXPIRATION = "2026-12-18";
const STOCK = 1;
const [CALL, PUT] = [2, 3];
const AT = "2026-11-20 10:30 America/New_York";

const GREEKS = { gamma: "0.0123", theta: "-0.051", vega: "0.204", rho: "0.11", delta: "0.51" };
const SAID = {
  quotedAt: "2026-11-20T15:29:41.000000Z",
  tradedAt: "2026-11-19T20:59:00.250000Z",
  openInterest: "20417",
  impliedVolatility: "0.31",
  bidIv: "0.3",
  askIv: "0.32",
  greeksAt: "2026-11-20T15:00:07.000000Z",
  ...GREEKS,
};

let pool: pg.Pool;

/** Rows of a view, as it is at the instant. */
async function rowsAsOf(sql: string): Promise<Record<string, unknown>[]> {
  const client = await pool.connect();
  try {
    await client.query(`set quotekeeper.as_of = '${AT}'`);
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    client.release(true);
  }
}

beforeAll(async () => {
  pool = await archive("AAPL");
  await addContracts(pool, [
    [EXPIRATION, "CALL", "150"],
    [EXPIRATION, "PUT", "150"],
  ]);
  await see(
    pool,
    { at: "2026-11-20 10:30", id: STOCK, bid: "149", ask: "151", last: "150", quotedAt: SAID.quotedAt },
    { at: "2026-11-20 10:30", id: CALL, bid: "6.9", ask: "7.1", ...SAID },
    { at: "2026-11-20 10:30", id: PUT, bid: "4.6", ask: "4.8", delta: "-0.1" },
  );
});

const columns = ["quoted_at", "traded_at", "open_interest", "greeks_at"];
const asText = (of: readonly string[]): string =>
  of
    .map((column) =>
      column.endsWith("_at")
        ? `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ${column}`
        : `${column}::text`,
    )
    .join(", ");
const [quoted, traded, interest, reckoned] = [SAID.quotedAt, SAID.tradedAt, SAID.openInterest, SAID.greeksAt];

test.each(["latest_quotes", `quotes_at('${AT}')`, `chain_at('AAPL', '${AT}')`])(
  "%s has what the service says of a contract, and NULL where the service says nothing",
  async (from) => {
    const all = [...columns, "implied_volatility", "bid_iv", "ask_iv", "gamma", "theta", "vega", "rho"];
    const found = await rowsOfQuery(
      pool,
      `select ${asText(all)} from ${from} where option_type is not null order by option_type`,
    );

    const { bidIv, askIv, impliedVolatility } = SAID;
    const { delta: _, ...greeks } = GREEKS;
    expect(found).toEqual([
      {
        ...{ quoted_at: quoted, traded_at: traded, open_interest: interest, greeks_at: reckoned },
        ...{ implied_volatility: impliedVolatility, bid_iv: bidIv, ask_iv: askIv },
        ...greeks,
      },
      Object.fromEntries(all.map((column) => [column, null])),
    ]);
  },
);

test("a surface has the service's volatilities and greeks beside ours, and the difference in the service's units", async () => {
  const pairs = [
    ["iv_mid", "service_iv_mid", 1],
    ["delta", "service_delta", 1],
    ["gamma", "service_gamma", 1],
    ["theta", "service_theta", 365],
    ["vega", "service_vega", 100],
    ["rho", "service_rho", 100],
  ] as const;

  for (const from of [`surface_at('AAPL', '${AT}')`, "option_surface"]) {
    const [call, put] = await rowsAsOf(`select * from ${from} order by option_type`);

    for (const [ours, theirs, per] of pairs) {
      const difference = Number(call?.[ours]) / per - Number(call?.[theirs]);
      expect(call?.[theirs]).not.toBeNull();
      expect(call?.[`${ours}_difference`]).toBeCloseTo(difference, 12);
    }
    expect(call).toMatchObject({ service_iv_bid: "0.3", service_iv_mid: "0.31", service_iv_ask: "0.32" });
    expect(call).toMatchObject({ open_interest: "20417", service_theta: "-0.051" });
    expect(put).toMatchObject({ service_iv_mid: null, iv_mid_difference: null, theta_difference: null });
    expect(put?.["iv_mid"]).toEqual(expect.any(Number));
    expect(put?.["delta_difference"]).toEqual(expect.any(Number));
  }
});

test("the newest chain has open interest, the service's volatility and the times of quote and trade on each side", async () => {
  const names = ["quoted_at", "traded_at", "open_interest", "implied_volatility"];
  const both = ["call", "put"].flatMap((side) => names.map((name) => `${side}_${name}`));

  const found = await rowsAsOf(`select ${asText(both)} from option_chain_latest`);

  expect(found).toEqual([
    {
      ...{ call_quoted_at: quoted, call_traded_at: traded },
      ...{ call_open_interest: interest, call_implied_volatility: "0.31" },
      ...{ put_quoted_at: null, put_traded_at: null, put_open_interest: null, put_implied_volatility: null },
    },
  ]);
});

test("a quote is as old as its bid and ask where the service says when these were made, and never younger than its answer", async () => {
  const ages = async (): Promise<unknown[]> =>
    (
      await rowsOfQuery(
        pool,
        `select instrument, age::text from asof('2026-11-20 10:31 America/New_York',
           '{AAPL,AAPL:${EXPIRATION}:CALL:150,AAPL:${EXPIRATION}:PUT:150}') order by instrument_id`,
      )
    ).map(({ age }) => age);

  expect(await ages()).toEqual(["00:01:19", "00:01:19", "00:01:00"]);
  await pool.query(
    "update quotes set quoted_at = observed_at + interval '3 seconds' where instrument_id = 1",
  );
  expect(await ages()).toEqual(["00:01:00", "00:01:19", "00:01:00"]);
});

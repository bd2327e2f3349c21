/** What a living service says of its quotes, in the JSON and the CSV of the dashboard; and which quotes stand still. */
import { beforeAll, expect, test } from "@jest/globals";
import type { ChainView, Contract, QuoteRow } from "../../src/archive/ask/dashboardTypes.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { addContracts, addStocks, see } from "../support/observations.ts";
import { type QuoteTable, rowsOf } from "../../src/web/api/quoteTable.ts";
import { askOn, openDashboard } from "./dashboard.ts";

const { url, pool } = await freshDatabase();
const reader = poolOn(url, { readOnly: true, max: 2 });

const EXPIRATION = "2026-12-18";
const [STOCK, CALL, PUT] = [1, 2, 3];

beforeAll(async () => {
  await addStocks(pool, ["AAPL"]);
  await addContracts(pool, [
    [EXPIRATION, "CALL", "150"],
    [EXPIRATION, "PUT", "150"],
  ]);
  await see(
    pool,
    { at: "2026-11-20 10:30", id: STOCK, bid: "149", ask: "151", last: "150" },
    {
      ...{ at: "2026-11-20 10:30", id: CALL, bid: "6.9", ask: "7.1", openInterest: "20417" },
      ...{ impliedVolatility: "0.31", bidIv: "0.3", askIv: "0.32", delta: "0.51", gamma: "0.0123" },
      ...{ theta: "-0.051", vega: "0.204", rho: "0.11", greeksAt: "2026-11-20T15:00:07.000000Z" },
      ...{ quotedAt: "2026-11-20T15:29:41.000000Z", tradedAt: "2026-11-19T20:59:00.250000Z" },
    },
    {
      ...{ at: "2026-11-20 10:30", id: PUT, bid: "4.6", ask: "4.8" },
      ...{ quotedAt: "2026-11-20T15:10:00.000000Z" },
    },
  );
});

const ask = askOn(reader);

const quotes = async (query = ""): Promise<QuoteRow[]> =>
  rowsOf(await ask<QuoteTable>(`/api/quotes${query}`));

const CHAIN = `symbol=AAPL&expiration=${EXPIRATION}&source=1&at=2026-11-20T16:00:00Z`;

async function contracts(): Promise<[call: Contract, put: Contract]> {
  const { contracts: found } = await ask<ChainView>(`/api/chain?${CHAIN}`);
  return found as [Contract, Contract];
}

test("a chain has the service's volatilities and greeks beside ours, the difference, open interest and the times", async () => {
  const [call, put] = await contracts();

  expect(call).toMatchObject({
    ...{ openInterest: "20417", serviceIvBid: "0.3", serviceIvMid: "0.31", serviceIvAsk: "0.32" },
    ...{ serviceDelta: "0.51", serviceGamma: "0.0123", serviceTheta: "-0.051", serviceVega: "0.204" },
    ...{ quotedAt: "2026-11-20T15:29:41Z", tradedAt: "2026-11-19T20:59:00.25Z" },
    ...{ greeksAt: "2026-11-20T15:00:07Z", stillSince: null },
  });
  expect(call.ivDifference).toBeCloseTo((call.ivMid ?? NaN) - 0.31, 12);
  expect(call.thetaDifference).toBeCloseTo((call.theta ?? NaN) / 365 + 0.051, 12);
  expect(call.vegaDifference).toBeCloseTo((call.vega ?? NaN) / 100 - 0.204, 12);
  expect(put).toMatchObject({
    ...{ openInterest: null, serviceIvMid: null, ivDifference: null, tradedAt: null, greeksAt: null },
    stillSince: "2026-11-20T15:10:00Z",
  });
});

test("a chain as a file has them too", async () => {
  const { get } = await openDashboard({ pool: reader });

  const [heading = "", first = ""] = (await (await get(`/api/chain.csv?${CHAIN}`)).text()).split("\r\n");
  const values = first.split(",");
  const call = Object.fromEntries(heading.split(",").map((name, place) => [name, values[place]]));

  expect(call).toMatchObject({
    ...{ open_interest: "20417", service_iv_mid: "0.31", service_theta: "-0.051", service_rho: "0.11" },
    ...{ quoted_at: "2026-11-20T15:29:41Z", greeks_at: "2026-11-20T15:00:07Z" },
  });
});

test("quotes have open interest, the service's volatility and its times", async () => {
  const rows = await quotes();

  expect(
    rows.map(({ openInterest, impliedVolatility, theta, quotedAt }) => [
      openInterest,
      impliedVolatility,
      theta,
      quotedAt,
    ]),
  ).toEqual([
    [null, null, null, null],
    ["20417", "0.31", "-0.051", "2026-11-20T15:29:41Z"],
    [null, null, null, "2026-11-20T15:10:00Z"],
  ]);
});

test.each([
  ["ten minutes and a second before its answer stands still", "11:00:01", "10:50:00", false, true],
  ["ten minutes before its answer does not", "11:00:00", "10:50:00", false, false],
  ["the evening before does not in the first ten minutes of a session", "09:40:00", "09:00:00", false, false],
  ["the evening before stands still when ten minutes have passed", "09:40:01", "09:00:00", false, true],
  ["long before its answer does not after the close", "16:00:00", "10:00:00", false, false],
  ["long before its answer does not before the opening", "09:29:59", "07:00:00", false, false],
  ["twenty-five minutes before a delayed answer does not", "11:00:00", "10:35:00", true, false],
  ["longer than that before a delayed answer stands still", "11:00:01", "10:35:00", true, true],
])("a quote that was made %s", async (_, observed, quoted, delayed, stands) => {
  const quotedAt = new Date(`2026-11-23T${quoted}-05:00`).toISOString().replace(".000Z", "Z");
  await see(pool, { at: `2026-11-23 ${observed}`, id: STOCK, delayed, bid: "1", ask: "2", quotedAt });

  const rows = await quotes("?names=AAPL");

  const row = rows.find((one) => one.delayed === delayed);
  expect(row).toMatchObject({ quotedAt, stillSince: stands ? quotedAt : null });
  await pool.query("delete from quotes where observed_at >= '2026-11-23'");
  await pool.query("delete from session_bars where date >= '2026-11-23'");
});

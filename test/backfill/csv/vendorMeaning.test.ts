/** What files of vendors mean, by questions to the archive that has imported them with the maps of docs/maps. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { handOnDatabases } from "../../support/database.ts";
import { type BackfillWorld, backfillWorld } from "../world.ts";
import { backfill, fileOf, letters } from "./csvFiles.ts";

handOnDatabases();

const MAPS = fileURLToPath(new URL("../../../docs/maps/", import.meta.url));

/** Imports a file with the map that ships for it. */
async function importAs(world: BackfillWorld, map: string, csv: string) {
  const done = await backfill(world, fileOf(csv), "--map", join(MAPS, `${map}.sql`));
  expect(await letters(world)).toEqual([]);
  return done;
}

/** The rows of a question, each as one text. */
async function ask(pool: pg.Pool, columns: string, from: string): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select concat_ws(' ', ${columns}) as line from ${from}`,
  );
  return rows.map(({ line }) => line);
}

/** A time in New York as Polygon writes it. */
function ns(local: string, offset = "-05:00"): string {
  return `${Date.parse(`${local}${offset}`)}000000`;
}

const AGGREGATES = "ticker,volume,open,close,high,low,window_start,transactions";

test("the volumes of a day's minute bars make up those of longer bars, and of the day", async () => {
  const world = await backfillWorld();

  await importAs(
    world,
    "polygon-minutes",
    `${AGGREGATES}
AAPL,1000,150.0,150.5,150.6,149.9,${ns("2026-11-18T09:30:00")},10
AAPL,500,150.5,150.7,150.8,150.4,${ns("2026-11-18T09:31:00")},5
AAPL,800,150.7,150.2,150.7,150.1,${ns("2026-11-18T09:32:00")},8
AAPL,9000,150.2,152.0,152.1,150.0,${ns("2026-11-18T15:59:00")},90
`,
  );

  const at = "to_char(bar_at at time zone 'America/New_York', 'HH24:MI'), session, close, volume";
  expect(await ask(world.pool, at, "bars_1m order by bar_at")).toEqual([
    "09:30 regular 150.5 1000",
    "09:31 regular 150.7 500",
    "09:32 regular 150.2 800",
    "15:59 regular 152.0 9000",
  ]);
  expect(await ask(world.pool, at, "bars_5m order by bar_at")).toEqual([
    "09:30 regular 150.2 2300",
    "15:55 regular 152.0 9000",
  ]);
  expect(await ask(world.pool, "date, volume", "bars_1d")).toEqual(["2026-11-18 11300"]);
});

test("nobody knows a bar's close before the bar has ended, nor a day's before the session has closed", async () => {
  const world = await backfillWorld();
  await importAs(
    world,
    "polygon-minutes",
    `${AGGREGATES}\nAAPL,1000,150.0,150.5,150.6,149.9,${ns("2026-11-18T09:30:00")},10\n`,
  );
  await importAs(
    world,
    "polygon-days",
    `${AGGREGATES}
MSFT,25000000,300,310.5,311,299,${ns("2026-11-18T00:00:00")},1000
MSFT,26000000,310,305.25,312,304,${ns("2026-11-19T00:00:00")},1000
`,
  );
  const known = (at: string): Promise<string[]> =>
    ask(
      world.pool,
      "instrument, last",
      `asof('${at} America/New_York', '{AAPL,MSFT}') where last is not null order by 1`,
    );

  expect(await known("2026-11-18 09:30:59")).toEqual([]);
  expect(await known("2026-11-18 09:31")).toEqual(["AAPL 150.5"]);
  expect(await known("2026-11-18 15:59:59")).toEqual(["AAPL 150.5"]);
  expect(await known("2026-11-18 16:00")).toEqual(["AAPL 150.5", "MSFT 310.5"]);
  expect(await known("2026-11-19 10:00")).toEqual(["AAPL 150.5", "MSFT 310.5"]);
  expect(await known("2026-11-19 16:00")).toEqual(["AAPL 150.5", "MSFT 305.25"]);
});

test.each(["stooq", "yahoo"])(
  "each day of an imported year of %s has its regular session",
  async (vendor) => {
    const world = await backfillWorld();
    const dates = createCalendar()
      .sessions("2025-01-01", "2025-12-31")
      .map(({ date }) => date);
    const lines = dates.map((date) =>
      vendor === "stooq"
        ? `AAPL.US,D,${date.replaceAll("-", "")},000000,150,151,149,150.5,1000,0`
        : `${date},150,151,149,150.5,150.5,1000`,
    );
    const header =
      vendor === "stooq"
        ? "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>"
        : "Date,Open,High,Low,Close,Adj Close,Volume";

    await importAs(world, vendor, `${header}\n${lines.join("\n")}\n`);

    expect(await ask(world.pool, "session, count(*)", "bars_5m group by session")).toEqual([
      `regular ${dates.length}`,
    ]);
    expect(await ask(world.pool, "count(*), min(close), max(close)", "bars_1d")).toEqual([
      `${dates.length} 150.5 150.5`,
    ]);
  },
);

const SUMMARY =
  "underlying_symbol,quote_date,root,expiration,strike,option_type,open,high,low,close,trade_volume,bid_size_1545," +
  "bid_1545,ask_size_1545,ask_1545,underlying_bid_1545,underlying_ask_1545,bid_size_eod,bid_eod,ask_size_eod,ask_eod," +
  "underlying_bid_eod,underlying_ask_eod,vwap,open_interest,delivery_code";

test("DataShop's options have a volatility at their snapshot, and their day only when it is over", async () => {
  const world = await backfillWorld();
  const csv = `${SUMMARY}
AAPL,2026-11-18,AAPL,2026-12-18,150.000,C,5.0,6.0,4.5,5.5,1834,55,5.10,61,5.20,150.10,150.14,12,5.40,40,5.50,150.6,150.7,5.2,417,
`;

  for (const map of ["datashop-quotes", "datashop-underlyings", "datashop-days"])
    await importAs(world, map, csv);

  const surface = (at: string): Promise<string[]> =>
    ask(
      world.pool,
      "trim_scale(spot), bid, ask, iv_mid between 0.25 and 0.4",
      `surface_at('AAPL', '2026-11-18 ${at} America/New_York')`,
    );
  expect(await surface("15:44:59")).toEqual([]);
  expect(await surface("15:45")).toEqual(["150.12 5.10 5.20 t"]);
  const chain = (at: string): Promise<string[]> =>
    ask(world.pool, "bid, last, volume", `chain_at('AAPL', '2026-11-18 ${at} America/New_York')`);
  expect(await chain("15:59:59")).toEqual(["5.10"]);
  expect(await chain("16:00")).toEqual(["5.40 5.5 1834"]);
});

test("on a day that closes early DataShop's snapshot is of 12:45, and a contract that ends that day is in the chain", async () => {
  const world = await backfillWorld();

  await importAs(
    world,
    "datashop-quotes",
    `${SUMMARY}
AAPL,2025-11-28,AAPL,2025-11-28,150.000,C,0,0,0,0,0,55,1.10,61,1.20,151.10,151.14,12,1.40,40,1.50,151.6,151.7,0,417,
`,
  );

  const chain = (at: string): Promise<string[]> =>
    ask(world.pool, "expiration, bid", `chain_at('AAPL', '2025-11-28 ${at} America/New_York')`);
  expect(await chain("12:44")).toEqual([]);
  expect(await chain("12:59")).toEqual(["2025-11-28 1.10"]);
  expect(await chain("13:00")).toEqual([]);
  expect(await ask(world.pool, "session", "bars_5m")).toEqual(["regular"]);
});

test("OptionMetrics' options find the stocks of its other file", async () => {
  const options = `date,symbol,exdate,cp_flag,strike_price,best_bid,best_offer,volume,open_interest,impl_volatility,delta,gamma,vega,theta,contract_size,ticker
20261118,AAPL 261218C150000,20261218,C,150000,5.1,5.2,1834,417,0.2861,0.51,0.0323,17.04,-29.2,100,AAPL
`;
  const stocks =
    "secid,date,ticker,low,high,open,close,volume\n1,20261118,AAPL,149.5,152.2,149.9,150.1,40424500\n";
  const world = await backfillWorld();

  await importAs(world, "optionmetrics-stocks", stocks);
  await importAs(world, "optionmetrics", options);

  const at = "surface_at('AAPL', '2026-11-18 15:59:59.999999 America/New_York')";
  expect(await ask(world.pool, "spot, strike, iv_mid between 0.25 and 0.4", at)).toEqual(["150.1 150 t"]);
});

test("a stock is one instrument, however the vendors of its prices write its class", async () => {
  const world = await backfillWorld();

  await importAs(
    world,
    "stooq",
    "<TICKER>,<DATE>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>\nBRK-B.US,20261118,503.5,506.7,502.1,504.35,35\n",
  );
  await importAs(world, "yahoo", "Date,Open,High,Low,Close,Volume\n2026-11-18,503.5,506.7,502.1,504.35,35\n");
  await importAs(
    world,
    "tiingo-daily",
    "date,close,high,low,open,volume\n2026-11-18,504.35,506.7,502.1,503.5,35\n",
  );
  await importAs(
    world,
    "polygon-days",
    `${AGGREGATES}\nBRK.B,35,503.5,504.35,506.7,502.1,${ns("2026-11-18T00:00:00")},9\n`,
  );

  expect(await ask(world.pool, "symbol", "instruments")).toEqual(["BRK.B"]);
  expect(await ask(world.pool, "count(*)", "quotes where last = 504.35")).toEqual(["4"]);
});

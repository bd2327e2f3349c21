import { beforeAll, expect, test } from "@jest/globals";
import { createPool } from "../../src/archive/connect/connect.ts";
import type { BarsView, ChainKey, ChainView, MissRow } from "../../src/archive/ask/dashboardTypes.ts";
import type { NowView } from "../../src/web/api/types.ts";
import { readBars } from "../../src/archive/ask/bars.ts";
import { readChain } from "../../src/archive/ask/chainRows.ts";
import { readQuotes } from "../../src/archive/ask/quotes.ts";
import { type QuoteTable, rowsOf } from "../../src/web/api/quoteTable.ts";
import { followOwnRows } from "../support/archive.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { openDashboard, SOURCES, askOn } from "./dashboard.ts";

const { url, pool } = await freshDatabase();
const reader = poolOn(url, { readOnly: true, max: 2 });

const AAPL = 1;
const ACCOUNT = 1;
const SIMULATED = 2;

/** Friday 2026-11-20: a regular session, 09:30 to 16:00 in New York, 14:30 to 21:00 UTC. */
beforeAll(async () => {
  await pool.query(`
    insert into instruments (id, security_type, symbol, description, expiration, option_type, strike, first_seen_at, last_seen_at)
    values (1, 'CS', 'AAPL', 'APPLE INC', null, null, null, now(), now()),
           (2, 'OPT', 'AAPL', null, '2026-12-18', 'CALL', 150.0, now(), now()),
           (3, 'OPT', 'AAPL', null, '2026-12-18', 'PUT', 150, now(), now()),
           (4, 'OPT', 'AAPL', null, '2026-12-18', 'CALL', 155, now(), now())`);
  await quote("2026-11-20 14:25:00", { last: "149.00", bid: "148.90", ask: "149.10", volume: 900 });
  await quote("2026-11-20 14:30:10", { last: "150.0100", bid: "150.00", ask: "150.02", volume: 1_000 });
  await quote("2026-11-20 14:30:50", { last: "151", bid: "0.00", ask: "0.00", volume: 1_500 });
  await quote("2026-11-20 14:31:10", { last: "149.5", bid: "149.4", ask: "149.6", volume: 2_500 });
  await quote("2026-11-20 14:31:20", { last: "1.25", bid: null, ask: null, volume: null, source: SIMULATED });
  await quote("2026-11-19 20:59:00", { last: "148", bid: "147.9", ask: "148.1", volume: 9_000 });
  for (const [at, id, last, bid, ask, volume, delta] of [
    ["14:30:11", 2, "9.1", "9.00", "9.25", 10, "0.61"],
    ["14:30:12", 3, "8.1", "8.00", "8.10", 11, "-0.39"],
    ["14:45:12", 3, "8.5", "8.40", "8.60", 12, "-0.40"],
  ] as const)
    await quote(`2026-11-20 ${at}`, { id, last, bid, ask, volume, delta });
  await pool.query(
    "insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield) values ('2026-11-18Z', 1, 1, '2026-11-20', 0.25, 0.5), ('2026-11-19Z', 1, 1, '2026-11-20', 0.26, 0.5), ('2026-11-19Z', 1, 2, '2026-11-20', 99, 9)",
  );
  await pool.query("insert into due_sets (id, digest, instruments) values (1, 'a', '{AAPL,MSFT}')");
  await pool.query(`insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id) values
    ('us', '2026-11-20 14:30Z', 1, 2, 2, 0, 1), ('us', '2026-11-20 14:31Z', 1, 2, 1, 1, 1),
    ('us', '2026-11-20 14:32Z', 1, 2, 0, 2, 1), ('us', '2026-11-20 14:33Z', 2, 2, 1, 1, 1)`);
  await pool.query(`insert into misses (job, slot_at, source_id, instrument, reason) values
    ('us', '2026-11-20 14:31Z', 1, 'MSFT', 'budget'), ('us', '2026-11-20 14:32Z', 1, '*', 'down'),
    ('us', '2026-11-20 14:33Z', 2, 'MSFT', 'malformed')`);
});

type Fields = {
  id?: number;
  source?: number;
  last: string;
  bid: string | null;
  ask: string | null;
  volume: number | null;
  delta?: string;
};

async function quote(
  at: string,
  { id = AAPL, source = ACCOUNT, last, bid, ask, volume, delta }: Fields,
): Promise<void> {
  const key = [`${at}Z`, id, source];
  await pool.query(
    "insert into quotes (observed_at, instrument_id, source_id, delayed, last, bid, ask) values ($1, $2, $3, false, $4, $5, $6)",
    [...key, last, bid, ask],
  );
  await pool.query(
    "insert into extended_quotes (observed_at, instrument_id, source_id, volume, delta) values ($1, $2, $3, $4, $5)",
    [...key, volume, delta ?? null],
  );
  await followOwnRows(pool);
}

const ask = askOn(reader);

test("the newest quotes come digit for digit, each source apart, securities before options", async () => {
  const rows = rowsOf(await ask<QuoteTable>("/api/quotes"));

  expect(rows.map(({ instrument, source, last }) => [instrument, source, last])).toEqual([
    ["AAPL", "account", "149.5"],
    ["AAPL", "simulated", "1.25"],
    ["AAPL:2026-12-18:CALL:150", "account", "9.1"],
    ["AAPL:2026-12-18:PUT:150", "account", "8.5"],
  ]);
  expect(rows[0]).toMatchObject({
    spread: "0.2",
    bid: "149.4",
    volume: "2500",
    observedAt: "2026-11-20T14:31:10Z",
  });
  expect(rows[1]).toMatchObject({ spread: null, bid: null, volume: null });
});

test("the page of an archive with simulated rows is marked", async () => {
  const { get } = await openDashboard({
    pool: reader,
    sources: { ...SOURCES, feed: { simulated: false, address: "https://x" } },
    attribution: "Data by X",
  });

  expect(await (await get("/api/now")).json()).toMatchObject({
    page: { simulated: true, attribution: "Data by X" },
    live: null,
  });
});

test("the mark of simulated rows stays while the database is away", async () => {
  const pool = createPool(url, { readOnly: true, max: 1 });
  const sources = { ...SOURCES, feed: { simulated: false, address: "https://x" } };
  const { get } = await openDashboard({ pool, sources });
  const simulated = async (): Promise<unknown> =>
    ((await (await get("/api/now")).json()) as NowView).page.simulated;
  const before = await simulated();

  await pool.end();

  expect([before, await simulated()]).toEqual([true, true]);
});

test("bars of a minute are those of the view, with the last bid and ask that were above 0", async () => {
  const { bars } = await ask<BarsView>("/api/bars?instrument=1&source=1&interval=1m&sessions=1");

  const all = (price: string) => ({ open: price, high: price, low: price, close: price });
  expect(bars).toMatchObject([
    {
      at: "2026-11-20T14:25:00Z",
      session: "pre",
      ...all("149.00"),
      bid: "148.90",
      ask: "149.10",
      volume: "0",
    },
    {
      at: "2026-11-20T14:30:00Z",
      ...all("150.0100"),
      high: "151",
      close: "151",
      bid: "150.00",
      volume: "600",
    },
    { at: "2026-11-20T14:31:00Z", ...all("149.5"), bid: "149.4", ask: "149.6", volume: "1000" },
  ]);
});

test("bars of a day come with the calendar and the dividends of their source, as it told them last", async () => {
  const view = await ask<BarsView>("/api/bars?instrument=1&source=1&interval=1d&sessions=5");

  expect(view.bars.map(({ date, close }) => [date, close])).toEqual([
    ["2026-11-19", "148"],
    ["2026-11-20", "149.5"],
  ]);
  expect(view.sessions.map(({ date, openAt }) => [date, openAt])).toEqual([
    ["2026-11-19", "2026-11-19T14:30:00Z"],
    ["2026-11-20", "2026-11-20T14:30:00Z"],
  ]);
  expect(view.dividends).toEqual([{ exDate: "2026-11-20", amount: "0.26", yield: "0.5" }]);
  expect(view.more).toBe(false);
});

test("bars say when older sessions were left out, and never mix sources", async () => {
  const account = await ask<BarsView>("/api/bars?instrument=1&source=1&interval=5m&sessions=1");
  const simulated = await ask<BarsView>("/api/bars?instrument=1&source=2&interval=5m&sessions=1");

  expect(account.more).toBe(true);
  expect(simulated.bars.map(({ close }) => close)).toEqual(["1.25"]);
  expect(simulated.more).toBe(false);
});

test("bars of the simulated market are of a session at any hour, and its sessions are the dates themselves", async () => {
  const { bars, sessions } = await ask<BarsView>("/api/bars?instrument=1&source=2&interval=1d&sessions=5");
  const minutes = await ask<BarsView>("/api/bars?instrument=1&source=2&interval=1m&sessions=5");

  expect(bars.map(({ date, session }) => [date, session])).toEqual([["2026-11-20", "regular"]]);
  expect(sessions.map(({ openAt, closeAt }) => [Date.parse(openAt), Date.parse(closeAt)])).toEqual([
    [Date.parse("2026-11-20T05:00:00Z"), Date.parse("2026-11-21T05:00:00Z")],
  ]);
  expect(minutes.sessions).toEqual([]);
});

test("bars as a file name their source in every line; absent values are empty", async () => {
  const { get } = await openDashboard({ pool: reader });

  const response = await get("/api/bars.csv?instrument=1&source=2&interval=1m&sessions=1");

  expect(response.headers.get("content-disposition")).toBe('attachment; filename="AAPL-1m-SIMULATED.csv"');
  expect((await response.text()).split("\r\n")).toEqual([
    "instrument,source,delayed,interval,date,session,bar_at,open,high,low,close,bid,ask,mean_spread,quote_count,volume,missing,reasons",
    "AAPL,simulated,false,1m,2026-11-20,regular,2026-11-20T14:31:00Z,1.25,1.25,1.25,1.25,,,,1,,0,",
    "",
  ]);
});

test("bars of an instrument that nobody knows are none", async () => {
  expect(await ask<BarsView>("/api/bars?instrument=77&source=1")).toMatchObject({ bars: [], more: false });
});

const path = "/api/chain?symbol=AAPL&expiration=2026-12-18&source=1";

test("the option chain has its expirations with how many contracts are stored", async () => {
  expect(await ask<ChainKey[]>("/api/chains")).toMatchObject([
    { symbol: "AAPL", expiration: "2026-12-18", source: "account", contracts: 2, delayed: false },
  ]);
});

test("the option chain of now has the newest of each contract, and the underlying", async () => {
  const chain = await ask<ChainView>(path);

  expect(chain.contracts).toMatchObject([
    { instrument: "AAPL:2026-12-18:CALL:150", bid: "9.00", mid: "9.125", ask: "9.25", serviceDelta: "0.61" },
    { instrument: "AAPL:2026-12-18:PUT:150", bid: "8.40", mid: "8.5", ask: "8.60", serviceDelta: "-0.40" },
  ]);
  expect(chain.underlyingLast).toBe("149.5");
  expect(chain.spans).toEqual([
    { date: "2026-11-20", from: "2026-11-20T14:30:11Z", to: "2026-11-20T14:45:12Z" },
  ]);
});

test("the option chain of a past instant knows nothing that came later", async () => {
  const then = await ask<ChainView>(`${path}&at=2026-11-20T14:30:11.5Z`);
  const later = await ask<ChainView>(`${path}&at=2026-11-20T14:45:11Z`);
  const before = await ask<ChainView>(`${path}&at=2026-11-20T14:30:05Z`);

  expect(then.contracts.map(({ instrument }) => instrument)).toEqual(["AAPL:2026-12-18:CALL:150"]);
  expect(then.underlyingLast).toBe("150.0100");
  expect(later.contracts.map(({ bid }) => bid)).toEqual(["9.00", "8.00"]);
  expect(before).toMatchObject({ contracts: [], underlyingLast: "149.00" });
});

test("a price of 0 is no trade, in quotes, bars and chains", async () => {
  const database = await freshDatabase();
  await database.pool.query(`
      insert into instruments (id, security_type, symbol, expiration, option_type, strike, first_seen_at, last_seen_at)
      values (1, 'CS', 'AAPL', null, null, null, now(), now()), (2, 'OPT', 'AAPL', '2026-12-18', 'CALL', 150, now(), now());
      insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
      values ('2026-11-20 14:30:10Z', 1, 1, false, 149, 151, 150), ('2026-11-20 14:30:50Z', 1, 1, false, 0, 0, 0),
             ('2026-11-20 14:30:50Z', 2, 1, false, 0, 0, 0)`);
  await followOwnRows(database.pool);
  const series = { instrumentId: 1, sourceId: 1, delayed: false };

  const chain = await readChain(database.pool, {
    symbol: "AAPL",
    expiration: "2026-12-18",
    sourceId: 1,
    delayed: false,
    at: null,
  });
  expect(chain).toMatchObject({ underlyingLast: "150", contracts: [{ mid: null, last: null, bid: "0" }] });
  expect((await readQuotes(database.pool)).map(({ last, bid }) => [last, bid])).toEqual([
    [null, "0"],
    [null, "0"],
  ]);
  for (const interval of ["1m", "5m", "1h", "1d"] as const)
    expect((await readBars(database.pool, series, { interval, sessions: 1 })).view.bars).toMatchObject([
      { open: "150", high: "150", low: "150", close: "150", quoteCount: "2" },
    ]);
});

test("coverage tells why: misses of the instrument and those of all, of one source", async () => {
  const misses = await ask<MissRow[]>("/api/misses?date=2026-11-20&instrument=MSFT&source=account");

  const at = (time: string) => ({ firstAt: `2026-11-20T${time}Z`, lastAt: `2026-11-20T${time}Z` });
  expect(misses).toEqual([
    { job: "us", reason: "budget", count: 1, ...at("14:31:00") },
    { job: "us", reason: "down", count: 1, ...at("14:32:00") },
  ]);
});

/** What the page asks of quotes: of some instruments, in some columns, packed; and the search for an instrument. */
import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { beforeAll, expect, test } from "@jest/globals";
import { readQuotes } from "../../src/archive/ask/quotes.ts";
import { type QuoteTable, rowsOf } from "../../src/web/api/quoteTable.ts";
import type { FoundInstruments, QuoteRow } from "../../src/archive/ask/dashboardTypes.ts";
import type { NowView, PageFacts } from "../../src/web/api/types.ts";
import { followOwnRows } from "../support/archive.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { openDashboard, SOURCES, askOn } from "./dashboard.ts";

const { url, pool } = await freshDatabase();
const reader = poolOn(url, { readOnly: true, max: 2 });
const EXCHANGE = { feed: { simulated: false, address: "https://x" } };

beforeAll(async () => {
  await pool.query(`
    insert into instruments (id, security_type, symbol, description, expiration, option_type, strike, first_seen_at, last_seen_at)
    values (1, 'CS', 'TS', 'TRIPLE-S', null, null, null, now(), now()),
           (2, 'CS', 'TSLA', 'TESLA INC', null, null, null, now(), now()),
           (3, 'CS', 'AAPL', 'APPLE INC', null, null, null, now(), now()),
           (4, 'CS', 'APLE', 'Apple Hospitality REIT', null, null, null, now(), now()),
           (5, 'OPT', 'AAPL', null, '2099-12-18', 'CALL', 150.00, now(), now()),
           (6, 'OPT', 'AAPL', null, '2099-12-18', 'PUT', 150, now(), now()),
           (7, 'OPT', 'AAPL', null, '2099-06-19', 'CALL', 150, now(), now()),
           (8, 'OPT', 'AAPL', null, '2020-06-19', 'CALL', 150, now(), now()),
           (9, 'OPT', 'AAPL', null, '2099-12-18', 'CALL', 97.5, now(), now()),
           (10, 'CS', 'A_B', '100% LEVERAGED', null, null, null, now(), now()),
           (11, 'CS', 'AXB', null, null, null, null, now(), now())`);
  await pool.query(`
    insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change)
    select '2026-11-20 15:00Z', id, 1, id = 2, id, id + 0.50, id + 0.25, -0.10, null from instruments where id < 10`);
  await pool.query(`
    insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, ask_size, volume)
    select '2026-11-20 15:00Z', id, 1, 100, 200, 12345678 from instruments where id < 10`);
  await followOwnRows(pool);
});

const ask = askOn(reader);

const found = (text: string): Promise<FoundInstruments> =>
  ask<FoundInstruments>(`/api/instruments?search=${encodeURIComponent(text)}`);
const find = async (text: string): Promise<string[]> =>
  (await found(text)).instruments.map(({ instrument }) => instrument);

test("quotes of some instruments are theirs alone, however their names are written", async () => {
  const names = "tsla,AAPL:2099-12-18:call:150.0,NOSUCH";

  const rows = rowsOf(await ask<QuoteTable>(`/api/quotes?names=${names}`));

  expect(rows.map(({ instrument }) => instrument)).toEqual(["TSLA", "AAPL:2099-12-18:CALL:150"]);
  expect((await ask<QuoteTable>("/api/quotes?names=NOSUCH")).rows).toEqual([]);
});

test("quotes as a table have the columns that were asked for, and the page unpacks the very rows", async () => {
  const rows = await readQuotes(reader);
  const table = await ask<QuoteTable>("/api/quotes?columns=last,description");
  const whole = await ask<QuoteTable>(
    "/api/quotes?columns=bid,ask,spread,last,change,pctChange,bidSize,askSize,volume,delta,description",
  );

  expect(table.rows[1]).toEqual([
    4,
    "APLE",
    1,
    false,
    "2026-11-20T15:00:00Z",
    "4.25",
    "Apple Hospitality REIT",
  ]);
  expect(table.sources).toEqual({ 1: ["account", "account"] });
  expect(rowsOf(table)[1]).toMatchObject({ last: "4.25", bid: null, source: "account", symbol: "APLE" });
  // A contract's name writes its strike without zeros at the end.
  const plain = (row: QuoteRow): QuoteRow => ({ ...row, strike: row.strike && String(Number(row.strike)) });
  expect(rowsOf(whole)).toEqual(rows.map(plain));
});

test("the search for an instrument has the symbol itself first, then symbols that begin so, then contracts, then descriptions", async () => {
  expect(await find("ts")).toEqual(["TS", "TSLA"]);
  expect(await find("tsl")).toEqual(["TSLA"]);
  expect((await find("aapl"))[0]).toBe("AAPL");
  expect(await find("apple")).toEqual(["AAPL", "APLE"]);
  expect(await find("apple hosp")).toEqual(["APLE"]);
  expect(await find("s")).toEqual(["TS"]);
  expect(await find("ple")).toEqual([]);
});

test("the search for an instrument finds contracts by expiration, strike and type, the next to expire first, expired ones last", async () => {
  expect(await find("AAPL 150C")).toEqual([
    "AAPL:2099-06-19:CALL:150",
    "AAPL:2099-12-18:CALL:150",
    "AAPL:2020-06-19:CALL:150",
  ]);
  expect(await find("aapl:2099-12")).toEqual([
    "AAPL:2099-12-18:CALL:97.5",
    "AAPL:2099-12-18:CALL:150",
    "AAPL:2099-12-18:PUT:150",
  ]);
  expect(await find("AAPL 2099-12-18 pu")).toEqual(["AAPL:2099-12-18:PUT:150"]);
  expect(await find("AAPL:2099-12-18:CALL:97.5")).toEqual(["AAPL:2099-12-18:CALL:97.5"]);
  expect(await find("AAPL 2099 97")).toEqual(["AAPL:2099-12-18:CALL:97.5"]);
});

test("the search for an instrument takes every sign as itself", async () => {
  expect(await find("A_")).toEqual(["A_B"]);
  expect(await find("100%")).toEqual(["A_B"]);
  expect(await find("%")).toEqual([]);
  expect(await find("'; select 1 --")).toEqual([]);
});

test("the search for nothing finds the archive's first instruments, twenty at most, and says how many there are", async () => {
  await pool.query(`insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at)
      select 100 + n, 'CS', 'ZZ' || n, now(), now() from generate_series(1, 30) n`);

  const first = await find("");
  const { instruments, total } = await found("zz");
  await pool.query("delete from instruments where symbol like 'ZZ%'");

  expect(first).toHaveLength(20);
  expect([instruments.length, total]).toEqual([20, 30]);
  expect(await found("zz")).toEqual({ instruments: [], total: 0 });
  expect(first.every((name) => !name.includes(":"))).toBe(true);
});

/** The answer as it goes over the wire: `fetch` unpacks by itself. */
function raw(address: string, path: string, accepted: string): Promise<{ encoding?: string; body: Buffer }> {
  return new Promise((resolve, reject) => {
    request(`${address}${path}`, { headers: { "accept-encoding": accepted } }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => {
        const encoding = response.headers["content-encoding"];
        resolve({ body: Buffer.concat(pieces), ...(encoding !== undefined && { encoding }) });
      });
    })
      .on("error", reject)
      .end();
  });
}

test("an answer that is long goes packed to whoever takes it, and is the same", async () => {
  const { address } = await openDashboard({ pool: reader });

  const packed = await raw(address, "/api/quotes", "br, gzip;q=0.8");
  const plain = await raw(address, "/api/quotes", "identity");
  const refused = await raw(address, "/api/quotes", "gzip;q=0");
  const short = await raw(address, "/api/chains", "gzip");

  expect([packed, plain, refused, short].map(({ encoding }) => encoding)).toEqual(["gzip", ...Array(3)]);
  expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  expect(packed.body.length).toBeLessThan(plain.body.length / 3);
  expect(refused.body.equals(plain.body)).toBe(true);
});

test("the page's frame says that sources are mixed as soon as the archive has quotes of two", async () => {
  const before = await openDashboard({ pool: reader, sources: { ...SOURCES, ...EXCHANGE } });
  const meta = async ({ get }: typeof before): Promise<PageFacts> =>
    ((await (await get("/api/now")).json()) as NowView).page;
  const one = await meta(before);
  await pool.query(
    "insert into quotes (observed_at, instrument_id, source_id, delayed, last) values ('2026-11-20 15:01Z', 3, 2, false, 7)",
  );
  await followOwnRows(pool);
  const after = await openDashboard({ pool: reader, sources: { ...SOURCES, ...EXCHANGE } });

  expect(one).toMatchObject({ simulated: false, mixed: false });
  expect(await meta(after)).toMatchObject({ simulated: true, mixed: true });
});

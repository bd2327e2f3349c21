/** When contracts end that are settled by opening prices: in SQL as in the program, in chains, volatilities and the page's questions. */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { ensureExpirations } from "../../src/archive/schema/sessions.ts";
import { readContracts, readTerm } from "../../src/archive/ask/chainRows.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { addDays } from "../../src/market/calendar/dates.ts";
import { expiresAt, monthlyExpiration } from "../../src/market/expirations.ts";
import { SETTLEMENT_OF_ROOT } from "../../src/market/settlement.ts";
import { backfill, fileOf } from "../backfill/csv/csvFiles.ts";
import { backfillWorld } from "../backfill/world.ts";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { type Option, valueOf } from "../support/blackScholes.ts";
import { freshDatabase, handOnDatabases } from "../support/database.ts";

handOnDatabases();

const nyse = createCalendar();

/** Each monthly date of ten years with the days about it, Good Fridays, a Saturday of 2014 and 2026-06-19 among them. */
const DATES = [2013, 2014, 2015, 2019, 2020, 2022, 2025, 2026, 2027, 2028].flatMap((year) =>
  Array.from({ length: 12 }, (_, month) => monthlyExpiration(year, month + 1, nyse)).flatMap((date) =>
    [-7, -2, -1, 0, 1, 5].map((days) => addDays(date, days)),
  ),
);

const CONTRACTS = [
  ...[...SETTLEMENT_OF_ROOT.keys()].map((underlying) => ({ underlying })),
  ...["SPX", "SPXW", "SPXPM"].map((root) => ({ underlying: "^SPX", root })),
  ...["^SPX", "$VIX", "AAPL", "BRK.B", "SPXL"].map((underlying) => ({ underlying })),
  { underlying: "XSP", root: "XSPAM" },
  { underlying: "AAPL", root: "AAPL1" },
];

test("SQL and the program know the same roots, and the same ends of contracts on each session of ten years", async () => {
  const { pool } = await freshDatabase();
  await inTransaction(pool, (client) => ensureExpirations(client, DATES));
  const sessions = DATES.filter((date) => nyse.session(date) !== null);
  const asked = CONTRACTS.flatMap((contract) =>
    sessions.map((expiration) => ({ root: null, ...contract, expiration })),
  );

  const rows = await rowsOfQuery(
    pool,
    `select extract(epoch from expires_at(underlying, expiration, root))::float8 * 1000 as at
     from rows from (json_to_recordset($1) as (underlying text, root text, expiration date)) with ordinality order by ordinality`,
    [JSON.stringify(asked)],
  );

  const differing = asked.filter(
    ({ root, ...contract }, place) =>
      rows[place]?.["at"] !== expiresAt(root === null ? contract : { ...contract, root }, nyse).getTime(),
  );
  expect(rows).toHaveLength(asked.length);
  expect(differing).toEqual([]);
  const [{ text = "" } = {}] = await rowsOfQuery(
    pool,
    "select pg_get_functiondef('expires_at(text, date, text)'::regprocedure) as text",
  );
  const inSql = [...String(text).matchAll(/'([A-Z]+)'/gu)].map(([, root]) => root);
  const inProgram = [...SETTLEMENT_OF_ROOT].flatMap(([root, settled]) => (settled === "close" ? [] : [root]));
  expect(inSql.sort()).toEqual(inProgram.sort());
});

test.each([
  ["SPX", "2026-12-18", "SPX", "2026-12-18 14:30:00+00"],
  ["SPX", "2026-12-18", null, "2026-12-18 14:30:00+00"],
  ["SPX", "2026-12-18", "SPXW", "2026-12-18 21:00:00+00"],
  ["SPX", "2026-12-16", null, "2026-12-16 21:00:00+00"],
  // A third Friday that is a holiday, and a Saturday of before 2015.
  ["NDX", "2026-06-18", null, "2026-06-18 13:30:00+00"],
  ["RUT", "2014-03-22", null, "2014-03-21 13:30:00+00"],
  ["VIX", "2026-12-16", null, "2026-12-16 14:30:00+00"],
  ["VIX", "2026-12-23", "VIXW", "2026-12-23 14:30:00+00"],
  ["XSP", "2026-12-18", null, "2026-12-18 21:00:00+00"],
  ["AAPL", "2026-12-18", null, "2026-12-18 21:00:00+00"],
  ["SPX", "2199-12-20", "SPX", null],
])("a contract of %s of %s with the root %s ends at %s", async (symbol, date, root, at) => {
  const { pool } = await freshDatabase();
  await inTransaction(pool, (client) =>
    ensureExpirations(
      client,
      ["2014-03-22", "2026-12-18"].filter((one) => one.slice(0, 4) === date.slice(0, 4)),
    ),
  );

  expect(await rowsOfQuery(pool, "select expires_at($1, $2, $3) as at", [symbol, date, root])).toEqual([
    { at },
  ]);
});

/** Calls of both roots of one Friday, quoted at the close of Thursday. */
async function bothRoots(): Promise<pg.Pool> {
  const world = await backfillWorld();
  const csv = [
    "symbol,root,expiration,option_type,strike,observed_at,bid,ask",
    "SPX,,,,,2026-12-17 15:59:59-05:00,4999,5001",
    ...["SPX", "SPXW"].map((root) => `SPX,${root},2026-12-18,CALL,5000,2026-12-17 15:59:59-05:00,19,21`),
    "",
  ].join("\n");
  expect(await backfill(world, fileOf(csv))).toMatchObject({ report: { stored: 3 } });
  return world.pool;
}

test("of one third Friday SPX has 17.5 hours at Thursday's close and SPXW 24, and each the volatility of its own", async () => {
  const pool = await bothRoots();

  const rows = await rowsOfQuery(
    pool,
    `select i.root, s.years * 365 * 24 as hours, s.iv_mid
     from surface_at('SPX', '2026-12-17 16:00 America/New_York') s join instruments i on i.id = s.instrument_id
     order by i.root nulls first`,
  );

  expect(rows.map(({ root }) => root)).toEqual([null, "SPXW"]);
  for (const [place, hours] of [17.5, 24].entries()) {
    const { hours: found, iv_mid: volatility } = rows[place] as { hours: number; iv_mid: number };
    expect(found).toBeCloseTo(hours + 1 / 3_600, 6);
    const call: Option = { type: "CALL", spot: 5_000, strike: 5_000, years: found / 24 / 365, rate: 0.04 };
    expect(valueOf(call, volatility)).toBeCloseTo(20, 6);
  }
});

test("from the open on SPX is gone from the chains of a third Friday, and SPXW at the close", async () => {
  const pool = await bothRoots();
  const client = await pool.connect();
  const roots = async (at: string): Promise<unknown[]> => {
    await client.query(`set quotekeeper.as_of = '${at} America/New_York'`);
    const views = [
      ["chain_at('SPX', as_of())", "instrument_id"],
      ["option_surface", "instrument_id"],
      ["option_chain_latest", "call_instrument_id"],
    ];
    const found: string[][] = [];
    for (const [view, id] of views) {
      const { rows } = await client.query<{ root: string | null }>(
        `select i.root from ${view} v join instruments i on i.id = v.${id} order by 1 nulls first`,
      );
      found.push(rows.map(({ root }) => root ?? "SPX"));
    }
    return found;
  };

  const all = [
    await roots("2026-12-18 09:29:59.999999"),
    await roots("2026-12-18 09:30"),
    await roots("2026-12-18 16:00"),
  ];
  client.release(true);

  expect(all).toEqual([["SPX", "SPXW"], ["SPXW"], []].map((some) => [some, some, some]));
});

test("the page shows a chain that was settled in the morning as it was before the open", async () => {
  const pool = await bothRoots();
  const [{ id } = { id: 0 }] = await rowsOfQuery(pool, "select source_id as id from quotes limit 1");
  const at = "2026-12-18T20:00:00Z";
  const query = { expiration: "2026-12-18", sourceId: Number(id), delayed: false, at };

  for (const symbol of ["SPX", "SPX/SPXW"]) {
    expect(await readContracts(pool, { ...query, symbol })).toMatchObject([
      { symbol: "SPX", strike: "5000" },
    ]);
    expect(await readTerm(pool, { ...query, symbol })).toMatchObject([{ expiration: "2026-12-18" }]);
  }
});

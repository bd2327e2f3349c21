/** What chains are planned by: of each symbol the newest quote that has a price, and the expirations of its stored contracts. */
import { expect, test } from "@jest/globals";
import { readKnownOfChains } from "../../src/archive/ask/quotes.ts";
import { followOwnRows } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";

const { pool } = await freshDatabase();

type Given = { symbol: string; source: number; minute: number; last: string | null; option?: true };

async function store(quotes: readonly Given[]): Promise<void> {
  await pool.query(
    `insert into instruments (security_type, symbol, expiration, option_type, strike, first_seen_at, last_seen_at)
     select distinct case when option then 'OPT' else 'CS' end, symbol, case when option then date '2026-12-18' end,
       case when option then 'CALL' end, case when option then 150 end, now(), now()
     from json_to_recordset($1) as q (symbol text, option boolean)`,
    [JSON.stringify(quotes)],
  );
  await pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, last)
     select timestamptz '2026-11-20 15:00Z' + minute * interval '1 minute' + row_number() over () * interval '1 us', i.id, source, false, last
     from json_to_recordset($1) as q (symbol text, source int, minute int, last numeric, option boolean)
       join instruments i on i.symbol = q.symbol and (i.option_type is not null) = coalesce(q.option, false)`,
    [JSON.stringify(quotes)],
  );
  await followOwnRows(pool);
}

test("the newest price of whichever source counts; a zero, a missing one and a contract's are none", async () => {
  await store([
    { symbol: "AAPL", source: 1, minute: 0, last: "100.10" },
    { symbol: "AAPL", source: 1, minute: 1, last: "100.20" },
    { symbol: "AAPL", source: 2, minute: 2, last: "100.30" },
    { symbol: "AAPL", source: 1, minute: 3, last: "4.05", option: true },
    { symbol: "MSFT", source: 1, minute: 1, last: "400.5" },
    { symbol: "MSFT", source: 2, minute: 2, last: "0" },
    { symbol: "HALT", source: 1, minute: 1, last: "0" },
    { symbol: "NEW", source: 1, minute: 1, last: null },
    { symbol: "GE", source: 1, minute: 1, last: "90" },
  ]);

  const symbols = ["AAPL", "MSFT", "HALT", "NEW", "NOBODY", "AAPL"];
  const { prices, expirations } = await readKnownOfChains(pool, symbols, "2026-12-18");

  expect(Object.fromEntries(prices)).toEqual({ AAPL: "100.30", MSFT: "400.5" });
  expect(expirations).toEqual([["AAPL", ["2026-12-18"]]]);
  expect((await readKnownOfChains(pool, symbols, "2026-12-19")).expirations).toEqual([]);
  expect(await readKnownOfChains(pool, [], "2026-12-18")).toEqual({ prices: [], expirations: [] });
});

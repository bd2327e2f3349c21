/** Coverage: expected against stored, by instrument and day of the exchange. */
import { beforeEach, expect, test } from "@jest/globals";
import { readCoverage } from "../../src/archive/ledger/coverageRows.ts";
import { insertLedger } from "../../src/archive/ledger/ledgerRows.ts";
import { instantFromDate } from "../../src/clock.ts";
import type { MissReason } from "../../src/journal/ledger.ts";
import { freshDatabase } from "../support/database.ts";

const { pool } = await freshDatabase();

beforeEach(async () => {
  await pool.query("truncate slots, misses, due_sets cascade");
});

async function slot(
  at: string,
  due: string[],
  misses: [string, MissReason][] = [],
  job = "list",
): Promise<void> {
  const client = await pool.connect();
  const slotAt = instantFromDate(new Date(at));
  await insertLedger(client, [{ type: "slots", entries: [{ job, slotAt, due, misses }] }]);
  client.release();
}

test("the worst comes first, with its reasons counted, and what was never missed is there too", async () => {
  await slot(
    "2026-11-20T14:30:00Z",
    ["AAPL", "GE", "KO"],
    [
      ["KO", "budget"],
      ["GE", "budget"],
    ],
  );
  await slot("2026-11-20T14:31:00Z", ["AAPL", "GE", "KO"], [["KO", "unknown_symbol"]]);

  const rows = await readCoverage(pool, "2026-11-20", "2026-11-20");

  expect(rows).toEqual([
    {
      ...{ date: "2026-11-20", source: "account", instrument: "KO", expected: 2, stored: 0, missed: 2 },
      reasons: { budget: 1, unknown_symbol: 1 },
    },
    {
      date: "2026-11-20",
      source: "account",
      instrument: "GE",
      expected: 2,
      stored: 1,
      missed: 1,
      reasons: { budget: 1 },
    },
    {
      date: "2026-11-20",
      source: "account",
      instrument: "AAPL",
      expected: 2,
      stored: 2,
      missed: 0,
      reasons: {},
    },
  ]);
});

test("a slot counts for the day that the exchange's clocks show at it", async () => {
  await slot("2026-11-21T00:30:00Z", ["AAPL"]);
  await slot("2026-11-21T05:30:00Z", ["AAPL"]);

  const rows = await readCoverage(pool, "2026-11-20", "2026-11-21");

  expect(rows.map(({ date, expected }) => [date, expected])).toEqual([
    ["2026-11-20", 1],
    ["2026-11-21", 1],
  ]);
});

test("an instrument of two jobs is expected by both", async () => {
  await slot("2026-11-20T14:30:00Z", ["AAPL"], [], "one");
  await slot("2026-11-20T14:30:00Z", ["AAPL"], [["AAPL", "down"]], "other");

  expect(await readCoverage(pool, "2026-11-20", "2026-11-20")).toMatchObject([
    { expected: 2, stored: 1, missed: 1 },
  ]);
});

/** Coverage: expected against stored, by instrument and day of the exchange. */
import { beforeEach, expect, test } from "@jest/globals";
import { readCoverage } from "../../src/archive/ledger/coverageRows.ts";
import { freshDatabase } from "../support/database.ts";
import { insertNotes, slotNote } from "../support/ledger.ts";

const { pool } = await freshDatabase();

beforeEach(async () => {
  await pool.query("truncate slots, misses, due_sets cascade");
});

const add = (...given: Parameters<typeof slotNote>): Promise<number> => insertNotes(pool, slotNote(...given));

test("the worst comes first, with its reasons counted, and what was never missed is there too", async () => {
  await add("14:30", ["AAPL", "GE", "KO"], { KO: "budget", GE: "budget" });
  await add("14:31", ["AAPL", "GE", "KO"], { KO: "unknown_symbol" });

  const rows = await readCoverage(pool, "2026-11-20", "2026-11-20");

  const day = { date: "2026-11-20", source: "account", expected: 2 };
  expect(rows).toEqual([
    { ...day, instrument: "KO", stored: 0, missed: 2, reasons: { budget: 1, unknown_symbol: 1 } },
    { ...day, instrument: "GE", stored: 1, missed: 1, reasons: { budget: 1 } },
    { ...day, instrument: "AAPL", stored: 2, missed: 0, reasons: {} },
  ]);
});

test("a slot counts for the day that the exchange's clocks show at it", async () => {
  await add(new Date("2026-11-21T00:30:00Z"), ["AAPL"]);
  await add(new Date("2026-11-21T05:30:00Z"), ["AAPL"]);

  const rows = await readCoverage(pool, "2026-11-20", "2026-11-21");

  expect(rows.map(({ date, expected }) => [date, expected])).toEqual([
    ["2026-11-20", 1],
    ["2026-11-21", 1],
  ]);
});

test("an instrument of two jobs is expected by both", async () => {
  await add("14:30", ["AAPL"], {}, { job: "one" });
  await add("14:30", ["AAPL"], { AAPL: "down" }, { job: "other" });

  expect(await readCoverage(pool, "2026-11-20", "2026-11-20")).toMatchObject([
    { expected: 2, stored: 1, missed: 1 },
  ]);
});

import { beforeAll, expect, test } from "@jest/globals";
import { readCoverage, readCoverageShares, sumByAccount } from "../../src/archive/ledger/coverageRows.ts";
import type { CoverageView, PackedCell } from "../../src/archive/ask/dashboardTypes.ts";
import {
  foundRows,
  heatLevel,
  shortMissed,
  storedShare,
  sumOf,
  unpacked,
} from "../../src/web/app/lib/heat.ts";
import type { News } from "../../src/web/api/types.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { openDashboard } from "./dashboard.ts";

const { url, pool } = await freshDatabase();
const reader = poolOn(url, { readOnly: true, max: 2 });

/** Days around the end of summer time, slots just before and after midnight in New York, two accounts, two markets. */
beforeAll(async () => {
  await pool.query("insert into accounts (id, name) values (7, 'second')");
  await pool.query(
    `insert into due_sets (id, digest, instruments)
     values (1, 'a', '{AAPL,MSFT,AAPL:2026-12-18:CALL:150}'), (2, 'b', '{MSFT,GE}')`,
  );
  await pool.query(`
    insert into slots (job, slot_at, source_id, account_id, due, stored, missed, due_set_id)
    select job, at, source_id, account_id, due, due - missed, missed, due_set_id
    from (values
      ('one', '2026-10-31 23:59-04'::timestamptz, 1, 1, 3, 0, 1), ('one', '2026-11-01 00:00-04', 1, 1, 3, 1, 1),
      ('one', '2026-11-01 23:59-05', 1, 1, 3, 3, 1), ('one', '2026-11-02 00:00-05', 1, 1, 3, 2, 1),
      ('two', '2026-11-02 10:00-05', 1, 7, 2, 2, 2), ('two', '2026-11-02 10:01-05', 1, 7, 2, 1, 2),
      ('two', '2026-11-02 10:01-05', 2, 1, 2, 0, 2), ('two', '2026-11-03 10:01-05', 2, 1, 2, 1, 2)
    ) r (job, at, source_id, account_id, due, missed, due_set_id)`);
  await pool.query(`
    insert into misses (job, slot_at, source_id, account_id, instrument, reason) values
      ('one', '2026-11-01 00:00-04', 1, 1, 'MSFT', 'budget'), ('one', '2026-11-01 23:59-05', 1, 1, '*', 'down'),
      ('one', '2026-11-02 00:00-05', 1, 1, 'AAPL', 'transport'),
      ('one', '2026-11-02 00:00-05', 1, 1, 'AAPL:2026-12-18:CALL:150', 'budget'),
      ('two', '2026-11-02 10:00-05', 1, 7, '*', 'unauthorized'), ('two', '2026-11-02 10:01-05', 1, 7, 'GE', 'malformed'),
      ('two', '2026-11-03 10:01-05', 2, 1, 'GE', 'malformed')`);
});

async function coverage(from: string, to: string): Promise<CoverageView> {
  const { get } = await openDashboard({ pool: reader });
  const { view } = (await (await get(`/api/coverage?from=${from}&to=${to}`)).json()) as News<CoverageView>;
  if (view === null) throw new Error("nothing new");
  return view;
}

test.each([
  { from: "2026-10-31", to: "2026-11-03" },
  { from: "2026-11-01", to: "2026-11-01" },
  { from: "2026-11-02", to: "2026-11-30" },
])("from $from to $to each field holds what coverage_daily counts", async ({ from, to }) => {
  const view = await coverage(from, to);
  const fields = view.rows.flatMap(({ instrument, source, cells }) =>
    cells.flatMap((cell: PackedCell, place) => {
      if (cell === null) return [];
      const [expected, missed] = typeof cell === "number" ? [cell, 0] : cell;
      return [{ date: view.dates[place]?.date, source, instrument, expected, missed }];
    }),
  );
  const inOrder = (rows: object[]): string[] => rows.map((row) => JSON.stringify(row)).sort();

  const counted = await readCoverage(pool, from, to);

  expect(counted.length).toBeGreaterThan(2);
  expect(inOrder(fields)).toEqual(
    inOrder(
      counted.map(({ date, source, instrument, expected, missed }) => ({
        date,
        source,
        instrument,
        expected,
        missed,
      })),
    ),
  );
});

test("Coverage begins with the first day of the ledger where more is asked for", async () => {
  const begins = async (from: string): Promise<string | undefined> =>
    (await coverage(from, "2026-11-05")).dates[0]?.date;

  // Ten sessions of October lie before the first slot, which is of a Saturday.
  expect(await begins("2026-10-15")).toBe("2026-10-31");
  expect(await begins("2026-10-31")).toBe("2026-10-31");
  expect(await begins("2026-11-02")).toBe("2026-11-02");
});

test("the instrument that misses the greatest part comes first, and of equals securities before options", async () => {
  const { rows, sourceIds } = await coverage("2026-10-31", "2026-11-03");

  // Missed of due: GE 2 of 2, and 1 of 2 in the other market; MSFT 3 of 6; AAPL and the contract 2 of 4; MSFT 0 of 2.
  expect(rows.map(({ instrument, source }) => `${instrument} ${source}`)).toEqual([
    "GE account",
    "AAPL account",
    "GE simulated",
    "MSFT account",
    "AAPL:2026-12-18:CALL:150 account",
    "MSFT simulated",
  ]);
  expect(sourceIds).toEqual({ account: 1, simulated: 2 });
});

test("what was due to each account adds up to the shares that the command counts", async () => {
  const { accounts } = await coverage("2026-10-31", "2026-11-03");
  const shares = await readCoverageShares(pool, { from: "2026-10-31", to: "2026-11-03" });

  expect(accounts).toEqual(expect.arrayContaining(sumByAccount(shares)));
  expect(accounts).toHaveLength(3);
  expect((await coverage("2026-10-31", "2026-11-01")).accounts).toEqual([]);
});

const cell = (expected: number, stored: number) => ({ expected, stored, missed: expected - stored });

test("the heat map unpacks a field: nothing due, all stored, something missed; and sums a row", () => {
  const row = { instrument: "A", source: "account", cells: [null, 390, [390, 42], 0] } as const;

  expect(row.cells.map((each) => unpacked(each as null))).toEqual([
    null,
    cell(390, 390),
    cell(390, 348),
    cell(0, 0),
  ]);
  expect(sumOf({ ...row, cells: [null, 390, [390, 42]] })).toEqual(cell(780, 738));
});

test("the heat map is narrowed by a part of a name, and to what misses something, without a change of the order", () => {
  const row = (instrument: string, ...cells: (null | number | [number, number])[]) => ({
    instrument,
    source: "account" as const,
    cells,
  });
  const rows = [row("TSLA", [5, 5]), row("AAPL", 5), row("AAPL:2026-12-18:CALL:5", null, [5, 1])];
  const names = (search: string, missing: boolean): string[] =>
    foundRows(rows, search, missing).map(({ instrument }) => instrument);

  expect(names(" aapl ", false)).toEqual(["AAPL", "AAPL:2026-12-18:CALL:5"]);
  expect(names("", true)).toEqual(["TSLA", "AAPL:2026-12-18:CALL:5"]);
  expect(names("aapl", true)).toEqual(["AAPL:2026-12-18:CALL:5"]);
});

test("a number of misses fits into a cell", () => {
  expect([cell(42, 0), cell(999, 0), cell(12_400, 0)].map(shortMissed)).toEqual(["−42", "−999", "−12k"]);
});

test("the heat map tells whole from nearly whole, and little from nothing", () => {
  expect(
    [
      [100, 100],
      [100, 99],
      [100, 50],
      [100, 1],
      [100, 0],
    ].map(([e = 0, s = 0]) => heatLevel(cell(e, s))),
  ).toEqual(["full", "high", "part", "part", "none"]);
  expect([cell(10, 10), cell(100_000, 99_999), cell(3, 1)].map(storedShare)).toEqual([
    "100.0 %",
    "99.9 %",
    "33.3 %",
  ]);
});

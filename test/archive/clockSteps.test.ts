/** Steps of the machine's clock on their way from the journal to SQL. */
import { expect, test } from "@jest/globals";
import { readClockSteps } from "../../src/archive/ask/queries.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { at } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";

function clockNote(second: number, kind: string, stepMs: number): JournalRecord {
  return {
    kind: "note",
    at: at(second),
    note: { type: "clock", source: "account", at: at(second), kind, stepMs },
  };
}

test("each step of the journal is one row, however often it is loaded; one of no known kind costs itself alone", async () => {
  const { pool, append, load, forgetPositions } = await loadingWorld();
  await append(
    clockNote(1, "set_back", -3_600_000),
    clockNote(2, "melted", 5_000),
    clockNote(3, "stopped", 7_000),
    clockNote(4, "slept", 60_000),
    clockNote(5, "set_forward", 90_000),
  );

  const report = await load();
  await forgetPositions();
  const again = await load();

  expect([report.deadLetters, again.deadLetters]).toEqual([1, 0]);
  const day = { from: new Date(Date.parse(at(0))), to: new Date(Date.parse(at(4))) };
  expect(await readClockSteps(pool, day.from, day.to)).toEqual([
    { kind: "slept", stepMs: 60_000, movedAt: new Date(at(4)) },
    { kind: "stopped", stepMs: 7_000, movedAt: new Date(at(3)) },
    { kind: "set_back", stepMs: -3_600_000, movedAt: new Date(at(1)) },
  ]);
  expect(await rowsOfQuery(pool, "select count(*)::int as n from clock_steps")).toEqual([{ n: 4 }]);
});

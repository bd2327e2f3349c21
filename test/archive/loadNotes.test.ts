/** Notes of the ledger on their way from the journal to SQL, those that cannot become rows among them. */
import { expect, test } from "@jest/globals";
import { listHoles } from "../../src/archive/refill/listHoles.ts";
import { readClockSteps } from "../../src/archive/ask/queries.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { at } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";

function note(second: number, content: unknown): JournalRecord {
  return { kind: "note", at: at(second), note: content };
}

function slotOf(job: string, slotAt: string): unknown {
  return { type: "slots", source: "account", entries: [{ job, slotAt, due: ["AAPL"], misses: [] }] };
}

test("a note that cannot become rows costs itself alone, and is a dead letter once however often it is loaded", async () => {
  const { pool, append, load, forgetPositions } = await loadingWorld();
  await append(
    note(0, slotOf("first", at(0))),
    note(1, slotOf("impossible time", "2026-13-45T99:00:00.000000Z")),
    note(2, { type: "slots" }),
    note(3, slotOf("last", at(3))),
  );

  const report = await load();
  await forgetPositions();
  const again = await load();

  expect(report).toMatchObject({ slots: 2, deadLetters: 2 });
  expect(again).toMatchObject({ slots: 0, deadLetters: 0 });
  expect(await rowsOfQuery(pool, "select job from slots order by job")).toEqual([
    { job: "first" },
    { job: "last" },
  ]);
  expect(
    await rowsOfQuery(pool, "select reason, detail, fragment from dead_letters order by observed_at"),
  ).toEqual([
    {
      reason: "refused_by_database",
      detail: expect.stringMatching(/^a note of the ledger: 22008: /),
      fragment: expect.stringContaining("2026-13-45"),
    },
    {
      reason: "refused_by_database",
      detail: expect.stringMatching(/^a note of the ledger: /),
      fragment: '{"type":"slots"}',
    },
  ]);
});

test("slots of one-off jobs are in no table: a scheduled job's are counted as without them", async () => {
  const { pool, append, load } = await loadingWorld();
  const slot = { job: "once:sweep-1", slotAt: at(0) };
  const run = "0190a5c0-0000-7000-8000-000000000000";
  await append(
    note(0, { type: "opened", source: "account", run, ...slot, endsAt: null, due: ["AAPL", "IBM"] }),
    note(1, slotOf("mine", at(1))),
    note(2, {
      ...{ type: "slots", source: "account", run },
      entries: [{ ...slot, due: ["AAPL", "IBM"], misses: [["IBM", "unknown_symbol"]] }],
    }),
  );

  expect(await load()).toMatchObject({ slots: 1, deadLetters: 0 });

  const counted = await rowsOfQuery(
    pool,
    `select (select array_agg(job) from slots) as jobs, (select count(*)::int from misses) as misses,
       (select count(*)::int from open_slots) as open, (select sum(expected)::int from coverage_daily) as expected`,
  );
  expect(counted).toEqual([{ jobs: ["mine"], misses: 0, open: 0, expected: 1 }]);
  expect(await listHoles(pool, { from: null, to: null })).toEqual([]);
});

const clock = (second: number, kind: string, stepMs: number): JournalRecord =>
  note(second, { type: "clock", source: "account", at: at(second), kind, stepMs });

test("each step of the clock in the journal is one row, however often it is loaded; one of no known kind costs itself alone", async () => {
  const { pool, append, load, forgetPositions } = await loadingWorld();
  await append(
    clock(1, "set_back", -3_600_000),
    clock(2, "melted", 5_000),
    clock(3, "stopped", 7_000),
    clock(4, "slept", 60_000),
    clock(5, "set_forward", 90_000),
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

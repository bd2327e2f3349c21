/** What another program uses, against a service in memory that knows who called: its own log is the truth. */
import { afterEach, expect, test } from "@jest/globals";
import { readOtherCalls } from "../../src/archive/ledger/budgetUse.ts";
import { freshDatabase } from "../support/database.ts";

const { pool } = await freshDatabase();
const END_MS = Date.parse("2026-11-20T15:10:00Z");
const MINUTES = 8;
const LATENCY_MS = 300;

afterEach(async () => {
  await pool.query("truncate responses; truncate misses cascade");
});

type Rule = (callsMs: readonly number[], atMs: number) => number;
const sliding: Rule = (callsMs, atMs) => callsMs.filter((at) => at <= atMs && at > atMs - 60_000).length;
const fixed: Rule = (callsMs, atMs) =>
  callsMs.filter((at) => at <= atMs && Math.floor(at / 60_000) === Math.floor(atMs / 60_000)).length;

/** Evenly, so many a minute. */
function evenly(perMinute: number): number[] {
  return Array.from({ length: perMinute * MINUTES }, (_, call) => END_MS - (call * 60_000) / perMinute);
}

/** Keeps the answers of our calls, as the service would have counted them among the calls of all. */
async function collected(
  rule: Rule,
  ours: number[],
  theirs: number[],
  unanswered: number[] = [],
): Promise<void> {
  const all = [...ours, ...theirs, ...unanswered].map((at) => at + LATENCY_MS / 2);
  await pool.query(
    "insert into sources (id, name, kind) values (1, 'account', 'account') on conflict do nothing",
  );
  await pool.query(
    `insert into responses (observed_at, source_id, request_id, requested_at, request, http_status, outcome, body_bytes,
       journal_segment, journal_offset, rate_limit_used)
     select to_timestamp((at + $3) / 1000.0), 1, gen_random_uuid(), to_timestamp(at / 1000.0), '{}', 200, 'quotes', 0, 's', 0, used
     from unnest($1::float8[], $2::int[]) as given (at, used)`,
    [ours, ours.map((at) => rule(all, at + LATENCY_MS / 2)), LATENCY_MS],
  );
}

const seen = async (nowMs = END_MS + 1_000): Promise<number> => {
  const callers = [{ name: "default", limitWindowMs: 60_000 }];
  return (await readOtherCalls(pool, callers, new Date(nowMs))).get("default") ?? 0;
};

test.each([
  ["a sliding window", sliding, 20, 17],
  ["a fixed window", fixed, 20, 15],
  ["a sliding window, seldom", sliding, 5, 3],
])("another program is seen through %s, and never as more than it is", async (_name, rule, theirs, least) => {
  await collected(rule, evenly(30), evenly(theirs));

  const calls = await seen();

  expect(calls).toBeGreaterThanOrEqual(least);
  expect(calls).toBeLessThanOrEqual(theirs);
});

test.each([
  ["a sliding window", sliding],
  ["a fixed window", fixed],
])("our own calls explain the count through %s where no other program is", async (_name, rule) => {
  await collected(rule, evenly(55), []);

  expect(await seen()).toBe(0);
});

test("no other program is seen after a run was killed with six calls under way, at any moment", async () => {
  for (const agoMs of [25_000, 70_000, 100_000, 130_000, 190_000]) {
    await pool.query("truncate responses");
    await collected(sliding, evenly(40), [], Array(6).fill(END_MS - agoMs) as number[]);

    expect(await seen()).toBe(0);
  }
});

test("no other program is reported while calls of ours fail on the way: the service may have counted them", async () => {
  await collected(sliding, evenly(30), evenly(20));
  await pool.query(
    "insert into due_sets (digest, instruments) values ('d', '{AAPL}') on conflict do nothing",
  );
  await pool.query(
    `insert into misses (job, slot_at, source_id, instrument, reason) values ('job', $1, 1, 'AAPL', 'transport')`,
    [new Date(END_MS - 60_000).toISOString()],
  );

  expect(await seen()).toBe(0);
});

test("no other program is reported when nothing was asked lately", async () => {
  await collected(sliding, evenly(30), evenly(20));

  expect(await seen(END_MS + 3_600_000)).toBe(0);
});

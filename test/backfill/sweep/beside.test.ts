/** A sweep and a collector on one account, in virtual time: neither is refused, and the schedule misses nothing. */
import { afterEach, expect, jest, test } from "@jest/globals";
import { SweepBudget } from "../../../src/backfill/sweep/budget.ts";
import { SweepPlan } from "../../../src/backfill/sweep/plan.ts";
import { reservedCalls, slotCosts } from "../../../src/backfill/sweep/reserve.ts";
import { sweep } from "../../../src/backfill/sweep/sweep.ts";
import { ChainBook } from "../../../src/collect/chainBook.ts";
import type { Arrived } from "../../../src/collect/callEnds.ts";
import { Collector } from "../../../src/collect/collector.ts";
import { scheduleJob } from "../../../src/schedule/jobSchedule.ts";
import type { Job } from "../../../src/schedule/readJobs.ts";
import { instantFromDate } from "../../../src/clock.ts";
import type { LedgerNote } from "../../../src/journal/ledger.ts";
import { alwaysOpen, createCalendar } from "../../../src/market/calendar/calendar.ts";
import type { Collected } from "../../../src/run/pipeline.ts";
import type { QuoteCall } from "../../../src/quotes-api/request.ts";
import { entriesOf, failure, jobOf, quotesFor } from "../../collect/world.ts";
import { startVirtualTime } from "../../collect/virtualTime.ts";
import { fixedWindow, GOVERNOR, type Rule, slidingWindow } from "./rules.ts";

afterEach(() => {
  jest.useRealTimers();
});

const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

function contracts(underlying: string, count: number): Job["options"] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ underlying, expiration: "2026-12-18", optionType: "CALL" as const, strike: String(100 + index) },
  }));
}

type Ended = {
  refused: { collector: number; sweep: number };
  missed: number;
  slots: number;
  tookMs: number;
  left: number;
};

async function beside(rule: Rule, jobs: Job[], count: number, minutes: number): Promise<Ended> {
  const time = startVirtualTime("2026-11-20T15:00:30.000Z");
  const { clock } = time;
  const refused = { collector: 0, sweep: 0 };
  const notes: LedgerNote[] = [];
  const journal: number[] = [];
  const ask = async (
    who: "collector" | "sweep",
    call: QuoteCall,
    onArrived: (arrived: Arrived) => void,
  ): Promise<Collected> => {
    const requestedAt = instantFromDate(clock.now());
    await clock.sleep(100);
    const { admitted, headers } = rule(clock.now().getTime());
    await clock.sleep(100);
    if (!admitted) refused[who] += 1;
    const answer = admitted ? quotesFor({ call } as Parameters<typeof quotesFor>[0]) : failure("quota_fault");
    onArrived({ headers, answer });
    const observedAt = instantFromDate(clock.now());
    const record = { kind: "response", requestedAt, observedAt, headers, request: call };
    return { record, answer, segment: "" } as unknown as Collected;
  };
  const collector = new Collector({
    ...{ jobs, calendar: alwaysOpen, exchange: createCalendar(), clock, log: SILENT, governor: GOVERNOR },
    history: null,
    run: "01940000-0000-7000-8000-000000000000",
    earlier: null,
    onNote: (note) => void notes.push(structuredClone(note)),
    send: async ({ call }, _signal, onArrived) => {
      const collected = await ask("collector", call, onArrived);
      journal.push(clock.monotonicMs());
      return collected;
    },
  });
  collector.start();
  await time.pass(5 * 60_000);

  const plan = new SweepPlan({ symbols: [], contracts: [...contracts("AAPL", count)], chains: [] }, false, {
    ...{ begun: "2026-11-20", today: "2026-11-20", calendar: createCalendar() },
  });
  const nowMs = clock.monotonicMs();
  const recent = journal
    .splice(0)
    .filter((at) => at > nowMs - 60_000)
    .map((at) => ({ answeredAtMs: at, bySweep: false }));
  const calls = recent.map(({ answeredAtMs: at }) => ({ sentAgoMs: nowMs - at, answeredAgoMs: nowMs - at }));
  const budget = new SweepBudget(GOVERNOR, recent, { nowMs, history: { calls, certain: true } });
  const scheduled = jobs.map((job) => scheduleJob(job, alwaysOpen));
  const chains = new ChainBook(createCalendar(), () => undefined);
  const span = {
    after: new Date(clock.now().getTime() - 60_000),
    until: new Date(clock.now().getTime() + 7_200_000),
  };
  const costs = slotCosts(scheduled, chains, span);
  let lookedAtMs = -Infinity;
  const look = async (): Promise<void> => {
    if (clock.monotonicMs() - lookedAtMs < 1_000) return;
    lookedAtMs = clock.monotonicMs();
    budget.saw(
      journal.splice(0).map((answeredAtMs) => ({ answeredAtMs, bySweep: false })),
      lookedAtMs,
    );
    budget.reserve(reservedCalls(costs, clock.now().getTime(), 60_000));
  };
  await look();
  let tookMs = NaN;
  const done = sweep({
    ...{ plan, delayed: false, budget, clock, log: SILENT, look, signal: new AbortController().signal },
    collect: (call, _signal, onArrived) => ask("sweep", call, onArrived),
    onProgress: () => undefined,
  }).then(() => (tookMs = clock.monotonicMs() - nowMs));
  await time.pass(minutes * 60_000);
  const closed = collector.close(0);
  await time.pass(1_000);
  await closed;
  await Promise.race([done, Promise.resolve()]);
  // The slot that the collector's end has cut off is not one of the schedule's misses.
  const entries = entriesOf(notes).filter(({ misses }) => misses.every(([, reason]) => reason !== "down"));
  const missed = entries.reduce((sum, { misses }) => sum + misses.length, 0);
  return { refused, missed, slots: entries.length, tookMs, left: plan.left.length };
}

const RULES: [string, () => Rule][] = [
  ["fixed windows", fixedWindow],
  ["a sliding window", slidingWindow],
];

test.each(RULES)(
  "beside a job of 20 calls a minute nobody is refused under %s, and both get all",
  async (_, rule) => {
    const jobs = [jobOf({ name: "chain", options: contracts("IBM", 20) })];

    const ended = await beside(rule(), jobs, 300, 12);

    expect(ended.refused).toEqual({ collector: 0, sweep: 0 });
    expect(ended.missed).toBe(0);
    expect(ended.slots).toBeGreaterThan(14);
    expect(ended.left).toBe(0);
    // 37 of 60 calls a minute are the sweep's.
    expect(ended.tookMs / 60_000).toBeLessThan(10);
  },
  120_000,
);

test.each(RULES)(
  "beside 40 calls at every fifth minute and 5 at every one nobody is refused under %s",
  async (_, rule) => {
    const jobs = [
      jobOf({ name: "rare", schedule: "*/5 * * * *", options: contracts("IBM", 40) }),
      jobOf({ name: "often", options: contracts("GE", 5) }),
    ];

    const ended = await beside(rule(), jobs, 150, 18);

    expect(ended.refused).toEqual({ collector: 0, sweep: 0 });
    expect(ended.missed).toBe(0);
    expect(ended.left).toBe(0);
  },
  120_000,
);

test("while the schedule takes every call, the sweep makes none", async () => {
  const jobs = [jobOf({ name: "all", options: contracts("IBM", 59) })];

  const ended = await beside(slidingWindow(), jobs, 10, 5);

  expect(ended.left).toBe(10);
  expect(ended.refused).toEqual({ collector: 0, sweep: 0 });
});

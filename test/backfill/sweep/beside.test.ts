/** A sweep beside others on one account, in virtual time: a collector that lends it calls, and a program that nobody knows of. */
import { afterEach, expect, jest, test } from "@jest/globals";
import { SweepPlan } from "../../../src/backfill/sweep/sweepPlan.ts";
import { roomBeside } from "../../../src/backfill/sweep/room.ts";
import { sweep, type SweepOptions } from "../../../src/backfill/sweep/sweep.ts";
import { type Clock, instantFromDate } from "../../../src/clock.ts";
import { Collector } from "../../../src/collect/collector.ts";
import type { Send } from "../../../src/collect/dispatch/callEnds.ts";
import type { LedgerNote } from "../../../src/journal/ledger.ts";
import { alwaysOpen, createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { classifyAnswer } from "../../../src/services/reference/classifyAnswer.ts";
import { contractsOf } from "../../collect/due.ts";
import { entriesOf, failure, jobOf, quotesFor } from "../../collect/world.ts";
import { startVirtualTime } from "../../collect/virtualTime.ts";
import type { Job } from "../../../src/schedule/readJobs.ts";
import { fixedWindow, GOVERNOR, type Rule, slidingWindow } from "./rules.ts";
import { symbolsCall } from "../../support/journal.ts";
import { silentLog } from "../../support/silentLog.ts";
import { answerXml, equityXml } from "../../support/xml.ts";
import { REFERENCE } from "../../../src/services/reference/reference.ts";

const MINUTE_MS = 60_000;

afterEach(() => {
  jest.useRealTimers();
});

const RULES: [string, () => Rule][] = [
  ["fixed windows", fixedWindow],
  ["a sliding window", slidingWindow],
];

/** A way to ask a service that counts so. */
function sender(clock: Clock, rule: Rule, latencyMs: () => number, onRefused: () => void): Send {
  return async (planned, signal, onArrived) => {
    const requestedAt = instantFromDate(clock.now());
    const halfMs = latencyMs() / 2;
    await clock.sleep(halfMs, signal);
    const { admitted, headers } = rule(clock.now().getTime());
    await clock.sleep(halfMs, signal);
    if (!admitted) onRefused();
    const answer = admitted ? quotesFor(planned) : failure("quota_fault");
    onArrived({ headers, answer });
    return { record: { requestedAt, observedAt: instantFromDate(clock.now()), headers }, answer };
  };
}

/** The options of a sweep of so many contracts, by one account. */
function sweepOf(
  count: number,
  { clock, ...account }: { clock: Clock } & Omit<SweepOptions["accounts"][number], "name">,
): SweepOptions {
  const contracts = contractsOf(count).map((contract) => ({ ...contract, underlying: "SWPT" }));
  const dates = { begun: "2026-11-20", today: "2026-11-20", calendar: createCalendar() };
  return {
    plan: new SweepPlan({ symbols: [], contracts, chains: [] }, false, dates),
    run: { name: "sweep-0123456789ab", begunAt: instantFromDate(clock.now()) },
    collector: { clock, log: silentLog, batch: REFERENCE.batch },
    accounts: [{ name: "default", ...account }],
    onProgress: () => undefined,
    signal: new AbortController().signal,
  };
}

type Ended = {
  refused: { collector: number; sweep: number };
  missed: number;
  slots: number;
  tookMs: number;
  left: number;
};

async function besideCollector(rule: Rule, jobs: Job[], count: number, minutes: number): Promise<Ended> {
  const time = startVirtualTime("2026-11-20T15:00:30.000Z");
  const { clock } = time;
  const refused = { collector: 0, sweep: 0 };
  const notes: LedgerNote[] = [];
  const ask = (who: keyof typeof refused): Send =>
    sender(
      clock,
      rule,
      () => 200,
      () => (refused[who] += 1),
    );
  const collector = new Collector({
    ...{ jobs, calendar: alwaysOpen, exchange: createCalendar(), clock, log: silentLog },
    batch: REFERENCE.batch,
    ...{ run: "01940000-0000-7000-8000-000000000000", earlier: null },
    accounts: [
      { name: "default", service: REFERENCE, governor: GOVERNOR, history: null, send: ask("collector") },
    ],
    onNote: (note) => void notes.push(structuredClone(note)),
  });
  collector.start();
  await time.pass(5 * MINUTE_MS);
  const begunAtMs = clock.monotonicMs();
  const options = sweepOf(count, {
    ...{
      clock,
      service: REFERENCE,
      governor: { ...GOVERNOR, evenly: true },
      history: null,
      send: ask("sweep"),
    },
    borrow: (signal) => collector.borrow("default", false, signal),
  });
  let tookMs = NaN;
  const ending = new AbortController();
  const done = sweep({ ...options, signal: ending.signal })
    .then(() => (tookMs = clock.monotonicMs() - begunAtMs))
    .catch(() => undefined);
  await time.pass(minutes * MINUTE_MS);
  ending.abort("over");
  const closed = collector.close(0);
  await time.pass(2_000);
  await Promise.all([closed, done]);
  // The slot that the collector's end has cut off is not one of the schedule's misses.
  const entries = entriesOf(notes).filter(({ misses }) => misses.every(([, reason]) => reason !== "down"));
  const missed = entries.reduce((sum, { misses }) => sum + misses.length, 0);
  return { refused, missed, slots: entries.length, tookMs, left: options.plan.left.length };
}

const SCHEDULES: [string, Job[], { count: number; minutes: number; most: number }][] = [
  [
    "a job of 20 calls a minute",
    [jobOf({ name: "chain", options: contractsOf(20) })],
    { count: 300, minutes: 12, most: 10 },
  ],
  [
    "40 calls at every fifth minute and 5 at every one",
    [
      jobOf({ name: "rare", schedule: "*/5 * * * *", options: contractsOf(40) }),
      jobOf({ name: "often", symbols: ["GE"], options: contractsOf(4) }),
    ],
    { count: 150, minutes: 18, most: 18 },
  ],
];

test.each(
  RULES.flatMap(([name, rule]) =>
    SCHEDULES.map(([what, ...schedule]) => [what, name, rule, ...schedule] as const),
  ),
)(
  "beside %s nobody is refused under %s, and both get all",
  async (_what, _name, rule, jobs, { count, minutes, most }) => {
    const ended = await besideCollector(rule(), jobs, count, minutes);

    expect(ended).toMatchObject({ refused: { collector: 0, sweep: 0 }, missed: 0, left: 0 });
    expect(ended.slots).toBeGreaterThan(14);
    // Of 60 calls a minute 37 are the sweep's beside 20.
    expect(ended.tookMs / MINUTE_MS).toBeLessThan(most);
  },
  120_000,
);

test("while the schedule takes every call, the sweep makes none", async () => {
  const jobs = [jobOf({ name: "all", options: contractsOf(59) })];

  const ended = await besideCollector(slidingWindow(), jobs, 10, 5);

  expect(ended.left).toBe(10);
  expect(ended.refused).toEqual({ collector: 0, sweep: 0 });
});

test("a collector that ends leaves its budget to the sweep, which goes on with what is left of the window", async () => {
  const time = startVirtualTime("2026-11-20T15:00:30.000Z");
  const { clock } = time;
  const rule = slidingWindow();
  let refused = 0;
  let lends = true;
  const send = sender(
    clock,
    rule,
    () => 200,
    () => (refused += 1),
  );
  const borrow = async (): Promise<(() => void) | null> => {
    if (lends) await clock.sleep(3_000);
    return lends ? () => undefined : null;
  };
  const options = sweepOf(60, {
    clock,
    service: REFERENCE,
    governor: { ...GOVERNOR, evenly: true },
    history: null,
    send,
    borrow,
  });

  const done = sweep(options);
  await time.pass(MINUTE_MS);
  const lent = options.plan.namesOf("stored").length;
  lends = false;
  await time.pass(2 * MINUTE_MS);
  await done;

  expect(lent).toBe(18);
  expect(options.plan.left).toEqual([]);
  expect(refused).toBe(0);
});

test.each(RULES.flatMap(([name, rule]) => [100, 1_000, 3_000].map((ms) => [ms, name, rule] as const)))(
  "answers that take %d ms hide no program of 20 calls a minute: under %s nobody is refused",
  async (latencyMs, _, makeRule) => {
    const time = startVirtualTime("2026-11-20T15:00:30.000Z");
    const { clock } = time;
    const rule = makeRule();
    const refused = { sweep: 0, stranger: 0 };
    const stranger = setInterval(() => {
      if (!rule(clock.now().getTime()).admitted) refused.stranger += 1;
    }, 3_000);
    let calls = 0;
    const options = sweepOf(2_000, {
      ...{ clock, service: REFERENCE, governor: { ...GOVERNOR, evenly: true }, history: null },
      send: sender(
        clock,
        rule,
        () => latencyMs * ((calls += 1) % 2 === 0 ? 0.5 : 1.5),
        () => (refused.sweep += 1),
      ),
    });
    const ending = new AbortController();

    const done = sweep({ ...options, signal: ending.signal }).catch(() => undefined);
    await time.pass(15 * MINUTE_MS);
    ending.abort("over");
    await time.pass(2_000);
    await done;
    clearInterval(stranger);

    expect(refused).toEqual({ sweep: 0, stranger: 0 });
    // What that program leaves is used, as far as calls one by one can use it.
    const possible = Math.min(36, MINUTE_MS / latencyMs);
    expect(options.plan.namesOf("stored").length / 15).toBeGreaterThan(0.9 * possible);
  },
  120_000,
);

function reservedAt(at: string, job: Job): number {
  const known = { prices: [], expirations: [] };
  const { batch } = REFERENCE;
  return roomBeside(
    GOVERNOR,
    { jobs: [job], calendar: [] },
    { known, batchSize: batch.first, now: new Date(at) },
  ).reserved;
}

test("no calls are kept free at a weekend, and those of the opening from a quarter of an hour before it", () => {
  const job = jobOf({ name: "equities", session: "regular", symbols: ["AAPL"] });

  const reserved = ["2026-11-22T15:00:00Z", "2026-11-23T14:13:00Z", "2026-11-23T14:20:00Z"].map((at) =>
    reservedAt(at, job),
  );

  expect(reserved).toEqual([0, 0, 1]);
});

test("calls of a slot are kept free for a window behind it: the service may count them so long", () => {
  const job = jobOf({ name: "hourly", schedule: "0 * * * *", session: "regular", symbols: ["AAPL"] });

  const reserved = ["2026-11-23T15:00:59Z", "2026-11-23T15:01:00Z"].map((at) => reservedAt(at, job));

  expect(reserved).toEqual([1, 0]);
});

test("what became of an instrument of a sweep stands, whatever a later answer says of it", () => {
  const dates = { begun: "2026-11-20", today: "2026-11-20", calendar: createCalendar() };
  const plan = new SweepPlan({ symbols: ["AAPL"], contracts: [], chains: [] }, false, dates);
  const call = symbolsCall("AAPL");

  for (const unknown of ["false", "true"]) {
    const body = Buffer.from(answerXml(equityXml("AAPL", { unknown })));
    plan.take(call, classifyAnswer({ status: 200, headers: {}, body }));
  }

  expect([plan.namesOf("stored"), plan.namesOf("unknown")]).toEqual([["AAPL"], []]);
});

test("a contract that has expired since a sweep began is not asked when the sweep is gone on with", () => {
  const dates = { begun: "2026-12-18", today: "2026-12-19", calendar: createCalendar() };
  const contract = {
    underlying: "SWPT",
    expiration: "2026-12-18",
    optionType: "CALL" as const,
    strike: "150",
  };
  const plan = new SweepPlan({ symbols: [], contracts: [contract], chains: [] }, false, dates);

  expect([plan.left, plan.namesOf("expired").length]).toEqual([[], 1]);
});

/** What the jobs cost over a day, before a single call is made. */
import { describe, expect, test } from "@jest/globals";
import { type BudgetPlan, planAccounts, planBudget } from "../../src/collect/budgetPlan.ts";
import { type DueJob, dueNames } from "../../src/collect/asks.ts";
import type { OptionContract } from "../../src/market/instrument.ts";
import { contractsOf, dueJob, MINUTE_MS, symbolsNamed } from "./due.ts";

const LIMIT = { limit: 60, windowMs: 60_000 };
const SERVICE = { batchSize: 100, another: LIMIT };
const OPEN_MS = Date.parse("2026-11-20T14:30:00Z");

/** A job at each of its slots through the first hour of a session. */
function everyMinutes(
  minutes: number,
  job: { name: string; priority?: number; symbols?: string[]; contracts?: OptionContract[] },
  lastsMinutes = 60,
): DueJob[] {
  // As those of a job, its slots share their lists.
  const lists = { symbols: [], contracts: [], ...job };
  const slots: DueJob[] = [];
  const endMs = OPEN_MS + lastsMinutes * MINUTE_MS;
  for (let at = OPEN_MS; at < endMs; at += minutes * MINUTE_MS) {
    slots.push(dueJob({ ...lists, slotMs: at, deadlineMs: Math.min(endMs, at + minutes * MINUTE_MS) }));
  }
  return slots;
}

function starvedShares({ jobs }: BudgetPlan): Record<string, number> {
  return Object.fromEntries(jobs.map(({ job, due, starved }) => [job, Math.round((100 * starved) / due)]));
}

test("250 symbols a minute are three calls of up to 100, and a pass of three seconds", () => {
  const plan = planBudget(everyMinutes(1, { name: "equities", symbols: symbolsNamed(250) }), LIMIT, 100);

  expect(plan).toMatchObject({ fits: true, callsPerPass: 3, passMs: 3_000, fullPassMs: 2_000 });
  expect(plan.jobs).toEqual([{ job: "equities", slots: 60, instruments: 250, due: 15_000, starved: 0 }]);
  expect(plan.slots[0]).toEqual({ at: new Date(OPEN_MS), calls: 3, doneMs: 2_000 });
});

test("jobs that take the whole budget miss the hundredth that the governor does not promise to use", () => {
  const whole = planBudget(everyMinutes(1, { name: "options", contracts: contractsOf(60) }), LIMIT, 100);
  const nearly = planBudget(everyMinutes(1, { name: "options", contracts: contractsOf(59) }), LIMIT, 100);

  expect(whole.missedAtReach).toBe(36);
  expect(nearly.missedAtReach).toBe(0);
});

test("240 contracts every five minutes fit beside one call a minute, though no minute has room for them", () => {
  const due = [
    ...everyMinutes(5, { name: "chain", contracts: contractsOf(240) }),
    ...everyMinutes(1, { name: "equities", priority: 5, symbols: symbolsNamed(80) }),
  ];

  const plan = planBudget(due, LIMIT, 100);

  expect(plan).toMatchObject({ fits: true, callsPerPass: 241 });
  // The urgent call leaves before what still waits.
  expect(plan.slots[1]).toEqual({ at: new Date(OPEN_MS + MINUTE_MS), calls: 1, doneMs: 0 });
});

test("a day without a slot costs nothing", () => {
  expect(planBudget([], LIMIT, 100)).toMatchObject({ slots: [], jobs: [], callsPerPass: 0, fits: true });
});

describe("jobs at slots of their own", () => {
  const HALF_MINUTE_MS = 30_000;
  const equities = dueJob({ name: "equities", slotMs: OPEN_MS, symbols: ["AAPL", "MSFT", "IBM"] });
  const options = dueJob({ name: "options", slotMs: OPEN_MS + HALF_MINUTE_MS, contracts: contractsOf(2) });
  const later = dueJob({ name: "options", slotMs: OPEN_MS + MINUTE_MS, contracts: contractsOf(4) });

  test("the plan has the calls of each slot in order of time, whatever order the jobs are given in", () => {
    const plan = planBudget([later, options, equities], LIMIT, 2);

    expect(plan.slots).toEqual([
      { at: new Date(OPEN_MS), calls: 2, doneMs: 1_000 },
      { at: new Date(OPEN_MS + HALF_MINUTE_MS), calls: 2, doneMs: 1_000 },
      { at: new Date(OPEN_MS + MINUTE_MS), calls: 4, doneMs: 3_000 },
    ]);
    expect(plan.jobs).toEqual([
      { job: "options", slots: 2, instruments: 4, due: 6, starved: 0 },
      { job: "equities", slots: 1, instruments: 3, due: 3, starved: 0 },
    ]);
  });

  test("the plan names the calls of the fullest slot, of slots alike those of the first", () => {
    expect(planBudget([equities, options], LIMIT, 2).batches).toEqual(["AAPL, MSFT", "IBM"]);
    expect(planBudget([equities, later], LIMIT, 2).batches).toHaveLength(4);
  });

  test("a slot is not done when some of its calls never leave, though others leave later", () => {
    const short = dueJob({
      name: "short",
      priority: 9,
      deadlineMs: OPEN_MS + HALF_MINUTE_MS,
      slotMs: OPEN_MS,
    });
    const due = [
      { ...short, contracts: contractsOf(40, "AAPL") },
      dueJob({ name: "long", slotMs: OPEN_MS, contracts: contractsOf(10, "MSFT") }),
    ];

    const plan = planBudget(due, LIMIT, 100);

    expect(starvedShares(plan)).toEqual({ short: 25, long: 0 });
    expect(plan.slots).toEqual([{ at: new Date(OPEN_MS), calls: 50, doneMs: null }]);
  });

  test("a job starves alone when another job still wants the same symbol", () => {
    const urgent = { name: "urgent", priority: 9, slotMs: OPEN_MS, contracts: contractsOf(40) };
    const due = [
      dueJob(urgent),
      dueJob({ name: "short", slotMs: OPEN_MS, deadlineMs: OPEN_MS + HALF_MINUTE_MS, symbols: ["AAPL"] }),
      dueJob({ name: "long", slotMs: OPEN_MS, symbols: ["AAPL"] }),
    ];

    expect(starvedShares(planBudget(due, LIMIT, 100))).toEqual({ urgent: 0, short: 100, long: 0 });
  });
});

test("200 option contracts every minute starve by 70 %, all of them in turn; every 4 minutes they fit", () => {
  const plan = planBudget(everyMinutes(1, { name: "options", contracts: contractsOf(200) }), LIMIT, 100);

  expect(plan).toMatchObject({ fits: false, missedAtReach: 0 });
  expect(starvedShares(plan)).toEqual({ options: 70 });
  expect(plan.fullPassMs).toBeGreaterThan(3 * MINUTE_MS);
  expect(plan.fullPassMs).toBeLessThan(4 * MINUTE_MS);
  expect(plan.fitsEveryMs).toBe(4 * MINUTE_MS);
});

test("the job of lower priority starves first, and its own shortest interval is named", () => {
  const due = [
    ...everyMinutes(1, { name: "urgent", priority: 9, contracts: contractsOf(40, "AAPL") }),
    ...everyMinutes(1, { name: "patient", priority: 1, contracts: contractsOf(40, "MSFT") }),
  ];

  const plan = planBudget(due, LIMIT, 100);

  expect(starvedShares(plan)).toEqual({ urgent: 0, patient: 50 });
  expect(plan.starving).toEqual(["patient"]);
  expect(plan.fitsEveryMs).toBe(2 * MINUTE_MS);
});

test("the shortest interval that fits is found whatever order the slots are given in, and a slot that comes just after it counts", () => {
  const due = [
    ...everyMinutes(2, { name: "urgent", priority: 9, contracts: contractsOf(80, "AAPL") }),
    ...everyMinutes(2, { name: "patient", priority: 1, contracts: contractsOf(60, "MSFT") }),
  ];

  // Each two minutes have room for 40 of the 60; every three minutes means every four, of slots two minutes apart.
  expect(planBudget(due, LIMIT, 100).fitsEveryMs).toBe(3 * MINUTE_MS);
  expect(planBudget(due.toReversed(), LIMIT, 100).fitsEveryMs).toBe(3 * MINUTE_MS);
});

test("two jobs of one priority that are too much together starve alike", () => {
  const due = [
    ...everyMinutes(1, { name: "one", contracts: contractsOf(60, "AAPL") }),
    ...everyMinutes(1, { name: "other", contracts: contractsOf(60, "MSFT") }),
  ];

  const shares = starvedShares(planBudget(due, LIMIT, 100));

  expect(shares["one"]).toBeGreaterThan(45);
  expect(shares["other"]).toBeGreaterThan(45);
});

test("what would not fit even once an hour is said to fit at no interval", () => {
  const due = everyMinutes(1, { name: "all", contracts: contractsOf(350) });

  const plan = planBudget(due, { limit: 5, windowMs: 60_000 }, 100);

  expect(plan.fitsEveryMs).toBeNull();
  expect(plan.fullPassMs).toBeNull();
});

test("a poll that has not left when the session closes is starved, whenever the next slot is", () => {
  const due = [
    dueJob({ name: "close", slotMs: OPEN_MS, deadlineMs: OPEN_MS + 30_000, contracts: contractsOf(60) }),
  ];

  expect(starvedShares(planBudget(due, LIMIT, 100))).toEqual({ close: 50 });
});

test("what would fit every 20 minutes does not in a whole session, whose last slot would have ten before the close", () => {
  // 105 calls, 6 a minute: 17.5 minutes. 390 minutes are 13 half hours.
  const contracts = contractsOf(100);
  const symbols = symbolsNamed(50);

  const plan = planBudget(
    everyMinutes(1, { name: "all", symbols, contracts }, 390),
    { limit: 6, windowMs: 60_000 },
    10,
  );

  expect(plan).toMatchObject({ fits: false, callsPerPass: 105, fitsEveryMs: 30 * MINUTE_MS });
});

describe("jobs that several accounts share", () => {
  const accounts = ["main", "second", "third"].map((name) => ({ name, ...LIMIT }));
  const pinned = (due: DueJob[], account: string): DueJob[] =>
    due.map((slot) => ({ ...slot, job: { ...slot.job, account } }));

  test("180 contracts a minute take the whole budget of three accounts, a third of each", () => {
    const due = everyMinutes(1, { name: "options", contracts: contractsOf(180) });

    const plan = planAccounts(due, accounts, SERVICE);

    expect(
      plan.accounts.map(({ account, plan: { callsPerPass, fits } }) => [account, callsPerPass, fits]),
    ).toEqual([
      ["main", 60, true],
      ["second", 60, true],
      ["third", 60, true],
    ]);
    expect(plan.total).toMatchObject({
      ...{ callsPerPass: 180, passMs: MINUTE_MS, fits: true, missedAtReach: 3 * 36, starving: [] },
    });
  });

  test("one account more makes fit what does not, and shortens the pass of what does", () => {
    const tooMuch = everyMinutes(1, { name: "options", contracts: contractsOf(240) });
    const enough = everyMinutes(1, { name: "options", contracts: contractsOf(120) });

    const [missing, more] = [
      planAccounts(tooMuch, accounts, SERVICE),
      planAccounts(enough, accounts, SERVICE),
    ];

    expect(missing.total).toMatchObject({ fits: false, passMs: 80_000, starving: ["options"] });
    expect(missing.withOneMore).toMatchObject({ fits: true, callsPerPass: 240, passMs: MINUTE_MS });
    expect([more.total.passMs, more.withOneMore.passMs]).toEqual([40_000, 30_000]);
  });

  test("one account has the plan of today", () => {
    const due = [
      ...everyMinutes(1, { name: "equities", symbols: symbolsNamed(250) }),
      ...everyMinutes(5, { name: "options", contracts: contractsOf(80) }),
    ];

    const plan = planAccounts(due, accounts.slice(0, 1), SERVICE);

    expect(plan.accounts).toEqual([{ account: "main", plan: planBudget(due, LIMIT, 100) }]);
    expect(plan.total).toEqual(planBudget(due, LIMIT, 100));
    expect(plan.unasked).toEqual([]);
  });

  test("all that is due is in one account's plan, a list's option symbol beside its contract", () => {
    const due = [
      ...everyMinutes(1, { name: "equities", symbols: [...symbolsNamed(1_000), "AAPL261218C00001000"] }),
      ...everyMinutes(5, { name: "options", symbols: ["S7"], contracts: contractsOf(50) }),
      dueJob({
        name: "late",
        delayed: true,
        slotMs: OPEN_MS,
        symbols: symbolsNamed(30),
        watchlist: "DEFAULT",
      }),
    ];

    const { accounts: plans, total } = planAccounts(due, accounts, SERVICE);

    const jobs = plans.flatMap(({ plan }) => plan.jobs);
    for (const [name, part] of new Map(due.map((slot) => [slot.job.name, slot])))
      expect(jobs.filter(({ job }) => job === name).reduce((sum, one) => sum + one.instruments, 0)).toBe(
        dueNames(part).length,
      );
    expect(plans.filter(({ plan }) => plan.jobs.some(({ job }) => job === "options"))).toHaveLength(3);
    expect(total.callsPerPass).toBeGreaterThanOrEqual(10 + 50 + 2);
  });

  test("a pinned job is planned for its account, and the watchlist of an account that is absent for none", () => {
    const due = [
      ...pinned(everyMinutes(1, { name: "options", contracts: contractsOf(61) }), "second"),
      ...pinned([dueJob({ name: "lists", slotMs: OPEN_MS, symbols: ["A"], watchlist: "DEFAULT" })], "gone"),
    ];

    const plan = planAccounts(due, accounts, SERVICE);

    expect(plan.accounts.map(({ plan: { starving } }) => starving)).toEqual([[], ["options"], []]);
    expect(plan.total).toMatchObject({ fits: false, starving: ["options"] });
    expect(plan.withOneMore).toMatchObject({ fits: false });
    expect(plan.unasked).toEqual(["watchlist DEFAULT"]);
    expect(plan.accounts.flatMap(({ plan: { jobs } }) => jobs.map(({ job }) => job)).sort()).toEqual([
      "lists",
      "options",
    ]);
  });
});

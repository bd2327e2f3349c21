import { expect, test } from "@jest/globals";
import { admission, createGovernor, step } from "../../../src/collect/governor/governor.ts";
import type { CallHistory, GovernorState } from "../../../src/collect/governor/state.ts";
import { budgetState } from "../../../src/collect/governor/budgetState.ts";
import { COUNTING_RULES, type RuleName } from "../../../bench/governor/service.ts";
import { NO_RATE_LIMIT } from "../../../src/quotes/rateLimit.ts";
import { answered, every, failed, faulted, LATENCY_MS, readingOf, SIXTY_A_MINUTE } from "./states.ts";

test("a run that begins knows of no call, no failure and no other program", () => {
  const begun = createGovernor(SIXTY_A_MINUTE, 5_000);

  expect(begun).toMatchObject({ phase: "open", inFlightSentAtMs: [], finished: [], samples: [] });
  expect(begun).toMatchObject({
    refusedSentAtMs: [],
    failures: { failedAtMs: [], cutAtMs: [], runCount: 0 },
  });
});

test("a program that starts with 20 calls sends them at once", () => {
  const { sentAtMs } = sendWhileAdmitted(createGovernor(SIXTY_A_MINUTE, 0), 0, 20);

  expect(sentAtMs).toEqual(Array<number>(20).fill(0));
});

test("a job of 60 calls leaves room for another job's slot half a minute later", () => {
  const { sentAtMs } = sendWhileAdmitted(createGovernor(SIXTY_A_MINUTE, 0), 0, 60);

  expect(sentAtMs.filter((at) => at < 30_000).length).toBeLessThan(55);
});

const refusal = { used: 60, remaining: 0, limit: 60, expire: null };

test("a 500 to the call that uses the limit up costs nothing but that call", () => {
  const used = every(500, 0, 29_500).reduce<GovernorState>(
    (state, atMs, index) => answered(state, atMs, readingOf(index + 1)),
    createGovernor(SIXTY_A_MINUTE, 0),
  );
  const sent = step(used, { type: "sent" }, 29_500);
  const end = { type: "failed", sentAtMs: 29_500, how: "server_error", rateLimit: readingOf(60) } as const;
  const last = step(sent, end, 29_500 + LATENCY_MS);
  const answeredInstead = answered(used, 29_500, readingOf(60));

  expect(last.phase).toBe("open");
  expect(admission(last, 30_000)).toEqual(admission(answeredInstead, 30_000));
});

test("after a fault nothing is sent for a whole window when nothing is known of the server's counting", () => {
  const closed = faulted(createGovernor(SIXTY_A_MINUTE, 0), 0, refusal);

  expect(admission(closed, LATENCY_MS + 60_000).maySend).toBe(false);
  expect(admission(closed, LATENCY_MS + 61_000).maySend).toBe(true);
});

test("after a fault one call probes first, and its answer opens the way for the polls whose slot still lasts", () => {
  const closed = faulted(createGovernor(SIXTY_A_MINUTE, 0), 0, refusal);
  const sent = step(closed, { type: "sent" }, 61_000);

  const opened = step(sent, { type: "answered", sentAtMs: 61_000, rateLimit: readingOf(1) }, 61_200);

  expect(admission(sent, 61_001).maySend).toBe(false);
  expect(sendWhileAdmitted(opened, 61_200, 15).sentAtMs.filter((at) => at < 62_000).length).toBeGreaterThan(
    5,
  );
});

test("a late answer to a call from before the fault opens nothing, neither while the budget is closed nor while one call probes", () => {
  const late = { type: "answered" as const, sentAtMs: 0, rateLimit: readingOf(1) };
  const sent = step(createGovernor(SIXTY_A_MINUTE, 0), { type: "sent" }, 0);
  const closed = faulted(sent, 100, refusal);
  const probing = step(closed, { type: "sent" }, 61_000);

  expect(admission(step(closed, late, 400), 401).maySend).toBe(false);
  expect(step(probing, late, 61_100).phase).toBe("probing");
  expect(admission(step(probing, late, 61_100), 61_101).maySend).toBe(false);
});

test("refusals of calls that were on their way together count as one", () => {
  const { state } = sendWhileAdmitted(createGovernor(SIXTY_A_MINUTE, 0), 0, 10, { answer: false });

  const refused = Array.from({ length: 10 }, (_, index) => 100 + index).reduce(
    (now, atMs) => step(now, { type: "faulted", sentAtMs: 0, rateLimit: refusal }, atMs),
    state,
  );

  expect(refused.faultCount).toBe(1);
  expect(refused.closedUntilMs).toBe(100 + 60_010);
});

test("a call that left in the moment the refusal arrived belongs to it; one that left later does not", () => {
  const closed = faulted(createGovernor(SIXTY_A_MINUTE, 0), 0, refusal);
  const refusedAgain = (sentAtMs: number): number =>
    step(closed, { type: "faulted", sentAtMs, rateLimit: refusal }, 1_000).faultCount;

  expect([refusedAgain(LATENCY_MS), refusedAgain(LATENCY_MS + 1)]).toEqual([1, 2]);
});

test("a call that leaves unasked while the budget is closed is no probe", () => {
  const closed = faulted(createGovernor(SIXTY_A_MINUTE, 0), 0, refusal);

  expect(step(closed, { type: "sent" }, closed.closedUntilMs - 1).phase).toBe("closed");
  expect(step(closed, { type: "sent" }, closed.closedUntilMs).phase).toBe("probing");
});

const asksFor = (retryAfterMs: number): GovernorState => {
  const sent = step(createGovernor(SIXTY_A_MINUTE, 0), { type: "sent" }, 0);
  return step(sent, { type: "faulted", sentAtMs: 0, rateLimit: NO_RATE_LIMIT, retryAfterMs }, LATENCY_MS);
};

test("Retry-After is kept to, for a quarter of an hour at most; after that one call asks", () => {
  expect(asksFor(300_000)).toMatchObject({ closedUntilMs: LATENCY_MS + 300_000, closedBy: "retry_after" });
  expect(asksFor(86_400_000).closedUntilMs).toBe(LATENCY_MS + 900_000);

  const asking = step(asksFor(86_400_000), { type: "sent" }, 900_300);

  expect(admission(asksFor(86_400_000), 900_100).maySend).toBe(false);
  expect(admission(asksFor(86_400_000), 900_300).maySend).toBe(true);
  expect(admission(asking, 900_400).maySend).toBe(false);
});

test("Retry-After shortens no wait, and names itself only when it makes it longer", () => {
  expect(asksFor(10_000)).toMatchObject({ closedUntilMs: LATENCY_MS + 60_010, closedBy: "refusal" });
  expect(asksFor(60_010)).toMatchObject({ closedUntilMs: LATENCY_MS + 60_010, closedBy: "refusal" });
  expect(asksFor(60_011)).toMatchObject({ closedUntilMs: LATENCY_MS + 60_011, closedBy: "retry_after" });
});

test("Retry-After of a refusal that arrives when the budget has opened again is kept to as well", () => {
  const wallMs = 1_700_000_000_000;
  const underWay = step(createGovernor(SIXTY_A_MINUTE, 0), { type: "sent" }, 0);
  const closed = faulted(underWay, 0, { ...NO_RATE_LIMIT, expire: 1_700_000_002 }, wallMs);
  const opened = answered(closed, 3_000, NO_RATE_LIMIT);
  const late = (retryAfterMs: number | null): GovernorState =>
    step(opened, { type: "faulted", sentAtMs: 0, rateLimit: NO_RATE_LIMIT, retryAfterMs }, 4_000);

  expect(late(120_000)).toMatchObject({ phase: "closed", closedUntilMs: 124_000, closedBy: "retry_after" });
  expect(late(0).phase).toBe("open");
  expect(late(null).phase).toBe("open");
});

test("Retry-After of a 503 that the next probe meets without it, the wait is two thirds of a window more", () => {
  const asked = failed(createGovernor(SIXTY_A_MINUTE, 0), 0, "server_error", 120_000);

  const again = failed(asked, 121_000, "server_error");

  expect(again).toMatchObject({ phase: "closed", closedBy: "failures" });
  expect(again.closedUntilMs).toBe(121_000 + LATENCY_MS + 40_010);
});

test("Retry-After of a 503 is kept to at once", () => {
  const closed = failed(createGovernor(SIXTY_A_MINUTE, 0), 0, "server_error", 120_000);

  expect(admission(closed, 120_000).maySend).toBe(false);
  expect(admission(closed, LATENCY_MS + 120_000).maySend).toBe(true);
});

test("Retry-After outlives the program", () => {
  const next = createGovernor(SIXTY_A_MINUTE, 0, { calls: [], certain: true, closedForMs: 100_000 });

  expect(admission(next, 99_999).maySend).toBe(false);
  expect(admission(next, 100_000).maySend).toBe(true);
});

test.each(["server_error", "closed"] as const)(
  "failures that may be the limit in disguise %s: one is a hiccup, three in a row close for a third of the window",
  (how) => {
    const once = failed(createGovernor(SIXTY_A_MINUTE, 0), 0, how);
    const thrice = [1_000, 2_000].reduce((state, atMs) => failed(state, atMs, how), once);

    expect(admission(once, 500).maySend).toBe(true);
    expect(thrice).toMatchObject({ phase: "closed", closedBy: "failures" });
    expect(admission(thrice, 22_200).maySend).toBe(false);
    expect(admission(thrice, 22_210).maySend).toBe(true);
  },
);

test("failures in a row close for ever longer until a call is answered: a third of the window, two thirds, a window", () => {
  let state = [0, 1_000, 2_000].reduce(
    (now, atMs) => failed(now, atMs, "closed"),
    createGovernor(SIXTY_A_MINUTE, 0),
  );
  const waitsMs = [state.closedUntilMs - 2_000 - LATENCY_MS];
  for (let probe = 0; probe < 4; probe += 1) {
    const atMs = state.closedUntilMs;
    state = failed(state, atMs, "closed");
    waitsMs.push(state.closedUntilMs - atMs - LATENCY_MS);
  }

  expect(waitsMs).toEqual([20_010, 40_010, 60_010, 60_010, 60_010]);
  expect(answered(state, state.closedUntilMs, NO_RATE_LIMIT)).toMatchObject({
    ...{ phase: "open", failures: { closedCount: 0, runCount: 0 } },
  });
});

test("failures prolong nothing when they are of calls that left before the budget closed", () => {
  const twice = [0, 1_000].reduce(
    (state, atMs) => failed(state, atMs, "closed"),
    createGovernor(SIXTY_A_MINUTE, 0),
  );
  const underWay = [2_000, 2_200].reduce((state, atMs) => step(state, { type: "sent" }, atMs), twice);
  const failing = (state: GovernorState, sentAtMs: number, atMs: number): GovernorState =>
    step(state, { type: "failed", sentAtMs, how: "closed" }, atMs);
  const closed = failing(underWay, 2_000, 2_200);
  const unasked = step(closed, { type: "sent" }, 2_201);

  expect(failing(closed, 2_200, 9_000)).toMatchObject({
    closedUntilMs: 2_200 + 20_010,
    failures: { closedCount: 1 },
  });
  expect(failing(unasked, 2_201, 9_000)).toMatchObject({ closedUntilMs: 9_000 + 40_010 });
});

test("no connection at all is never the limit", () => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  for (let atMs = 0; atMs < 10_000; atMs += 1_000) state = failed(state, atMs, "other");

  expect(state.phase).toBe("open");
});

test("a 503 whose headers say that nothing remains is a refusal", () => {
  const sent = step(createGovernor(SIXTY_A_MINUTE, 0), { type: "sent" }, 0);
  const rateLimit = { used: 60, remaining: 0, limit: 60, expire: null };

  const closed = step(sent, { type: "failed", sentAtMs: 0, how: "server_error", rateLimit }, LATENCY_MS);

  expect(closed).toMatchObject({ phase: "closed", closedBy: "refusal" });
});

test("a service that is down is asked once a window after the first minute, and its first answer opens the way", () => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  const sentAtMs: number[] = [];
  for (let atMs = 0; atMs < 1_200_000;) {
    atMs = admittedAtMs(state, atMs);
    sentAtMs.push(atMs);
    state = failed(state, atMs, "closed");
    atMs += LATENCY_MS;
  }
  const backAtMs = state.closedUntilMs;
  const opened = answered(state, backAtMs, NO_RATE_LIMIT);

  const gaps = sentAtMs.map((at, index) => at - (sentAtMs[index - 1] ?? 0));
  const laterGaps = gaps.filter((_, index) => (sentAtMs[index - 1] ?? 0) > 70_000);
  expect(sentAtMs.filter((at) => at < 70_000).length).toBeLessThanOrEqual(6);
  expect(Math.max(...gaps)).toBeLessThan(62_000);
  expect(Math.min(...laterGaps)).toBeGreaterThan(60_000);
  expect(opened.phase).toBe("open");
  // Failures while few calls are counted cut nothing.
  expect(opened.backOff).toBeNull();
});

test("scattered failures that fewer calls do not cure cost few calls for a while, and then none", () => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  let sentCount = 0;
  const perWindow: number[] = [];
  for (let atMs = 0; atMs < 3_600_000;) {
    atMs = admittedAtMs(state, atMs);
    sentCount += 1;
    const window = Math.floor(atMs / 60_000);
    perWindow[window] = (perWindow[window] ?? 0) + 1;
    state = sentCount % 20 === 0 ? failed(state, atMs, "server_error") : answered(state, atMs, NO_RATE_LIMIT);
    atMs += LATENCY_MS;
  }

  expect(Math.min(...perWindow.slice(0, 30))).toBeLessThan(56);
  expect(Math.min(...perWindow.slice(30, 60))).toBeGreaterThan(57);
  expect(sentCount).toBeGreaterThan(0.9 * 60 * 60);
});

/** An answer every ten seconds that tells of our own calls alone, with failures at these times. */
const withFailuresAt = (failedAtMs: readonly number[], used: (call: number) => number): GovernorState => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  const atMs = [...every(10_000, 0, Math.max(...failedAtMs)), ...failedAtMs].sort((a, b) => a - b);
  for (const [call, at] of atMs.entries())
    state = failedAtMs.includes(at)
      ? failed(state, at, "closed")
      : answered(state, at, readingOf(used(call)));
  return state;
};
const fewUsed = (call: number): number => Math.min(6, call + 1);

test("closed connections beside answers that tell the count at the same place of three windows are refusals, anywhere else they are hiccups", () => {
  const samePlace = withFailuresAt([25_000, 85_500, 146_000], fewUsed);
  const anywhere = withFailuresAt([25_000, 103_000, 158_000], fewUsed);
  const seldom = withFailuresAt([25_000, 85_500, 103_000, 112_000, 146_000], fewUsed);

  expect(samePlace).toMatchObject({ phase: "closed", closedBy: "refusal" });
  expect(budgetState(samePlace, 146_300).secondClientCount).toBeGreaterThan(0);
  expect(anywhere.phase).toBe("open");
  expect(seldom.phase).toBe("open");
});

test("two closed connections in a row while most of the limit is used are a refusal", () => {
  let full = createGovernor(SIXTY_A_MINUTE, 0);
  for (let call = 1; call <= 45; call += 1) full = answered(full, call * 1_000, readingOf(call));
  const twice = failed(failed(full, 47_000, "closed"), 48_000, "closed");

  expect(failed(full, 47_000, "closed").phase).toBe("open");
  expect(twice).toMatchObject({ phase: "closed", closedBy: "refusal" });
});

test.each([
  ["a third of a window, then longer, a window at most", 120_000, [20_010, 40_010, 60_010, 60_010]],
  ["a window while nobody knows yet who else calls", 0, [60_010, 40_010, 60_010, 60_010]],
])(
  "a probe after a refusal that ends so keeps everything still for %s",
  (_howLong, refusedAtMs, expected) => {
    let state = faulted(createGovernor(SIXTY_A_MINUTE, 0), refusedAtMs, readingOf(60));
    const waitsMs: number[] = [];
    for (let probe = 0; probe < 4; probe += 1) {
      const atMs = state.closedUntilMs;
      state = failed(state, atMs, "closed");
      waitsMs.push(state.closedUntilMs - atMs - LATENCY_MS);
    }

    expect(waitsMs).toEqual(expected);
  },
);

test.each([
  [{ used: 1 }, "settings"],
  [{ remaining: 59 }, "settings"],
  [{}, "refusals"],
])("after an answer that tells %j a refusal lowers the limit by the %s alone", (told, limitFrom) => {
  const begun = answered(createGovernor(SIXTY_A_MINUTE, 0), 0, { ...NO_RATE_LIMIT, ...told });

  expect(budgetState(faulted(begun, 1_000, NO_RATE_LIMIT), 1_300).limitFrom).toBe(limitFrom);
});

test("a refusal leaves half of what is above half the limit to others, and the limit in force says so", () => {
  const refused = faulted(createGovernor(SIXTY_A_MINUTE, 0), 0, NO_RATE_LIMIT);

  expect(budgetState(refused, LATENCY_MS)).toMatchObject({ limit: 45, limitFrom: "refusals" });
});

test("what was given up is asked for again after twenty minutes, and taken back when it is refused", () => {
  const lowered = faulted(createGovernor(SIXTY_A_MINUTE, 0), 0, NO_RATE_LIMIT);
  const opened = answered(lowered, 61_000, NO_RATE_LIMIT);
  const stepped = step(opened, { type: "tick" }, 1_201_000);
  const refused = faulted(stepped, 1_202_000, NO_RATE_LIMIT);

  expect(budgetState(opened, 1_200_000).limit).toBe(45);
  expect(budgetState(stepped, 1_201_000).limit).toBe(46);
  expect(budgetState(refused, 1_202_200).limit).toBe(45);
  expect(
    budgetState(step(answered(refused, 1_263_000, NO_RATE_LIMIT), { type: "tick" }, 2_900_000), 0).limit,
  ).toBe(45);
});

test("what a second client took evenly during a long silence of ours is no burst: beside it one call stays unsent", () => {
  const { state } = besideEvenly("sliding", [...every(900, 0, 18_000), ...every(2_200, 62_000, 400_000)]);

  const { sentAtMs } = sendWhileAdmitted(state, 470_000, 60);

  expect(sentAtMs.filter((at) => at < 530_000).length).toBe(29);
});

test("what a second client took during a long silence of ours is not counted again with what it takes afterwards", () => {
  const { secondCounts } = besideEvenly("clock minute", [
    ...every(1_500, 0, 16_000),
    ...every(2_000, 60_500, 115_000),
  ]);

  expect(Math.max(...secondCounts)).toBeLessThanOrEqual(31);
});

test("a refusal brings back the most that was ever counted of a second client since it is about", () => {
  const burst = { times: 40, atMs: 61_000 };
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  state = answered(state, burst.atMs - 1_000, readingOf(1));
  state = answered(state, burst.atMs, readingOf(2 + burst.times));
  state = answered(state, burst.atMs + 1_000, readingOf(3 + burst.times));
  for (let minute = 3; minute < 12; minute += 1) {
    state = answered(state, minute * 60_000, readingOf(10));
    state = answered(state, minute * 60_000 + 1_000, readingOf(11));
  }
  const before = budgetState(state, 720_000).secondClientCount;

  state = faulted(state, 720_000, readingOf(60));

  expect(before).toBeLessThan(burst.times);
  expect(budgetState(state, 721_000).secondClientCount).toBe(burst.times);
});

test("behind a place where calls were refused the first call goes alone", () => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  for (let call = 1; call <= 3; call += 1) state = answered(state, call * 100_000, readingOf(10));
  state = faulted(state, 360_000, readingOf(60));
  state = answered(state, 425_000, readingOf(5));
  state = answered(state, 479_000, readingOf(6));

  const atOnce = (fromMs: number): number =>
    sendWhileAdmitted(state, fromMs, 2, { answer: false }).sentAtMs.filter((at) => at < fromMs + 900).length;

  expect(atOnce(479_300)).toBe(2);
  expect(atOnce(480_700)).toBe(1);
});

test("a window that was watched whole and gave nothing back is not waited for once more", () => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  for (let call = 1; call <= 30; call += 1) state = answered(state, call * 600, readingOf(2 * call));

  const closed = faulted(state, 60_900, readingOf(60));

  expect(closed.closedUntilMs - 60_900).toBeLessThan(5_000);
});

test("two answers that overtake each other while a window begins anew are no second client", () => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  for (let call = 1; call <= 50; call += 1) state = answered(state, call * 1_000, readingOf(call));
  for (let call = 0; call < 2; call += 1) state = step(state, { type: "sent" }, 60_000);

  state = step(state, { type: "answered", sentAtMs: 60_000, rateLimit: readingOf(1) }, 60_100);
  state = step(state, { type: "answered", sentAtMs: 60_000, rateLimit: readingOf(51) }, 60_200);

  state = answered(state, 61_000, readingOf(2));

  expect(budgetState(state, 61_200).secondClientCount).toBe(0);
});

test("a run that knows every call of the last one goes on at once", () => {
  const calls = Array.from({ length: 40 }, () => ({ sentAgoMs: 30_200, answeredAgoMs: 30_000 }));

  const { sentAtMs } = sendWhileAdmitted(
    createGovernor(SIXTY_A_MINUTE, 0, { calls, certain: true }),
    ...([0, 20] as const),
    { answer: false },
  );

  expect(sentAtMs).toEqual(Array<number>(20).fill(0));
});

test("after a restart the first call goes alone, and its answer lets a start's 15 calls follow at once", () => {
  const { state, sentAtMs } = sendWhileAdmitted(createGovernor(SIXTY_A_MINUTE, 0, earlier([])), 0, 1, {
    answer: false,
  });
  const opened = step(state, { type: "answered", sentAtMs: 0, rateLimit: readingOf(1) }, LATENCY_MS);

  expect(sentAtMs).toEqual([0]);
  expect(admission(state, 1).maySend).toBe(false);
  expect(sendWhileAdmitted(opened, LATENCY_MS, 15, { answer: false }).sentAtMs).toEqual(
    Array(15).fill(LATENCY_MS),
  );
});

test("the ages of earlier calls count from now, as far as the wall clock was not set back", () => {
  const told = (answeredAgoMs: number | null, sentAgoMs: number) => ({ sentAgoMs, answeredAgoMs });
  const calls = [told(null, 300), told(1_000, 1_200), told(9_000, 9_100)];
  const finishedOf = (more: CallHistory["calls"]) =>
    createGovernor(SIXTY_A_MINUTE, 50_000, { calls: [...calls, ...more], certain: false }).finished;

  expect(finishedOf([])).toEqual([
    { sentAtMs: 40_900, answeredAtMs: 41_000 },
    { sentAtMs: 48_800, answeredAtMs: 49_000 },
    { sentAtMs: 49_700, answeredAtMs: 50_000 },
  ]);
  expect(finishedOf([told(-5_000, -4_500)])).toEqual([
    { sentAtMs: 35_900, answeredAtMs: 36_000 },
    { sentAtMs: 43_800, answeredAtMs: 44_000 },
    { sentAtMs: 44_700, answeredAtMs: 50_000 },
    { sentAtMs: 49_500, answeredAtMs: 50_000 },
  ]);
});

test("after a restart a first call that fails is no refusal: nothing was refused before", () => {
  const probing = createGovernor(SIXTY_A_MINUTE, 0, earlier([]));

  expect(failed(probing, 0, "server_error").phase).toBe("probing");
});

test("a wall clock set back while the program was away moves the last answers to now and no further", () => {
  const answeredAgoMs = Array.from({ length: 60 }, (_, index) => -58_000 + index * 1_000);

  const admitted = admission(createGovernor(SIXTY_A_MINUTE, 0, earlier(answeredAgoMs)), 0);

  expect(admitted).toEqual({ maySend: false, notBeforeMs: 1_010 });
});

/** Calls of ours at those times beside 30 even calls a minute, counted by a rule; what was reckoned with after each. */
function besideEvenly(
  rule: RuleName,
  ourAtMs: readonly number[],
): { state: GovernorState; secondCounts: number[] } {
  const service = COUNTING_RULES[rule](60_000);
  const arrivals = [
    ...ourAtMs.map((atMs) => ({ atMs: atMs + LATENCY_MS / 2, sentAtMs: atMs })),
    ...every(2_000, 1_000, Math.max(...ourAtMs)).map((atMs) => ({ atMs, sentAtMs: null })),
  ].sort((a, b) => a.atMs - b.atMs);
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  const secondCounts: number[] = [];
  for (const { atMs, sentAtMs } of arrivals) {
    // A window of the clock ends 14 s after the start.
    const { usedCount } = service(atMs + 46_000, 60);
    if (sentAtMs === null) continue;
    state = answered(state, sentAtMs, readingOf(usedCount));
    secondCounts.push(budgetState(state, sentAtMs + LATENCY_MS).secondClientCount);
  }
  return { state, secondCounts };
}

/** What the journal alone tells of calls that were answered so long ago, or not at all. */
function earlier(answeredAgoMs: readonly (number | null)[]): CallHistory {
  const calls = answeredAgoMs.map((agoMs) => ({ sentAgoMs: agoMs ?? 0, answeredAgoMs: agoMs }));
  return { calls, certain: false };
}

function sendWhileAdmitted(
  state: GovernorState,
  fromMs: number,
  count: number,
  { answer = true } = {},
): { state: GovernorState; sentAtMs: number[] } {
  const sentAtMs: number[] = [];
  let atMs = fromMs;
  let now = state;
  while (sentAtMs.length < count) {
    atMs = admittedAtMs(now, atMs);
    sentAtMs.push(atMs);
    now = step(now, { type: "sent" }, atMs);
    if (answer) now = step(now, { type: "answered", sentAtMs: atMs, rateLimit: NO_RATE_LIMIT }, atMs);
  }
  return { state: now, sentAtMs };
}

/** When a call is admitted from `fromMs` on. A refused question names a later time, so that nobody asks for ever. */
function admittedAtMs(state: GovernorState, fromMs: number): number {
  let atMs = fromMs;
  for (;;) {
    const admitted = admission(state, atMs);
    if (admitted.maySend) return atMs;
    expect(admitted.notBeforeMs).toBeGreaterThan(atMs);
    atMs = admitted.notBeforeMs;
  }
}

import { expect, test } from "@jest/globals";
import { budgetState } from "../../../src/collect/governor/budgetState.ts";
import { admission, createGovernor, step } from "../../../src/collect/governor/governor.ts";
import type { GovernorState } from "../../../src/collect/governor/state.ts";
import { countedAt } from "../../../src/collect/governor/ownCalls.ts";
import { handOver, inherit } from "../../../src/collect/governor/handover.ts";
import { NO_RATE_LIMIT } from "../../../src/quotes/rateLimit.ts";
import { answered, callsAnsweredAt, every, readingOf, sampleAt, SIXTY_A_MINUTE, stateOf } from "./states.ts";

function unsure(state: GovernorState, atMs: number, mayCall = true): GovernorState {
  return step(state, { type: "unsure", on: true, mayCall }, atMs);
}

/** Calls made as soon as each may leave, each answered at once with what `readingAt` says of the n-th. */
function calls(
  state: GovernorState,
  count: number,
  used: (index: number) => number | null,
): [GovernorState, number[]] {
  let now = state;
  const sent: number[] = [];
  for (let atMs = state.nowMs; sent.length < count;) {
    const allowed = admission(now, atMs);
    if (!allowed.maySend) {
      atMs = allowed.notBeforeMs;
      continue;
    }
    sent.push(atMs);
    const usedCount = used(sent.length);
    now = answered(now, atMs, usedCount === null ? NO_RATE_LIMIT : readingOf(usedCount));
    atMs = now.nowMs;
  }
  return [now, sent];
}

test("who is unsure keeps three calls of the window free", () => {
  const full = stateOf({
    finished: callsAnsweredAt(...every(1_000, 1_000, 58_000)),
    nowMs: 58_000,
    burstCount: 20,
  });

  expect(admission(full, 58_000)).toEqual({ maySend: true });
  expect(admission(unsure(full, 58_000), 58_000)).toEqual({ maySend: false, notBeforeMs: 61_010 });
});

test("who is unsure makes one call at a time, and waits for it for two seconds at most", () => {
  const sent = step(unsure(createGovernor(SIXTY_A_MINUTE, 0), 0), { type: "sent" }, 1_000);

  expect(admission(sent, 1_100)).toEqual({ maySend: false, notBeforeMs: 3_000 });
  expect(admission(sent, 3_000)).toEqual({ maySend: true });
});

test("who is unsure makes no call where that was wished, until it is sure again", () => {
  const stopped = unsure(createGovernor(SIXTY_A_MINUTE, 0), 0, false);

  expect(admission(stopped, 1_000)).toEqual({ maySend: false, notBeforeMs: 61_000 });
  const sure = step(stopped, { type: "unsure", on: false, mayCall: false }, 2_000);
  expect(admission(sure, 2_000)).toEqual({ maySend: true });
  expect(budgetState(stopped, 0)).toMatchObject({ unsure: true, listening: false });
});

test("who is unsure hears two calls that are not its own, and yields", () => {
  const [before] = calls(unsure(createGovernor(SIXTY_A_MINUTE, 0), 0), 5, (index) => index);

  const [one] = calls(before, 1, () => 7);
  const [two] = calls(before, 1, () => 8);

  expect(budgetState(one, one.nowMs)).toMatchObject({ unsure: true, listening: false });
  expect(budgetState(two, two.nowMs)).toMatchObject({ unsure: true, listening: true });
  expect(admission(two, two.nowMs)).toEqual({ maySend: false, notBeforeMs: two.burstAtMs + 15_000 });
  const [quiet] = calls(two, 1, () => 3);
  expect(quiet.quietSinceMs).toBe(two.nowMs);
  expect(admission(quiet, quiet.nowMs)).toEqual({ maySend: false, notBeforeMs: quiet.burstAtMs + 6_000 });
});

test("who is unsure hears nobody in a second client that was known before", () => {
  const known = stateOf({ samples: [sampleAt(0, 10)] });
  const [before] = calls(unsure(known, 0), 1, () => 11);

  expect(before.quietSinceMs).toBeNull();
  const [heard] = calls(before, 1, () => 14);
  expect(heard.quietSinceMs).not.toBeNull();
});

test("who is unsure hears nobody while it is sure", () => {
  const [heard] = calls(createGovernor(SIXTY_A_MINUTE, 0), 1, () => 30);

  expect(heard.quietSinceMs).toBeNull();
});

test("who listens calls each tenth of the window until one shows nobody else", () => {
  const state = step(unsure(createGovernor(SIXTY_A_MINUTE, 0), 0), { type: "listen" }, 0);

  const [listening, sent] = calls(state, 9, (index) => index);
  const [free] = calls(listening, 1, () => 10);

  expect(sent).toEqual(every(6_000, 6_000, 60_000));
  expect(budgetState(listening, 54_200).listening).toBe(true);
  expect(budgetState(free, 60_200)).toMatchObject({ unsure: true, listening: false });
});

test("who listens listens on while others show", () => {
  const state = step(unsure(createGovernor(SIXTY_A_MINUTE, 0), 0), { type: "listen" }, 0);

  const [listening] = calls(state, 40, () => 40);

  expect(listening.quietSinceMs).toBe(listening.nowMs);
});

test("who listens goes on after a window where answers name no count", () => {
  const state = step(unsure(createGovernor(SIXTY_A_MINUTE, 0), 0), { type: "listen" }, 0);

  const [later] = calls(state, 11, () => null);

  expect(budgetState(later, later.nowMs).listening).toBe(false);
});

const busy = stateOf({
  finished: callsAnsweredAt(...every(1_000, 1_000, 61_000)),
  nowMs: 60_000,
  burstCount: 0,
});
const heir = inherit(SIXTY_A_MINUTE, { handed: handOver(busy), agoMs: 8_000, released: false }, 60_000);

test("who takes over from one that may still be calling makes three calls at once as soon as there is room for three, then none for two seconds", () => {
  const allowed = admission(heir, 60_000);
  const atMs = allowed.maySend ? 60_000 : allowed.notBeforeMs;
  let now = heir;
  for (let count = 0; count < 3; count += 1) {
    expect(admission(now, atMs)).toEqual({ maySend: true });
    now = step(now, { type: "sent" }, atMs);
  }

  expect(countedAt(now, atMs)).toBe(60);
  const then = admission(now, atMs);
  expect(then.maySend).toBe(false);
  // It keeps three calls free for two windows: what the one before sends until it hears the knock.
  expect(!then.maySend && then.notBeforeMs).toBeGreaterThan(atMs + 3_000);
  const later = step(now, { type: "tick" }, atMs + 120_000);
  expect(later.nowMs < later.waryUntilMs).toBe(false);
});

test("a call that did not leave is in no count, and the next one waits for a moment", () => {
  const state = createGovernor(SIXTY_A_MINUTE, 0);
  const sent = step(state, { type: "sent" }, 1_000);

  const withdrawn = step(sent, { type: "withdrawn", sentAtMs: 1_000 }, 1_005);

  expect(countedAt(withdrawn, 1_005)).toBe(0);
  expect(withdrawn.burstCount).toBe(state.burstCount);
  expect(admission(withdrawn, 1_005)).toEqual({ maySend: false, notBeforeMs: 1_255 });
});

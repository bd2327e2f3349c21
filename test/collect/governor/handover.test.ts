import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { admission, createGovernor, step } from "../../../src/collect/governor/governor.ts";
import type { GovernorState } from "../../../src/collect/governor/state.ts";
import { handOver, inherit } from "../../../src/collect/governor/handover.ts";
import { secondClientCount } from "../../../src/collect/governor/secondClient.ts";
import { countedAt } from "../../../src/collect/governor/ownCalls.ts";
import { anyMoves, drive } from "./drive.ts";
import { answered, every, readingOf, sampleAt, SIXTY_A_MINUTE, stateOf } from "./states.ts";
import { runs } from "../../support/runs.ts";

/** Another machine's clock. */
const HERE_MS = 5_000_000;

function written(state: GovernorState): unknown {
  return JSON.parse(JSON.stringify(handOver(state)));
}

/** Makes every call that is allowed until `untilMs`, each answered at once. */
function greedily(state: GovernorState, untilMs: number, unsureAtMs = Infinity): GovernorState {
  let now = state;
  for (let atMs = state.nowMs; atMs <= untilMs;) {
    if (atMs >= unsureAtMs) now = step(now, { type: "unsure", on: true, mayCall: true }, atMs);
    const allowed = admission(now, atMs);
    if (allowed.maySend) {
      now = step(now, { type: "sent" }, atMs);
      now = step(now, { type: "failed", sentAtMs: atMs, how: "other" }, atMs);
    } else atMs = Math.min(allowed.notBeforeMs, atMs < unsureAtMs ? unsureAtMs : Infinity);
  }
  return step(now, { type: "tick" }, untilMs);
}

test("a state that was released decides on another clock as it would have on its own", () => {
  fc.assert(
    fc.property(anyMoves, fc.nat(90_000), fc.nat(120_000), (moves, agoMs, laterMs) => {
      const driven = drive(moves, SIXTY_A_MINUTE);
      const state = { ...driven.state, inFlightSentAtMs: [] };

      const heir = inherit(SIXTY_A_MINUTE, { handed: written(state), agoMs, released: true }, HERE_MS);

      const there = admission(state, driven.nowMs + agoMs + laterMs);
      const here = admission(heir, HERE_MS + laterMs);
      expect(here.maySend).toBe(there.maySend);
      if (!here.maySend && !there.maySend)
        expect(here.notBeforeMs - HERE_MS).toBe(there.notBeforeMs - driven.nowMs - agoMs);
    }),
  );
});

test("a state that was released counts what was under way as answered now", () => {
  const sent = step(createGovernor(SIXTY_A_MINUTE, 0), { type: "sent" }, 1_000);

  const heir = inherit(SIXTY_A_MINUTE, { handed: written(sent), agoMs: 30_000, released: true }, HERE_MS);

  expect(countedAt(heir, HERE_MS + 60_000)).toBe(1);
  expect(countedAt(heir, HERE_MS + 60_010)).toBe(0);
  expect(heir.inFlightSentAtMs).toEqual([]);
});

test("a state that was released is joined by the calls of the history that were sent since", () => {
  const state = answered(createGovernor(SIXTY_A_MINUTE, 0), 1_000, readingOf(1));
  const history = {
    calls: [
      { sentAgoMs: 5_200, answeredAgoMs: 5_000 },
      { sentAgoMs: 2_000, answeredAgoMs: 1_000 },
    ],
    ...{ certain: true, closedForMs: 4_000 },
  };

  const heir = inherit(
    SIXTY_A_MINUTE,
    { handed: written(state), agoMs: 5_000, released: true, history },
    HERE_MS,
  );

  expect(countedAt(heir, HERE_MS)).toBe(2);
  expect(heir).toMatchObject({ phase: "closed", closedUntilMs: HERE_MS + 4_000 });
});

test("a state that was not released admits no call that the one before would not have, had it made all calls it was allowed", () => {
  fc.assert(
    fc.property(anyMoves, fc.nat(90_000), fc.nat(90_000), (moves, agoMs, laterMs) => {
      const driven = drive(moves, SIXTY_A_MINUTE);
      const before = greedily(
        { ...driven.state, inFlightSentAtMs: [] },
        driven.nowMs + agoMs,
        driven.nowMs + 4_000,
      );
      const heir = inherit(
        SIXTY_A_MINUTE,
        { handed: written(driven.state), agoMs, released: false },
        HERE_MS,
      );

      const atMs = HERE_MS + laterMs;
      expect(countedAt(heir, atMs)).toBeGreaterThanOrEqual(countedAt(before, before.nowMs + laterMs));
      const sure = step(before, { type: "unsure", on: false, mayCall: true }, before.nowMs);
      const knocked = { ...heir, knockCount: 0 };
      if (admission(knocked, atMs).maySend)
        expect(admission(sure, before.nowMs + laterMs + 2)).toEqual({ maySend: true });
    }),
    { numRuns: runs(100) },
  );
});

test("a state that was not released is reckoned as full as it may be, whatever passed, and as soon as that", () => {
  const state = stateOf({ nowMs: 1_000 });

  const heir = inherit(SIXTY_A_MINUTE, { handed: written(state), agoMs: 10 ** 9, released: false }, HERE_MS);

  expect(countedAt(heir, HERE_MS)).toBe(57);
  expect(heir).toMatchObject({ unsure: null, quietSinceMs: null, knockCount: 3 });
});

test("a state that was not released is reckoned as full at once where its calls are too many to count one by one", () => {
  const config = { limit: 100_000, windowMs: 1_000 };

  const heir = inherit(
    config,
    { handed: written(createGovernor(config, 0)), agoMs: 7_000, released: false },
    HERE_MS,
  );

  expect(countedAt(heir, HERE_MS)).toBe(100_000);
  expect(admission(heir, HERE_MS)).toEqual({ maySend: false, notBeforeMs: HERE_MS + 1_010 });
});

test("a state that was not released teaches nothing of a service that forgets, when the calls it reckons with were not made", () => {
  const heir = inherit(
    SIXTY_A_MINUTE,
    { handed: written(createGovernor(SIXTY_A_MINUTE, 0)), agoMs: 9_000, released: false },
    HERE_MS,
  );

  expect(countedAt(heir, HERE_MS)).toBeGreaterThan(20);
  expect(answered(heir, HERE_MS + 5_000, readingOf(1))).toMatchObject({ forgotAtMs: null, samples: [] });
});

test.each([null, undefined, {}, { version: 2, finishedAtMs: [] }])(
  "what cannot be read (%j) is a window that is full now",
  (handed) => {
    const heir = inherit(SIXTY_A_MINUTE, { handed, agoMs: 30_000, released: false }, HERE_MS);

    expect(countedAt(heir, HERE_MS + 60_009)).toBe(60);
    expect(admission(heir, HERE_MS + 60_010)).toEqual({ maySend: true });
  },
);

test("a state of the right version that lacks anything, or has something else in its place, is one that cannot be read", () => {
  const whole = written(drive([], SIXTY_A_MINUTE).state) as Record<string, unknown>;
  for (const name of Object.keys(whole))
    for (const wrong of [undefined, "1", [null], { atMs: "1" }]) {
      const handed: unknown = { ...whole, [name]: wrong };

      const heir = inherit(SIXTY_A_MINUTE, { handed, agoMs: 30_000, released: true }, HERE_MS);

      expect([name, countedAt(heir, HERE_MS)]).toEqual([name, 60]);
    }
});

test("a state is small, and its second client is known to the heir", () => {
  const samples = every(500, 0, 900_000).map((atMs) =>
    sampleAt(atMs, 10, { appearedCount: atMs % 3_000 ? 0 : 1 }),
  );
  const busy = greedily({ ...stateOf({ samples }), nowMs: 900_000 }, 1_020_000);

  const handed = written(busy);
  const heir = inherit(SIXTY_A_MINUTE, { handed, agoMs: 0, released: true }, HERE_MS);

  expect(JSON.stringify(handed).length).toBeLessThan(8_000);
  expect(countedAt(heir, HERE_MS)).toBe(countedAt(busy, 1_020_000));
  expect(secondClientCount(heir, HERE_MS)).toBe(secondClientCount(busy, 1_020_000));
});

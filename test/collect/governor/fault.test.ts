import { expect, test } from "@jest/globals";
import { reopensAtMs, serverForgets, windowEndsAtMs } from "../../../src/collect/governor/fault.ts";
import type { GovernorState } from "../../../src/collect/governor/state.ts";
import { callsAnsweredAt, every, stateOf } from "./states.ts";

const MINUTE_MS = 60_000;

test("a service that forgets calls younger than a window is taken to do so for a window and a half since it last showed it", () => {
  const seen = stateOf({ forgotAtMs: 10_000 });

  expect(serverForgets(seen, 10_000)).toBe(true);
  expect(serverForgets(seen, 99_999)).toBe(true);
  expect(serverForgets(seen, 100_000)).toBe(false);
  expect(serverForgets(stateOf({}), 0)).toBe(false);
});

test("a service that forgets calls younger than a window has a window that ends a window after it was seen to begin anew", () => {
  const begun = stateOf({ forgotAtMs: 10_000, resetAtMs: 10_000 });

  expect(windowEndsAtMs(begun, 20_000)).toBe(70_010);
  expect(windowEndsAtMs(begun, 70_009)).toBe(70_010);
  expect(windowEndsAtMs(begun, 70_010)).toBeNull();
});

test("a service that forgets calls younger than a window is not known to have a window while none was seen to begin, or none was seen lately", () => {
  expect(windowEndsAtMs(stateOf({ forgotAtMs: 10_000 }), 20_000)).toBeNull();
  expect(windowEndsAtMs(stateOf({ forgotAtMs: 10_000, resetAtMs: 90_000 }), 105_000)).toBeNull();
});

/** How long to keep still, ms. */
const waitMs = (known: Partial<GovernorState>, expiresInMs = -Infinity): number =>
  reopensAtMs(stateOf({ faultCount: 1, ...known }), 100_000, expiresInMs) - 100_000;
/** Since 100 s a window and more was watched. */
const watched = { startedAtMs: 0 };
const begun = { startedAtMs: 90_000 };

test("a window that is known to run is waited for to its end", () => {
  expect(waitMs({ forgotAtMs: 80_000, resetAtMs: 70_000 })).toBe(30_010);
});

test("a service seen to have forgotten is given a window from then on", () => {
  expect(waitMs({ ...watched, forgotAtMs: 60_000 })).toBe(20_010);
  // That window is over: nothing is known any more, and a whole one is waited for.
  expect(waitMs({ ...watched, forgotAtMs: 39_990 })).toBe(60_010);
  expect(waitMs({ ...watched, forgotAtMs: 39_991 })).toBe(2_000);
});

test("calls that stay in the count come back one by one: the second of them is waited for", () => {
  const finished = callsAnsweredAt(...every(1_000, 30_000, 100_000));

  // Of these the ones of 40 s and 41 s are the first to leave: that is sooner than two calls' share of the window.
  expect(waitMs({ ...watched, finished })).toBe(2_000);
  expect(waitMs({ ...watched, finished: callsAnsweredAt(39_990, 45_000, 60_000, 70_000) })).toBe(20_010);
});

test("with fewer than two calls of ours in the count, or a run too young to know, a whole window is", () => {
  const finished = callsAnsweredAt(...every(1_000, 50_000, 90_000));

  expect(waitMs({ ...watched, finished: callsAnsweredAt(60_000) })).toBe(60_010);
  expect(waitMs({ ...begun, finished })).toBe(60_010);
  expect(waitMs({ startedAtMs: 40_000, finished })).toBe(60_010);
  expect(waitMs({ startedAtMs: 39_999, finished })).toBe(11_010);
});

test("Expire is believed within the next window, and never for less than two calls' share of it", () => {
  expect(waitMs(begun, 30_000)).toBe(30_010);
  expect(waitMs(begun, 60_000)).toBe(60_010);
  expect(waitMs(begun, 500)).toBe(2_000);
  expect(waitMs({ ...begun, limit: 6 }, 500)).toBe(20_000);
  expect([-5, 0, 60_001, 1e12, -Infinity].map((expiresInMs) => waitMs(begun, expiresInMs))).toEqual(
    Array(5).fill(60_010),
  );
});

test("what was learnt of the service goes before what Expire says", () => {
  expect(waitMs({ forgotAtMs: 80_000, resetAtMs: 80_000 }, 5_000)).toBe(40_010);
});

test("no first wait is longer than a window, even where a single call is allowed in it", () => {
  expect(waitMs({ ...begun, limit: 1 }, 500)).toBe(60_010);
});

test("further refusals in a row wait one, four, sixteen and at most sixty windows, whatever is known", () => {
  const waits = [2, 3, 4, 5, 6].map((faultCount) =>
    waitMs({ faultCount, forgotAtMs: 80_000, resetAtMs: 80_000 }, 5_000),
  );

  expect(waits).toEqual([1, 4, 16, 60, 60].map((windows) => windows * MINUTE_MS + 10));
});

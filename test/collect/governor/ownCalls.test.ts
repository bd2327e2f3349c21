import { expect, test } from "@jest/globals";
import {
  countedAt,
  leavesAtMs,
  nextLeavesAtMs,
  possiblyCounted,
  possiblyCountedBetween,
  roomAtMs,
  roomCount,
  surelyCounted,
  withFinished,
  withoutInFlight,
} from "../../../src/collect/governor/ownCalls.ts";
import { callsAnsweredAt, stateOf } from "./states.ts";

/** Three calls answered, two under way. */
const known = stateOf({ finished: callsAnsweredAt(1_000, 2_000, 3_000), inFlightSentAtMs: [2_500, 2_900] });

test("our count holds a call from when it leaves until a window, and 10 ms, after its answer", () => {
  expect(leavesAtMs(known, 1_000)).toBe(61_010);
  expect(countedAt(known, 3_000)).toBe(5);
  expect(countedAt(known, 61_009)).toBe(5);
  expect(countedAt(known, 61_010)).toBe(4);
  expect(countedAt(known, 63_010)).toBe(2);
});

test("our count has room for what is missing to the cap, never for less than nothing", () => {
  expect(roomCount(known, 60, 3_000)).toBe(55);
  expect(roomCount(known, 60, 61_010)).toBe(56);
  expect(roomCount(known, 4, 3_000)).toBe(0);
});

test("our count is below a cap when enough of its answered calls have left", () => {
  expect(roomAtMs(known, 6, 3_000)).toBe(-Infinity);
  expect(roomAtMs(known, 5, 3_000)).toBe(61_010);
  expect(roomAtMs(known, 3, 3_000)).toBe(63_010);
});

test("a count that calls under way fill alone is asked again a window later", () => {
  expect(roomAtMs(known, 2, 3_000)).toBe(63_010);
  expect(roomAtMs(known, 2, 5_000)).toBe(65_010);
});

test("our count changes next when the oldest answered call in it leaves; a window later when there is none", () => {
  expect(nextLeavesAtMs(known, 3_000)).toBe(61_010);
  expect(nextLeavesAtMs(known, 61_010)).toBe(62_010);
  expect(nextLeavesAtMs(known, 70_000)).toBe(130_010);
});

const call = { sentAtMs: 61_500, answeredAtMs: 62_500 };

test("what the service can have counted of ours with a call is at most all that is under way, and all answered since a window before that call was sent", () => {
  expect(possiblyCounted(known, call)).toBe(4);
  expect(possiblyCounted(known, { ...call, sentAtMs: 61_000 })).toBe(5);
  expect(possiblyCounted(known, { ...call, sentAtMs: 61_001 })).toBe(4);
});

test("what the service can have counted of ours with a call is at least the call itself, and those sent within the window that were answered before it was sent", () => {
  const state = stateOf({
    finished: [
      { sentAtMs: 2_500, answeredAtMs: 2_900 },
      { sentAtMs: 2_501, answeredAtMs: 3_000 },
      { sentAtMs: 60_000, answeredAtMs: 61_500 },
      { sentAtMs: 60_000, answeredAtMs: 61_501 },
    ],
  });

  expect(surelyCounted(state, call)).toBe(3);
  expect(surelyCounted(stateOf({}), call)).toBe(1);
});

test("between two answers is at most what was answered since the first was sent, or may have arrived before the second", () => {
  const first = { sentAtMs: 2_000, answeredAtMs: 2_100 };
  const second = { sentAtMs: 2_600, answeredAtMs: 2_900 };

  // Answered at 2,000 and 3,000, sent at 2,500 and 2,900; one of them is the first itself.
  expect(possiblyCountedBetween(known, first, second)).toBe(3);
  expect(possiblyCountedBetween(known, { ...first, sentAtMs: 2_001 }, second)).toBe(2);
  expect(possiblyCountedBetween(known, first, { ...second, answeredAtMs: 2_899 })).toBe(2);
});

test("the books keep the answered calls of two windows, in the order of their answers", () => {
  const call = { sentAtMs: 121_500, answeredAtMs: 122_000 };

  expect(withFinished(known, call).map(({ answeredAtMs }) => answeredAtMs)).toEqual([3_000, 122_000]);
  expect(withFinished(known, { ...call, answeredAtMs: 120_999 })).toHaveLength(4);
});

test("the books strike out the call that was answered, or else the oldest", () => {
  expect(withoutInFlight(known, 2_900)).toEqual([2_500]);
  expect(withoutInFlight(known, 2_500)).toEqual([2_900]);
  expect(withoutInFlight(known, 7)).toEqual([2_900]);
  expect(withoutInFlight(stateOf({ inFlightSentAtMs: [5, 5] }), 5)).toEqual([5]);
});

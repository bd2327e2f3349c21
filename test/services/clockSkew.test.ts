import { expect, test } from "@jest/globals";
import { instantFromDate } from "../../src/ground/clock.ts";
import {
  correctionAfterRefusal,
  type DatedAnswer,
  mayBeRefusedForTheClock,
} from "../../src/services/clockSkew.ts";

const DAY_MS = 86_400_000;

/** An answer of a service whose clock is ahead by so much. One that is a second under way shows just that difference. */
function answer(offsetSeconds: number, underWayMs = 1_000): DatedAnswer {
  const requestedMs = Date.UTC(2026, 10, 20, 22, 50);
  return {
    requestedAt: instantFromDate(new Date(requestedMs)),
    observedAt: instantFromDate(new Date(requestedMs + underWayMs)),
    headers: { date: new Date(requestedMs + offsetSeconds * 1_000).toUTCString() },
  };
}

test("the skew by a Date header is the middle of what whole seconds and the time under way allow", () => {
  expect(correctionAfterRefusal(0, answer(60, 200))).toBe(60_400);
  expect(correctionAfterRefusal(0, answer(-60))).toBe(-60_000);
});

test.each([
  ["an answer that took nine seconds", answer(60, 9_000), 56_000],
  ["a clock that was set back by the second that Date leaves open", answer(60, -1_000), 61_000],
  ["a difference of a day", answer(DAY_MS / 1_000), DAY_MS],
])("a Date header still shows the skew with %s", (_what, given, skewMs) => {
  expect(correctionAfterRefusal(0, given)).toBe(skewMs);
});

test.each([
  ["no Date", { ...answer(60), headers: {} }],
  ["a Date in another form", { ...answer(60), headers: { date: "2026-11-20T22:51:00Z" } }],
  ["a day that does not exist", { ...answer(60), headers: { date: "Fri, 99 Nov 2026 22:50:00 GMT" } }],
  ["an answer that took ten seconds", answer(60, 10_000)],
  ["a clock that was moved meanwhile", answer(60, -5_000)],
  ["a difference of more than a day", answer(DAY_MS / 1_000 + 1)],
  ["a difference of more than a day the other way", answer(-DAY_MS / 1_000 - 1)],
])("a Date header shows no skew with %s", (_what, given) => {
  expect(correctionAfterRefusal(0, given)).toBe(0);
  expect(correctionAfterRefusal(7_000, given)).toBe(7_000);
  expect(mayBeRefusedForTheClock(given)).toBe(false);
});

test.each([
  [0, false],
  [5, false],
  [6, true],
  [60, true],
  [-5, false],
  [-6, true],
])("a skew of %d s makes one more attempt worth a call: %p", (seconds, isWorth) => {
  expect(mayBeRefusedForTheClock(answer(seconds))).toBe(isWorth);
});

test.each([
  ["that shows the clock 60 s behind, it is corrected by that", 0, 60, 60_000],
  ["that shows the clock 60 s ahead, it is corrected by that", 0, -60, -60_000],
  ["that shows the clock 5 s behind, it is not the reason", 0, 5, 0],
  ["that confirms the correction, the clock was not the reason", 60_000, 60, 0],
  ["that confirms the correction to 5 s, the clock was not the reason", 60_000, 65, 0],
  ["that shows another difference, it is corrected by that one", 60_000, 66, 66_000],
  ["that shows a clock set right, it needs no correction any more", 60_000, 0, 0],
  ["that shows a clock set nearly right, it needs no correction any more", 60_000, -5, 0],
])("after a refusal %s", (_what, correctionMs, offsetSeconds, nextMs) => {
  expect(correctionAfterRefusal(correctionMs, answer(offsetSeconds))).toBe(nextMs);
});

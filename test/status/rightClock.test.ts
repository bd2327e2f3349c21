import { expect, test } from "@jest/globals";
import { clockIsRight, requireRightClock, wrongClockLines } from "../../src/status/rightClock.ts";
import { createTestClock } from "../support/clock.ts";

const IN_1970 = new Date("1970-01-04T00:00:02Z");

test("a clock in 1970, or at a maker's date, is wrong; one since the program began may be right", () => {
  expect(() => requireRightClock(IN_1970)).toThrow(
    "CLOCK_WRONG: the machine's clock shows 1970-01-04T00:00:02Z. ",
  );
  expect(() => requireRightClock(new Date("2020-01-01T00:00:00Z"))).toThrow("CLOCK_WRONG");
  expect(() => requireRightClock(new Date("2026-01-01T00:00:00Z"))).not.toThrow();
});

test("a clock that is wrong needs a person, in a line of its own", () => {
  expect(wrongClockLines(IN_1970)).toEqual([
    {
      subject: "clock",
      state: "attention",
      text: expect.stringContaining("CLOCK_WRONG: the machine's clock shows 1970"),
    },
  ]);
  expect(wrongClockLines(new Date("2026-11-20T12:00:00Z"))).toEqual([]);
});

test("who waits for the clock goes on within a second after a time service has set it", async () => {
  const clock = createTestClock(IN_1970.toISOString(), {
    onSleep: () => (clock.slept.length === 5 ? clock.setTo("2026-11-20T12:00:00Z") : undefined),
  });
  const said: string[] = [];

  await clockIsRight(clock, new AbortController().signal, ({ code }) => said.push(code));

  expect(clock.slept).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
  expect(new Set(said)).toEqual(new Set(["CLOCK_WRONG"]));
  expect(clock.now().getFullYear()).toBe(2026);
});

test("who waits for the clock ends at a signal", async () => {
  const ending = new AbortController();
  const clock = createTestClock(IN_1970.toISOString(), { onSleep: () => ending.abort() });

  await clockIsRight(clock, ending.signal, () => undefined);

  expect(clock.slept).toHaveLength(1);
});

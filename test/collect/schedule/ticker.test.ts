import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { systemClock } from "../../../src/clock.ts";
import { createSchedule } from "../../../src/collect/schedule/slots.ts";
import { startTicker } from "../../../src/collect/schedule/ticker.ts";
import type { TickWindow } from "../../../src/collect/schedule/ticker.ts";
import { createCalendar } from "../../../src/market/calendar/calendar.ts";
import type { WantedSession } from "../../../src/market/calendar/calendar.ts";

const nyse = createCalendar();

afterEach(() => void jest.useRealTimers());

/** A job under a ticker in virtual time: what it was due for, as ISO seconds in UTC. */
function collecting(
  start: string,
  cron: string,
  {
    session = "always" as WantedSession,
    since,
    block,
  }: { session?: WantedSession; since?: string; block?: () => void } = {},
) {
  jest.useFakeTimers({ now: new Date(start) });
  const schedule = createSchedule({ cron, timezone: "America/New_York", session, calendar: nyse });
  const slots: string[] = [];
  const steps: number[] = [];
  const errors: unknown[] = [];
  const onTick = ({ after, until }: TickWindow) => {
    slots.push(...schedule.slotsBetween(after, until).map((at) => at.toISOString().slice(0, 19)));
    block?.();
  };
  const stop = startTicker({
    clock: systemClock,
    every: schedule.subMinute ? "second" : "minute",
    ...(since === undefined ? {} : { since: new Date(since) }),
    onTick,
    onError: (error) => errors.push(error),
    onClockStep: (ms) => steps.push(ms),
  });
  return { slots, steps, errors, stop };
}

/** Lets time pass in whole steps; node-cron answers a timer a few promises later. */
async function pass(totalMs: number, stepMs = 60_000): Promise<void> {
  for (let passed = 0; passed < totalMs; passed += stepMs) {
    jest.advanceTimersByTime(stepMs);
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
}

const HOUR = 3_600_000;

function everyMinute(from: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) =>
    new Date(Date.parse(from) + i * 60_000).toISOString().slice(0, 19),
  );
}

describe("a job every minute", () => {
  test("misses and repeats no minute on the night spring skips an hour", async () => {
    const { slots, steps } = collecting("2025-03-09T04:59:30Z", "* * * * *");

    await pass(4 * HOUR);

    expect(slots).toEqual(everyMinute("2025-03-09T05:00:00Z", 240));
    expect(steps).toEqual([]);
  });

  test("misses and repeats no minute on the night autumn repeats an hour", async () => {
    const { slots } = collecting("2025-11-02T03:59:30Z", "* * * * *");

    await pass(4 * HOUR);

    expect(slots).toEqual(everyMinute("2025-11-02T04:00:00Z", 240));
  });

  test("for the regular session stops at 13:00 on an early close and resumes after the holiday", async () => {
    const { slots } = collecting("2024-07-03T16:57:30Z", "* * * * *", { session: "regular" });

    await pass(45 * HOUR);

    expect(slots.slice(0, 4)).toEqual([
      "2024-07-03T16:58:00",
      "2024-07-03T16:59:00",
      "2024-07-05T13:30:00",
      "2024-07-05T13:31:00",
    ]);
  });

  test("for any session is silent all of 9 January 2025", async () => {
    const { slots } = collecting("2025-01-09T00:58:30Z", "* * * * *", { session: "any" });

    await pass(32 * HOUR + 3 * 60_000);

    // The post-market of the 8th ends at 20:00 New York time; the pre-market of the 10th begins at 04:00.
    expect(slots).toEqual(["2025-01-09T00:59:00", "2025-01-10T09:00:00", "2025-01-10T09:01:00"]);
  });

  test("sees each minute of a leap day", async () => {
    const { slots } = collecting("2024-02-29T04:59:30Z", "* * * * *");

    await pass(24 * HOUR);

    expect(slots).toEqual(everyMinute("2024-02-29T05:00:00Z", 1_440));
  });
});

describe("a daily job", () => {
  test("at 01:30 runs once on the night that has 01:30 twice, and at 02:30 once on the night that has none", async () => {
    const autumn = collecting("2025-11-02T03:00:30Z", "30 1 * * *");
    await pass(28 * HOUR);
    autumn.stop();
    const spring = collecting("2025-03-09T03:00:30Z", "30 2 * * *");
    await pass(28 * HOUR);

    expect(autumn.slots).toEqual(["2025-11-02T05:30:00", "2025-11-03T06:30:00"]);
    expect(spring.slots).toEqual(["2025-03-09T07:30:00", "2025-03-10T06:30:00"]);
  });
});

describe("ticks that are not what they should be", () => {
  test("every second is due once in a job of six fields", async () => {
    const { slots } = collecting("2026-01-15T14:29:58.500Z", "*/2 * * * * *");

    await pass(5_500, 500);

    expect(slots).toEqual(["2026-01-15T14:30:00", "2026-01-15T14:30:02", "2026-01-15T14:30:04"]);
  });

  test("a tick held up for three seconds reports its slot late, not at the next minute", async () => {
    let held = false;
    const { slots } = collecting("2026-01-15T14:29:30Z", "* * * * *", {
      block: () => {
        if (held) return;
        held = true;
        // The event loop stands still: time passes, timers do not run.
        jest.setSystemTime(new Date("2026-01-15T14:31:03Z"));
      },
    });

    await pass(32_000, 1_000);

    expect(slots).toEqual(["2026-01-15T14:30:00", "2026-01-15T14:31:00"]);
  });

  test("after a night asleep all slots of the night are reported within a second", async () => {
    const { slots, steps } = collecting("2026-01-15T14:29:30Z", "* * * * *");
    await pass(60_000);

    jest.setSystemTime(new Date("2026-01-15T22:30:30Z"));
    await pass(1_000, 1_000);

    expect(slots).toEqual(everyMinute("2026-01-15T14:30:00Z", 481));
    expect(steps).toEqual([8 * HOUR]);
  });

  test("a clock set back by an hour repeats nothing, says so, and goes on when it has caught up", async () => {
    const { slots, steps } = collecting("2026-01-15T14:29:30Z", "* * * * *");
    await pass(2 * 60_000);

    jest.setSystemTime(new Date("2026-01-15T13:31:30Z"));
    await pass(2 * HOUR);

    expect(steps).toEqual([-HOUR]);
    expect(slots).toEqual(everyMinute("2026-01-15T14:30:00Z", 62));
  });

  test("a clock set back and then right again loses nothing", async () => {
    const { slots } = collecting("2026-01-15T14:29:30Z", "* * * * *");
    await pass(60_000);

    jest.setSystemTime(new Date("2026-01-15T08:00:00Z"));
    await pass(3 * 60_000);
    jest.setSystemTime(new Date("2026-01-15T14:33:30Z"));
    await pass(60_000);

    expect(slots).toEqual(everyMinute("2026-01-15T14:30:00Z", 5));
  });

  test("the time since an earlier run is covered by the first tick", async () => {
    const { slots } = collecting("2026-01-15T14:29:30Z", "*/10 * * * *", { since: "2026-01-15T14:00:00Z" });

    await pass(60_000);

    expect(slots).toEqual(["2026-01-15T14:10:00", "2026-01-15T14:20:00", "2026-01-15T14:30:00"]);
  });

  test("an error in one tick is reported, and the next tick comes", async () => {
    const { slots, errors } = collecting("2026-01-15T14:29:30Z", "* * * * *", {
      block: () => {
        throw new Error("no room");
      },
    });

    await pass(2 * 60_000);

    expect(slots).toHaveLength(2);
    expect(errors).toEqual([new Error("no room"), new Error("no room")]);
  });

  test("nothing ticks once it is stopped, and no timer is left", async () => {
    const { slots, stop } = collecting("2026-01-15T14:29:30Z", "* * * * *");
    await pass(60_000);

    stop();
    await pass(5 * 60_000);

    expect(slots).toEqual(["2026-01-15T14:30:00"]);
    expect(jest.getTimerCount()).toBe(0);
  });
});

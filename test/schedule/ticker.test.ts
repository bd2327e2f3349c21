import { afterEach, expect, jest, test } from "@jest/globals";
import { getTasks } from "node-cron";
import { createSchedule } from "../../src/schedule/slots.ts";
import { startTicker, type TickWindow } from "../../src/schedule/ticker.ts";
import { createCalendar, type WantedSession } from "../../src/market/calendar/tradingCalendar.ts";
import type { ClockStep } from "../../src/journal/ledger.ts";
import { startVirtualTime, type VirtualTime } from "../collect/virtualTime.ts";

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
  }: { session?: WantedSession; since?: string; block?: (time: VirtualTime) => void } = {},
) {
  const time = startVirtualTime(start);
  const schedule = createSchedule({ cron, timezone: "America/New_York", session, calendar: nyse });
  const slots: string[] = [];
  const steps: ClockStep[] = [];
  const setBacks: string[] = [];
  /** When something was to be polled, in ms of true time. */
  const looks: number[] = [];
  /** What was told, in order. */
  const told: string[] = [];
  const errors: unknown[] = [];
  const onTick = function* ({ after, until }: TickWindow): Iterator<void> {
    told.push("tick");
    looks.push(time.clock.uptimeMs());
    slots.push(...schedule.slotsBetween(after, until).map((at) => at.toISOString().slice(0, 19)));
    block?.(time);
  };
  const { stop, cover } = startTicker({
    clock: time.clock,
    every: schedule.subMinute ? "second" : "minute",
    since: new Date(since ?? start),
    onOver: function* (): Iterator<void> {
      told.push("over");
    },
    onTick,
    onSetBack: (now) => {
      looks.push(time.clock.uptimeMs());
      setBacks.push(now.toISOString());
    },
    onError: (error) => errors.push(error),
    onClockStep: (step) => steps.push(step),
  });
  return { time, looks, told, slots, steps, setBacks, errors, stop, cover };
}

/** Lets time pass in whole steps; node-cron answers a timer a few promises later, and a slot begins in the turn after that. */
async function pass(totalMs: number, stepMs = 60_000): Promise<void> {
  for (let passed = 0; passed < totalMs; passed += stepMs) {
    jest.advanceTimersByTime(stepMs);
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const HOUR = 3_600_000;

function everyMinute(from: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) =>
    new Date(Date.parse(from) + i * 60_000).toISOString().slice(0, 19),
  );
}

test("a job every minute misses and repeats no minute on the night spring skips an hour", async () => {
  const { slots, steps } = collecting("2025-03-09T04:59:30Z", "* * * * *");

  await pass(4 * HOUR);

  expect(slots).toEqual(everyMinute("2025-03-09T05:00:00Z", 240));
  expect(steps).toEqual([]);
});

test("every second is due once in a job of six fields", async () => {
  const { slots } = collecting("2026-01-15T14:29:58.500Z", "*/2 * * * * *");

  await pass(5_500, 500);

  expect(slots).toEqual(["2026-01-15T14:30:00", "2026-01-15T14:30:02", "2026-01-15T14:30:04"]);
});

test("a tick held up for a minute reports its slot late, not at the next minute", async () => {
  let held = false;
  const { slots, steps } = collecting("2026-01-15T14:29:30Z", "* * * * *", {
    block: (time) => {
      if (held) return;
      held = true;
      // The event loop stands still: time passes, timers do not run.
      time.stall(63_000);
    },
  });

  await pass(32_000, 1_000);

  expect(slots).toEqual(["2026-01-15T14:30:00", "2026-01-15T14:31:00"]);
  expect(steps.map(({ kind }) => kind)).toEqual(["stopped"]);
  // The watch may have looked up to a second before.
  expect(steps[0]?.stepMs).toBeGreaterThanOrEqual(62_000);
  expect(steps[0]?.stepMs).toBeLessThanOrEqual(63_000);
});

test("after a night asleep all slots of the night are reported within a second", async () => {
  const { time, slots, steps } = collecting("2026-01-15T14:29:30Z", "* * * * *");
  await pass(60_000);

  time.sleepMachine(8 * HOUR);
  await pass(1_000, 1_000);

  expect(slots).toEqual(everyMinute("2026-01-15T14:30:00Z", 481));
  expect(steps).toEqual([{ kind: "slept", stepMs: 8 * HOUR }]);
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

test.each([60_000, 90_000, HOUR])(
  "a clock set back by %d ms is reported within a second, and the slots since then come once more",
  async (backMs) => {
    const { time, slots, steps, setBacks } = collecting("2026-01-15T14:29:30Z", "* * * * *");
    await pass(2 * 60_000);

    time.moveClock(-backMs);
    await pass(1_000, 1_000);
    const saidAtOnce = { steps: [...steps], setBacks: [...setBacks] };
    await pass(2 * HOUR - 1_000, 1_000);

    const setTo = Date.parse("2026-01-15T14:31:30Z") - backMs;
    expect(saidAtOnce).toEqual({
      steps: [{ kind: "set_back", stepMs: -backMs }],
      setBacks: [new Date(setTo + 1_000).toISOString()],
    });
    const next = new Date(Math.floor(setTo / 60_000 + 1) * 60_000).toISOString();
    expect(slots).toEqual([...everyMinute("2026-01-15T14:30:00Z", 2), ...everyMinute(next, 120)]);
    expect(steps).toHaveLength(1);
  },
);

test.each([90_000, HOUR])(
  "a clock set forward by %d ms has the slots in between in the next window",
  async (onMs) => {
    const { time, slots, steps, setBacks } = collecting("2026-01-15T14:29:30Z", "* * * * *");
    await pass(60_000);

    time.moveClock(onMs);
    await pass(1_000, 1_000);

    const minutes = Math.floor((90_000 + onMs) / 60_000);
    expect(slots).toEqual(everyMinute("2026-01-15T14:30:00Z", minutes));
    expect({ steps, setBacks }).toEqual({ steps: [{ kind: "set_forward", stepMs: onMs }], setBacks: [] });
  },
);

/** When the clock is moved, in ms after the start: half a second before node-cron's tick, or before the watch. */
const MOMENTS = [
  ["node-cron's tick sees it first", 3_000],
  ["the watch sees it first", 3_600],
] as const;

test.each(MOMENTS.flatMap(([who, afterMs]) => [1, 30, 9_862].map((daysOn) => ({ who, afterMs, daysOn }))))(
  "a clock set forward by $daysOn days under a job of seconds is seen within a second, and walks few ticks: $who",
  async ({ afterMs, daysOn }) => {
    let walked = 0;
    const { time, looks, steps } = collecting("2026-01-15T14:29:30.500Z", "34 29 14 * * *");
    await pass(afterMs, 100);
    const before = looks.length;
    for (const task of getTasks().values()) task.on("execution:missed", () => void (walked += 1));

    time.moveClock(daysOn * 24 * HOUR);
    await pass(1_000, 100);

    expect(looks.length).toBeGreaterThan(before);
    expect(steps).toEqual([{ kind: "set_forward", stepMs: daysOn * 24 * HOUR }]);
    // Two minutes of seconds in each year at the most.
    expect(walked).toBeLessThanOrEqual(120 * (Math.floor(daysOn / 365) + 1));
  },
);

test("a job of seconds is due at each of its times over the end of the year", async () => {
  const { slots, looks, steps } = collecting("2026-12-31T23:56:30Z", "* * * * * *");

  await pass(300_000, 1_000);

  expect(slots).toHaveLength(300);
  expect(looks).toHaveLength(300);
  expect(steps).toEqual([]);
});

test("a clock set back and then right again loses no slot", async () => {
  const { time, slots, steps } = collecting("2026-01-15T14:29:30Z", "* * * * *");
  await pass(60_000);

  time.moveClock(-6 * HOUR);
  await pass(3 * 60_000);
  time.moveClock(6 * HOUR);
  await pass(60_000, 1_000);

  expect(slots).toEqual([
    ...everyMinute("2026-01-15T14:30:00Z", 1),
    ...everyMinute("2026-01-15T08:31:00Z", 6 * 60 + 4),
  ]);
  expect(steps.map(({ stepMs }) => stepMs)).toEqual([-6 * HOUR, 6 * HOUR]);
});

test("a clock step and a sleep of the machine at once are each reported as what they are", async () => {
  const { time, steps } = collecting("2026-01-15T14:29:30Z", "* * * * *");
  await pass(60_000);

  time.sleepMachine(HOUR);
  time.moveClock(-90_000);
  time.stall(7_000);
  await pass(1_000, 1_000);

  expect(steps).toEqual([
    { kind: "slept", stepMs: HOUR },
    { kind: "stopped", stepMs: 7_000 },
    { kind: "set_back", stepMs: -90_000 },
  ]);
});

test("clock steps below two seconds are reported when they add up to more, and delay no tick by more", async () => {
  const { time, looks, steps } = collecting("2026-01-15T14:29:30Z", "* * * * * *");
  await pass(1_000, 1_000);

  for (let times = 0; times < 10; times++) {
    time.moveClock(-900);
    await pass(1_000, 100);
  }

  expect(steps).toEqual(Array.from({ length: 3 }, () => ({ kind: "set_back", stepMs: -2_700 })));
  const pauses = looks.slice(1).map((at, place) => at - (looks[place] ?? 0));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(3_000);
  expect(looks.at(-1)).toBeGreaterThanOrEqual(9_000);
});

// The watch looks half a second after the minute.
const START = "2026-01-15T14:29:30.500Z";
/** Goes on into the next minute, as far as there is no other turn of the event loop. */
const untilTold = async (): Promise<void> => {
  jest.advanceTimersByTime(29_600);
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

test("a tick reports what is over, and in the next turn what begins", async () => {
  const { told } = collecting(START, "* * * * *");

  await untilTold();
  expect(told).toEqual(["over"]);

  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual(["over", "tick"]);
});

test("a tick's steps are done at once when the time is covered, and never after the end", async () => {
  const covered = collecting(START, "* * * * *");
  await untilTold();
  covered.cover();
  expect(covered.told).toEqual(["over", "tick"]);
  expect(covered.slots).toEqual(["2026-01-15T14:30:00"]);
  covered.stop();
  jest.useRealTimers();

  const stopped = collecting(START, "* * * * *");
  await untilTold();
  stopped.stop();
  await new Promise((resolve) => setImmediate(resolve));
  expect(stopped.told).toEqual(["over"]);
});

const SINCE = Date.parse("2026-01-15T14:30:00Z");
const offsets = Array.from({ length: 31 }, (_, place) => -1_500 + 100 * place);

test.each([0, 1, 40, 700])(
  "a start at any instant sees the next slot within two seconds, though the ticks begin %d ms after the time was read",
  async (lateMs) => {
    for (const offset of offsets) {
      const since = new Date(SINCE + offset);
      const { slots, stop } = collecting(new Date(SINCE + offset + lateMs).toISOString(), "* * * * *", {
        since: since.toISOString(),
      });

      const first = offset < 0 ? SINCE : SINCE + 60_000;
      await pass(first + 2_000 - jest.now(), 500);

      expect({ offset, slots }).toEqual({ offset, slots: [new Date(first).toISOString().slice(0, 19)] });
      stop();
      jest.useRealTimers();
    }
  },
);

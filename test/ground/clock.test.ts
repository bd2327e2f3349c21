import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  createObserver,
  dateOf,
  instantFromDate,
  instantOf,
  instantOfEpochMs,
  microsOf,
  type Clock,
} from "../../src/ground/clock.ts";

/** A clock that stands where it is put. */
function handClock(wall: string): Clock & { set: (wall: string, monotonicMs: number) => void } {
  let at = new Date(wall);
  let monotonic = 1_000.25;
  return {
    now: () => at,
    monotonicMs: () => monotonic,
    uptimeMs: () => monotonic,
    sleep: () => Promise.resolve(),
    random: (length) => new Uint8Array(length),
    set: (next, monotonicMs) => {
      at = new Date(next);
      monotonic = monotonicMs;
    },
  };
}

test("an instant is UTC text with microseconds, and microseconds come back from it", () => {
  const micros = microsOf("2026-11-20T22:50:00.123456Z");

  expect(micros).toBe(BigInt(Date.UTC(2026, 10, 20, 22, 50, 0, 123)) * 1_000n + 456n);
  expect(instantOf(micros)).toBe("2026-11-20T22:50:00.123456Z");
});

test("instants sort as text in the order of time, before 1970 too", () => {
  const anyMicros = fc.bigInt({ min: -62_000_000_000_000_000n, max: 250_000_000_000_000_000n });

  fc.assert(
    fc.property(anyMicros, anyMicros, (a, b) => {
      expect(microsOf(instantOf(a))).toBe(a);
      expect(instantOf(a) < instantOf(b)).toBe(a < b);
    }),
  );
});

test("an instant of a Date ends in three zeros, and its Date drops the microseconds", () => {
  const date = new Date("2026-11-20T22:50:00.123Z");

  expect(instantFromDate(date)).toBe("2026-11-20T22:50:00.123000Z");
  expect(dateOf("2026-11-20T22:50:00.123999Z")).toEqual(date);
});

test.each(["2026-11-20T22:50:00.123Z", "2026-11-20 22:50:00.123456Z", "2026-02-30T00:00:00.000000Z", ""])(
  "an instant is refused when it is written %j",
  (text) => {
    expect(() => microsOf(text)).toThrow("is not a UTC time");
  },
);

test("receive times carry the microseconds that passed since the clock was first read", () => {
  const clock = handClock("2026-11-20T22:50:00.100Z");
  const observe = createObserver(clock);

  const first = observe();
  clock.set("2026-11-20T22:50:00.100Z", 1_000.5);
  const second = observe();

  expect(first).toBe("2026-11-20T22:50:00.100000Z");
  expect(second).toBe("2026-11-20T22:50:00.100250Z");
});

test("receive times differ by a microsecond when both clocks stand still", () => {
  const observe = createObserver(handClock("2026-11-20T22:50:00.100Z"));

  expect([observe(), observe(), observe()]).toEqual([
    "2026-11-20T22:50:00.100000Z",
    "2026-11-20T22:50:00.100001Z",
    "2026-11-20T22:50:00.100002Z",
  ]);
});

test("receive times still increase after the wall clock is set back an hour, and follow it again once it has caught up", () => {
  const clock = handClock("2026-11-20T22:50:00.100Z");
  const observe = createObserver(clock);
  observe();

  clock.set("2026-11-20T21:50:00.000Z", 1_001);
  const setBack = [observe(), observe()];
  clock.set("2026-11-20T22:50:01.000Z", 3_601_001);

  expect(setBack).toEqual(["2026-11-20T22:50:00.100001Z", "2026-11-20T22:50:00.100002Z"]);
  expect(observe()).toBe("2026-11-20T22:50:01.000000Z");
});

test("receive times follow the wall clock when it is set forward", () => {
  const clock = handClock("2026-11-20T22:50:00.100Z");
  const observe = createObserver(clock);
  observe();

  clock.set("2026-11-20T23:50:00.000Z", 1_001);

  expect(observe()).toBe("2026-11-20T23:50:00.000000Z");
});

test("receive times of two numbered collectors are never the same, whatever their clocks say, and stay near the time", () => {
  const step = fc.tuple(fc.nat(1), fc.integer({ min: -2_000, max: 2_000 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(255), fc.nat(255), (steps, one, other) => {
      fc.pre(one !== other);
      const clock = handClock("2026-11-20T22:50:00.100Z");
      const observers = [one, other].map((number) => createObserver(clock, () => number));
      const given: string[][] = [[], []];
      let wallMs = clock.now().getTime();
      for (const [who, aheadMs] of steps) {
        wallMs += aheadMs;
        clock.set(new Date(wallMs).toISOString(), clock.monotonicMs() + 0.01);
        given[who]?.push(observers[who]?.() ?? "");
      }
      const all = given.flat();
      expect(new Set(all).size).toBe(all.length);
      for (const own of given) expect([...own].sort()).toEqual(own);
    }),
  );
});

test("receive times bear a collector's number from the moment it is known", () => {
  const clock = handClock("2026-11-20T22:50:00.100Z");
  let number: number | null = null;
  const observe = createObserver(clock, () => number);

  const before = observe();
  number = 7;

  expect(before).toBe("2026-11-20T22:50:00.100000Z");
  expect(microsOf(observe()) % 256n).toBe(7n);
  expect(microsOf(observe()) % 256n).toBe(7n);
});

test("an instant of epoch milliseconds is that of a Date, up to the year 9999", () => {
  fc.assert(
    fc.property(fc.nat({ max: 253_402_300_799_999 }), (ms) => {
      expect(instantOfEpochMs(String(ms))).toBe(instantFromDate(new Date(ms)));
    }),
  );
  expect(["253402300799999", "253402300800000", "-1", "1.5", "", "x"].map(instantOfEpochMs)).toEqual([
    "9999-12-31T23:59:59.999000Z",
    ...[null, null, null, null, null],
  ]);
});

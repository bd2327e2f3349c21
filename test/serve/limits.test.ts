import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createBudgets } from "../../src/serve/budgets.ts";
import { countCall, faultText, SERVICE_LIMITS, type Window } from "../../src/serve/limits.ts";

const MINUTE = 60_000;

/** Counts calls at these times and returns what became of each. */
function counts(times: readonly number[], limit = 3) {
  let window: Window | undefined;
  return times.map((nowMs) => {
    const count = countCall(window, nowMs, { limit, windowMs: MINUTE });
    window = count.window;
    return count;
  });
}

test("the limits are those of the specification: 60 quote calls, 40 orders, 180 others a minute", () => {
  expect(SERVICE_LIMITS).toEqual({ quotes: 60, orders: 40, other: 180, windowMs: MINUTE });
});

test("calls count up to the limit, then are refused until the window ends", () => {
  const seen = counts([1000, 2000, 3000, 4000, 60_999, 61_000]);

  expect(seen.map(({ admitted }) => admitted)).toEqual([true, true, true, false, false, true]);
  expect(seen.map(({ headers }) => headers["X-RateLimit-Used"])).toEqual(["1", "2", "3", "3", "3", "1"]);
  expect(seen.map(({ headers }) => headers["X-RateLimit-Remaining"])).toEqual(["2", "1", "0", "0", "0", "2"]);
});

test("the window begins with the first call, and its end is given in whole seconds, rounded up", () => {
  const [first, second] = counts([1_500, 30_000]);

  expect(first?.headers["X-RateLimit-Expire"]).toBe("62");
  expect(second?.headers["X-RateLimit-Expire"]).toBe("62");
});

test("a clock that is set back begins a new window instead of prolonging the old one", () => {
  expect(counts([100_000, 100_000, 100_000, 20_000]).map(({ admitted }) => admitted)).toEqual([
    true,
    true,
    true,
    true,
  ]);
});

test("Used plus Remaining is Limit on every call, and no window ever admits more than the limit", () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 80 });
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 8 }), (steps, limit) => {
      let at = 0;
      const times = steps.map((step) => (at += step));
      const seen = counts(times, limit);

      for (const { headers, window } of seen) {
        expect(Number(headers["X-RateLimit-Used"]) + Number(headers["X-RateLimit-Remaining"])).toBe(limit);
        expect(window.used).toBeLessThanOrEqual(limit);
      }
      for (const start of new Set(seen.map(({ window }) => window.startMs))) {
        const admitted = seen.filter((count) => count.window.startMs === start && count.admitted);
        expect(admitted.length).toBeLessThanOrEqual(limit);
      }
    }),
  );
});

test("Remaining is never negative: after the limit was lowered within the window, all of it is used", () => {
  const window: Window = { startMs: 0, used: 50 };

  const { admitted, headers } = countCall(window, 1_000, { limit: 20, windowMs: MINUTE });

  expect(admitted).toBe(false);
  expect(headers).toMatchObject({
    "X-RateLimit-Used": "20",
    "X-RateLimit-Limit": "20",
    "X-RateLimit-Remaining": "0",
  });
  expect(
    countCall({ startMs: 0, used: 50 }, 1_000, { limit: 60, windowMs: MINUTE }).headers["X-RateLimit-Used"],
  ).toBe("51");
});

test("the fault says how many calls are admitted", () => {
  expect(faultText(60, MINUTE)).toBe("API calls quota exceeded! maximum admitted 60 per Minute.");
  expect(faultText(5, 1500)).toBe("API calls quota exceeded! maximum admitted 5 per 1.5 seconds.");
});

test("a call of the window before that is given back leaves the count of the window that has begun", () => {
  const budgets = createBudgets({ quotes: 3, orders: 3, other: 3, windowMs: MINUTE });
  const key = { consumerKey: "ck", consumerSecret: "cs", accessToken: "at", accessTokenSecret: "ts" };
  const before = budgets.count(key, "quotes", 0);
  budgets.count(key, "quotes", MINUTE);

  budgets.refund(key, "quotes", before);

  expect(budgets.count(key, "quotes", MINUTE + 1).headers["X-RateLimit-Used"]).toBe("2");
});

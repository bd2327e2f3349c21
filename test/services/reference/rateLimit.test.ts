import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { NO_RATE_LIMIT, type RateLimit } from "../../../src/quotes/rateLimit.ts";
import { readRateLimitHeaders } from "../../../src/services/reference/rateLimitHeaders.ts";

test("the documented example is read as it stands", () => {
  const rateLimit = read({ Used: "1", Expire: "1300286940", Limit: "60", Remaining: "59" });

  expect(rateLimit).toEqual({ used: 1, expire: 1300286940, limit: 60, remaining: 59 });
});

test("a decimal Expire keeps its decimals, decimal counts are rounded to the careful side", () => {
  const rateLimit = read({ Used: "12.2", Expire: "1461721950.38133", Limit: "60.0", Remaining: "47.8" });

  expect(rateLimit).toEqual({ used: 13, expire: 1461721950.38133, limit: 60, remaining: 47 });
});

test("a sign before a number does not make it unusable", () => {
  expect(read({ Used: "+12" }).used).toBe(12);
});

test.each([
  "",
  " ",
  "-1",
  "-0.5",
  "soon",
  "NaN",
  "Infinity",
  "1e3",
  "0x10",
  "1,000",
  "12 34",
  "9".repeat(20),
])("rate-limit headers of %j count as absent", (text) => {
  expect(read({ Used: text, Expire: text, Limit: text, Remaining: text })).toEqual(NO_RATE_LIMIT);
});

test("a limit of 0 is as good as absent, 0 used and 0 remaining are not", () => {
  expect(read({ Used: "0", Limit: "0", Remaining: "0" })).toEqual({
    ...NO_RATE_LIMIT,
    used: 0,
    remaining: 0,
  });
});

test("whatever the text, each value is null or a finite number from 0", () => {
  const text = fc.oneof(
    fc.string(),
    fc.double().map(String),
    fc.integer().map(String),
    fc.constant(undefined),
  );

  fc.assert(
    fc.property(text, (value) => {
      const values = Object.values(readRateLimitHeaders(() => value));

      expect(values.every((read) => read === null || (Number.isFinite(read) && read >= 0))).toBe(true);
    }),
  );
});

test("whole numbers come back as they were written", () => {
  fc.assert(fc.property(fc.nat(), (value) => expect(read({ Used: ` ${value} ` }).used).toBe(value)));
});

function read(headers: Record<string, string>): RateLimit {
  return readRateLimitHeaders((name) => headers[name.replace("X-RateLimit-", "")]);
}

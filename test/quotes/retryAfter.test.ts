/** `Retry-After`, RFC 9110 section 10.2.3. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { readHttpDate, readRetryAfter } from "../../src/quotes/rateLimit.ts";

/** 20 seconds before the dates below. */
const DATE = "Fri, 20 Nov 2026 22:49:40 GMT";

test.each([
  ["0", 0],
  [" 120 ", 120_000],
  ["086400", 86_400_000],
])("Retry-After of %p is a number of seconds", (text, ms) => {
  expect(readRetryAfter({ "retry-after": text })).toBe(ms);
});

test.each(["Fri, 20 Nov 2026 22:50:00 GMT", "Friday, 20-Nov-26 22:50:00 GMT", "Fri Nov 20 22:50:00 2026"])(
  "Retry-After as the date %p is as long as the answer's own Date says, whatever the machine's clock shows",
  (text) => {
    expect(readRetryAfter({ "retry-after": text, date: DATE })).toBe(20_000);
  },
);

test("Retry-After as a date may have white space around it, and so may the answer's own Date", () => {
  const text = " Fri, 20 Nov 2026 22:50:00 GMT\t";

  expect(readRetryAfter({ "retry-after": text, date: ` ${DATE} ` })).toBe(20_000);
});

test("Retry-After as a date that has passed when the answer was written asks for no wait", () => {
  expect(readRetryAfter({ "retry-after": "Fri, 20 Nov 2026 22:00:00 GMT", date: DATE })).toBe(0);
});

test("Retry-After as a date says nothing in an answer without a Date, or with one that cannot be read", () => {
  const text = "Fri, 20 Nov 2026 22:50:00 GMT";

  expect(readRetryAfter({ "retry-after": text })).toBeNull();
  expect(readRetryAfter({ "retry-after": text, date: "yesterday" })).toBeNull();
});

test.each(["", "-1", "1.5", "soon", "60, 60", "1e3", "9".repeat(20), "Nov 2026", "20 Nov 2026", "foo 2026"])(
  "Retry-After of %p says nothing",
  (text) => {
    expect(readRetryAfter({ "retry-after": text, date: DATE })).toBeNull();
  },
);

test("Retry-After that is absent says nothing, and no text makes it throw or negative", () => {
  expect(readRetryAfter({ date: DATE })).toBeNull();
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, date) => {
      expect(readRetryAfter({ "retry-after": text, date }) ?? 0).toBeGreaterThanOrEqual(0);
    }),
  );
});

test.each([
  "Fri, 99 Nov 2026 22:50:00 GMT",
  "Fri, 20 Nov 2026 22:50:00 GMT, or later",
  "Friday, 20-Nov-26 22:50:00 GMT, or later",
  "Fri Nov 20 22:50:00 2026, or later",
  "since Fri, 20 Nov 2026 22:50:00 GMT",
  "since Friday, 20-Nov-26 22:50:00 GMT",
  "since Fri Nov 20 22:50:00 2026",
])("no date is read out of %p", (text) => {
  expect(readHttpDate(text)).toBeNull();
});

test("every date that toUTCString writes is read as the same instant", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("2000-01-01Z"), max: new Date("2100-01-01Z"), noInvalidDate: true }),
      (date) => {
        const whole = Math.floor(date.getTime() / 1_000) * 1_000;

        expect(readHttpDate(new Date(whole).toUTCString())).toBe(whole);
      },
    ),
  );
});

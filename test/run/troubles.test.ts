import { expect, test } from "@jest/globals";
import { QuotekeeperError } from "../../src/errors.ts";
import { createEvents, type Watched } from "../../src/run/troubles.ts";

const FINE: Watched = { clockCorrectionMs: 0, lastError: null };

function told(...course: Partial<Watched>[]): string[] {
  const lines: string[] = [];
  const say = (level: string) => (_fields: object, message: string) =>
    void lines.push(`${level}: ${message}`);
  const look = createEvents({
    debug: say("debug"),
    info: say("info"),
    warn: say("warn"),
    error: say("error"),
  });
  course.forEach((now) => look({ ...FINE, ...now }));
  return lines;
}

test("while all is well nothing is said", () => {
  expect(told({}, {}, {})).toEqual([]);
});

test("a clock that is off is told once, and when it is right again", () => {
  const off = { clockCorrectionMs: -3_600_000 };

  expect(told({}, off, { clockCorrectionMs: -3_600_400 }, off, {})).toEqual([
    expect.stringMatching(/^warn: the machine's clock is off/),
    "info: the machine's clock is right again",
  ]);
});

test("a service that answers again is told, and a journal that takes answers again", () => {
  const refused = { lastError: new QuotekeeperError("SERVICE_UNREACHABLE", "ECONNREFUSED") };
  const full = { lastError: new QuotekeeperError("JOURNAL_WRITE_FAILED", "ENOSPC") };

  expect(told(refused, refused, {}, full, {}, {})).toEqual([
    "info: the service answers again",
    "info: answers are kept again",
  ]);
});

import { expect, test } from "@jest/globals";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { createEvents } from "../../src/collector/troubles.ts";

/** How an account is. */
type Seen = {
  clockCorrectionMs: number;
  lastError: Error | null;
  answeredAs: "account" | "simulated" | null;
};

const FINE: Seen = { clockCorrectionMs: 0, lastError: null, answeredAs: "account" };

/** A collection as far as it is looked at, of these accounts. */
function collectionOf(...seen: Partial<Seen>[]) {
  const all = seen.map((one, place) => ({
    ...FINE,
    ...one,
    name: place === 0 ? "default" : `other-${place}`,
  }));
  return {
    accounts: {
      all: all.map(({ name, clockCorrectionMs, answeredAs }) => ({
        account: { name },
        feed: { clockCorrectionMs: () => clockCorrectionMs, answeredAs: () => answeredAs },
      })),
    },
    collector: { status: () => ({ accounts: all.map(({ name, lastError }) => ({ name, lastError })) }) },
  } as unknown as Parameters<ReturnType<typeof createEvents>>[0];
}

function told(...course: (Partial<Seen> | Partial<Seen>[])[]): string[] {
  const lines: string[] = [];
  const say =
    (level: string) =>
    ({ account }: { account?: string }, message: string) =>
      void lines.push(`${level}: ${account === undefined ? "" : `${account}: `}${message}`);
  const look = createEvents({
    debug: say("debug"),
    info: say("info"),
    warn: say("warn"),
    error: say("error"),
  });
  course.forEach((now) => look(collectionOf(...[now].flat())));
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

test("of several accounts it is said which one's clock, and whose answers", () => {
  const off = { clockCorrectionMs: -3_600_000 };
  const refused = { lastError: new QuotekeeperError("SERVICE_UNAUTHORIZED", "401") };

  expect(told([{}, off], [refused, off], [{}, off])).toEqual([
    expect.stringMatching(/^warn: other-1: the machine's clock is off/),
    "info: default: the service answers again",
  ]);
});

test("accounts that answer for different markets are told once, and not before each has answered", () => {
  const silent = { answeredAs: null };
  const simulated = { answeredAs: "simulated" } as const;

  expect(told([{}, silent], [{}, simulated], [{}, simulated], [{}, {}], [{}, simulated])).toEqual([
    expect.stringMatching(/^error: the accounts answer for different markets/),
    expect.stringMatching(/^error: the accounts answer for different markets/),
  ]);
});

/** The budget of a sweep beside a program that nobody knows of: time and its calls are numbers. */
import { expect, test } from "@jest/globals";
import { SweepBudget } from "../../../src/backfill/sweep/budget.ts";
import { readRateLimitHeaders } from "../../../src/quotes-api/rateLimit.ts";
import { GOVERNOR, fixedWindow, type Rule, slidingWindow } from "./rules.ts";

const MINUTE_MS = 60_000;

/** What happens at a time: a sweep's call is counted, or answered; or the stranger calls. */
type Event = { atMs: number; happens: () => void };

type Ended = { refused: { sweep: number; stranger: number }; made: number };

/**
 * A sweep and a program that calls evenly, for some minutes.
 *
 * @param latencyMs from a half to one and a half of it passes until an answer, in turns
 */
function beside(
  rule: Rule,
  { everyMs, latencyMs, minutes }: { everyMs: number; latencyMs: number; minutes: number },
): Ended {
  const budget = new SweepBudget(GOVERNOR, [], { nowMs: 0, history: null });
  const ended: Ended = { refused: { sweep: 0, stranger: 0 }, made: 0 };
  const events: Event[] = [];
  let nowMs = 0;
  let underWay = 0;
  const stranger = (): void => {
    if (!rule(nowMs).admitted) ended.refused.stranger += 1;
    events.push({ atMs: nowMs + everyMs, happens: stranger });
  };
  events.push({ atMs: 0, happens: stranger });
  const send = (): void => {
    const sentAtMs = nowMs;
    const halfMs = (latencyMs * (ended.made % 2 === 0 ? 0.5 : 1.5)) / 2;
    budget.sent(sentAtMs);
    underWay += 1;
    ended.made += 1;
    const counted = (): void => {
      const { admitted, headers } = rule(nowMs);
      if (!admitted) ended.refused.sweep += 1;
      const rateLimit = readRateLimitHeaders((name) => headers[name.toLowerCase()]);
      const answered = (): void => {
        underWay -= 1;
        budget.ended({ type: admitted ? "answered" : "faulted", sentAtMs, rateLimit }, nowMs);
      };
      events.push({ atMs: nowMs + halfMs, happens: answered });
    };
    events.push({ atMs: nowMs + halfMs, happens: counted });
  };
  while (nowMs < minutes * MINUTE_MS) {
    const roomy = underWay < budget.concurrency(nowMs);
    const atMs = roomy ? budget.nextAtMs(nowMs) : Infinity;
    if (atMs <= nowMs) {
      send();
      continue;
    }
    events.sort((a, b) => a.atMs - b.atMs);
    const [next] = events;
    nowMs = Math.min(atMs, next?.atMs ?? Infinity);
    if (next?.atMs === nowMs) events.shift()?.happens();
  }
  return ended;
}

const RULES: [string, () => Rule][] = [
  ["fixed windows", fixedWindow],
  ["a sliding window", slidingWindow],
];

test.each(RULES.flatMap(([name, rule]) => [100, 1_000, 3_000].map((ms) => [ms, name, rule] as const)))(
  "answers that take %d ms hide no program of 20 calls a minute: under %s nobody is refused",
  (latencyMs, _, rule) => {
    const ended = beside(rule(), { everyMs: 3_000, latencyMs, minutes: 15 });

    expect(ended.refused).toEqual({ sweep: 0, stranger: 0 });
    // What that program leaves is used, as far as calls one by one can use it.
    const possible = Math.min(36, MINUTE_MS / latencyMs);
    expect(ended.made / 15).toBeGreaterThan(0.9 * possible);
  },
);

test("a clock that tells fractions of a millisecond holds no call up", () => {
  const budget = new SweepBudget(GOVERNOR, [], { nowMs: 100.25, history: null });

  const first = budget.nextAtMs(100.5);
  budget.sent(100.5);
  const second = budget.nextAtMs(100.75);

  expect(first).toBe(100.5);
  expect(Number.isInteger(second)).toBe(true);
  expect(budget.nextAtMs(second + 0.5)).toBe(second + 0.5);
});

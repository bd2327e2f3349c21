/** The collector under Alpaca's limit as the fake of it counts: by the clock's minute, or by one that slides, at each host by itself. */
import { expect, jest, test } from "@jest/globals";
import type { Answer } from "../../src/quotes/answer.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import { createLimit, type LimitOptions } from "../fakes/alpaca/limit.ts";
import { failure, jobOf, quotesFor, type SeenCall, startWorld } from "./world.ts";

// An hour of calls is simulated in each, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const START = "2026-11-24T15:00:07Z";
const MINUTES = 60;

/** A chain of each date is two pages: more calls a minute than the limit allows. */
const JOB = jobOf({
  name: "chains",
  schedule: "* * * * *",
  chains: [
    {
      underlying: "AAPL",
      expirations: Array.from({ length: 150 }, (_, place) =>
        new Date(Date.UTC(2027, 0, 1 + place)).toISOString().slice(0, 10),
      ),
      strikes: "all",
      types: ["CALL", "PUT"],
    },
    ...["SPY", "QQQ", "IWM"].map((underlying) => ({
      ...{ underlying, expirations: "listed" as const, strikes: [], types: [] },
    })),
  ],
});

/** The first page of a chain names the next one. */
function inPages({ planned }: SeenCall): Answer {
  const answer = quotesFor(planned);
  const isFirst = planned.call.form === "chain" && planned.call.page === undefined;
  return answer.outcome === "quotes" && isFirst
    ? { ...answer, document: { ...answer.document, nextPage: "AAPL QUFQTA==" } }
    : answer;
}

type Told = { limit: LimitOptions; set?: number; lateMs?: number; lost?: boolean };

/** An hour of it. Calls by the fake's count: answered in each complete minute, and refused in all. */
async function hourOf({ limit, set = 200, lateMs = 0, lost = false }: Told) {
  const takes = { data: createLimit(limit), trading: createLimit(limit) };
  const answered = new Map<number, number>();
  let [refused, listed] = [0, 0];
  const said = new WeakMap<object, Record<string, string>>();
  const world = startWorld({
    start: START,
    jobs: [JOB],
    service: ALPACA,
    governor: { limit: set, windowMs: 60_000, mayRise: true },
    latencyMs: (call) => 60 + (call % 7) * 10 + (call % 10 === 9 ? lateMs : 0),
    headers: (call) => said.get(call) ?? {},
    respond: (call) => {
      const atMs = Date.now();
      const host = ALPACA.hostOf?.(call.planned.call) === "trading" ? "trading" : "data";
      const { isAnswered, headers } = takes[host](atMs);
      const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
      said.set(call, Object.fromEntries(lower) as Record<string, string>);
      if (!isAnswered) {
        refused++;
        return failure("quota_fault");
      }
      if (host === "trading") listed++;
      else {
        const minute = Math.floor(atMs / 60_000);
        answered.set(minute, (answered.get(minute) ?? 0) + 1);
      }
      if (lost && world.calls.length % 50 === 0) return failure("server_error");
      return inPages(call);
    },
  });
  await world.until(new Date(Date.parse(START) + MINUTES * 60_000).toISOString());
  const counts = [...answered.values()].slice(1, -1);
  const further = world.calls.filter(({ planned }) => planned.pages !== undefined).length;
  return {
    most: Math.max(...counts),
    share: counts.reduce((sum, each) => sum + each, 0) / (counts.length * limit.calls),
    refused,
    listed,
    further: further / world.calls.length,
  };
}

test.each([
  ["a minute of the clock", 0.98, { limit: { calls: 200, window: "fixed" } }],
  ["a minute that slides", 0.98, { limit: { calls: 200, window: "sliding" } }],
  [
    "a minute that slides, one answer in ten late",
    0.98,
    { limit: { calls: 200, window: "sliding" }, lateMs: 1_500 },
  ],
  [
    "a minute of the clock, one answer in fifty an error",
    0.95,
    { limit: { calls: 200, window: "fixed" }, lost: true },
  ],
  ["a larger plan, which the headers tell", 0.25, { limit: { calls: 1_000, window: "fixed" } }],
] as const)(
  "%s: in an hour a share of %d of the calls that the service allows is made at least, pages among them, and none is refused",
  async (_, least, told) => {
    const { most, share, refused, listed, further } = await hourOf(told);

    expect(refused).toBe(0);
    expect(most).toBeLessThanOrEqual(told.limit.calls);
    expect(share).toBeGreaterThanOrEqual(least);
    expect(further).toBeGreaterThan(0.4);
    // Once a day, at a host that counts by itself.
    expect(listed).toBe(3);
  },
);

/** The collector under Tradier's limit as the fake of it counts: by the clock's minute, with a count of each node in the headers. */
import { expect, jest, test } from "@jest/globals";
import { TRADIER } from "../../src/services/tradier/tradier.ts";
import { createLimit, type LimitOptions, LIMITS } from "../fakes/tradier/limit.ts";
import { failure, jobOf, quotesFor, startWorld } from "./world.ts";

// An hour of calls is simulated in each, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const START = "2026-11-20T15:00:07Z";
const MINUTES = 60;

/** More calls a minute than any limit here allows. */
const JOB = jobOf({
  name: "chains",
  schedule: "* * * * *",
  chains: [
    {
      underlying: "SPX",
      expirations: Array.from({ length: 150 }, (_, place) =>
        new Date(Date.UTC(2027, 0, 1 + place)).toISOString().slice(0, 10),
      ),
      strikes: "all",
      types: ["CALL", "PUT"],
    },
  ],
});

type Told = { limit: LimitOptions; set: number; lateMs?: number; lost?: boolean };

/** An hour of it. Calls by the fake's count: answered in each complete minute, and refused in all. */
async function hourOf({ limit, set, lateMs = 0, lost = false }: Told) {
  const take = createLimit(limit);
  const answered = new Map<number, number>();
  const refusedAt: number[] = [];
  const said = new WeakMap<object, Record<string, string>>();
  const world = startWorld({
    start: START,
    jobs: [JOB],
    service: TRADIER,
    governor: { limit: set, windowMs: 60_000 },
    latencyMs: (call) => 60 + (call % 7) * 10 + (call % 10 === 9 ? lateMs : 0),
    headers: (call) => said.get(call) ?? {},
    respond: (call) => {
      const atMs = Date.now();
      const { isAnswered, headers } = take(atMs);
      const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
      said.set(call, Object.fromEntries(lower) as Record<string, string>);
      if (!isAnswered) {
        refusedAt.push(atMs);
        return failure("quota_fault");
      }
      const minute = Math.floor(atMs / 60_000);
      answered.set(minute, (answered.get(minute) ?? 0) + 1);
      if (lost && world.calls.length % 50 === 0) return failure("server_error");
      return quotesFor(call.planned);
    },
  });
  await world.until(new Date(Date.parse(START) + MINUTES * 60_000).toISOString());
  const counts = [...answered.values()].slice(1, -1);
  const half = Date.parse(START) + (MINUTES / 2) * 60_000;
  return {
    most: Math.max(...counts),
    share: counts.reduce((sum, each) => sum + each, 0) / (counts.length * limit.holds),
    refused: refusedAt.length,
    refusedLate: refusedAt.filter((atMs) => atMs > half).length,
  };
}

test.each([
  ["production, one node", 0.98, { limit: { ...LIMITS.production, nodes: 1 }, set: 120 }],
  ["production, three nodes that count for themselves", 0.98, { limit: LIMITS.production, set: 120 }],
  [
    "production, six nodes, one answer in ten late",
    0.98,
    { limit: { ...LIMITS.production, nodes: 6 }, set: 120, lateMs: 1_500 },
  ],
  ["production, one answer in fifty an error", 0.95, { limit: LIMITS.production, set: 120, lost: true }],
  ["the sandbox, whose headers say 200 where 60 are held", 0.98, { limit: LIMITS.sandbox, set: 60 }],
])(
  "%s: in an hour a share of %d of the calls that the service allows is made at least, and none is refused",
  async (_, least, told) => {
    const { most, share, refused } = await hourOf(told);

    expect(refused).toBe(0);
    expect(most).toBeLessThanOrEqual(told.limit.holds);
    expect(share).toBeGreaterThanOrEqual(least);
  },
);

test("where fewer calls are held than the documentation says, refusals teach the limit: 85 % of it are used, with few refusals once it is known", async () => {
  const { share, refused, refusedLate } = await hourOf({
    limit: { says: 120, holds: 80, nodes: 3 },
    set: 120,
  });

  expect(refused).toBeGreaterThan(0);
  expect(refusedLate).toBeLessThanOrEqual(6);
  expect(share).toBeGreaterThanOrEqual(0.85);
});

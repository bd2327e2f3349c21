/** Services that answer anything at all, after any time: the ledger adds up, and no window holds more than the limit. */
import { expect } from "@jest/globals";
import fc from "fast-check";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { type Answer } from "../../src/quotes/answer.ts";
import { contractsOf, symbolsNamed } from "./due.ts";
import {
  addsUp,
  entriesOf,
  failure,
  jobOf,
  merged,
  mostInWindow,
  quotesFor,
  startWorld,
  type SeenCall,
  type World,
} from "./world.ts";

/** How the service treats one call. */
type Mood = Answer["outcome"] | "unreachable" | "unknown" | "absent";

const moods = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant<Mood>("quotes") },
    {
      weight: 3,
      arbitrary: fc.constantFrom<Mood>(
        ...(["quota_fault", "unauthorized", "too_long", "refused", "server_error", "malformed"] as const),
        ...(["unreachable", "unknown", "absent"] as const),
      ),
    },
  ),
  { minLength: 1, maxLength: 40 },
);

const jobs = [
  jobOf({ name: "minutely", symbols: symbolsNamed(30), priority: 3 }),
  jobOf({ name: "shared", symbols: symbolsNamed(40), schedule: "*/2 * * * *" }),
  jobOf({ name: "often", symbols: ["KO"], schedule: "*/20 * * * * *", watchlist: "DEFAULT" }),
  jobOf({ name: "options", options: contractsOf(8) }),
  jobOf({
    name: "chain",
    chains: [
      {
        underlying: "AAPL",
        expirations: ["2026-12-18"],
        strikes: { around: "last", percent: "5", step: "5" },
        types: ["CALL", "PUT"],
      },
    ],
  }),
];

function answer(mood: Mood, { planned, names }: SeenCall): Answer {
  if (mood === "quotes") return quotesFor(planned);
  if (mood === "unknown") return quotesFor(planned, { unknown: names.slice(0, 2) });
  if (mood === "absent") return quotesFor(planned, { absent: names.slice(-2) });
  if (mood === "unreachable") throw new QuotekeeperError("SERVICE_UNREACHABLE", "as the test wants it");
  return failure(mood);
}

/** What of a call the service brings in a mood, by its names in the ledger. */
function broughtIn(mood: Mood, names: readonly string[]): readonly string[] {
  if (mood === "unknown") return names.slice(2);
  if (mood === "absent") return names.slice(0, -2);
  return mood === "quotes" ? names : [];
}

/** What was asked for within each slot and brought, counted with a ruler; chains' contracts are due where the ledger says so. */
function broughtAt(world: World, moodOf: (call: SeenCall) => Mood): Map<string, Set<string>> {
  const brought = new Map<string, Set<string>>();
  for (const call of world.calls.filter(({ brought: came }) => came))
    for (const { name, schedule } of jobs) {
      const stepMs =
        { "* * * * *": 60_000, "*/2 * * * *": 120_000, "*/20 * * * * *": 20_000 }[schedule] ?? NaN;
      const slotMs = Math.floor(Number(call.askedMs) / stepMs) * stepMs;
      const key = `${name} ${slotMs}`;
      const names = brought.get(key) ?? new Set();
      for (const one of broughtIn(moodOf(call), call.names)) names.add(one);
      brought.set(key, names);
    }
  return brought;
}

/** Tries so many services. */
export async function tryServices(count: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      moods,
      fc.array(fc.integer({ min: 1, max: 25_000 }), { minLength: 1, maxLength: 10 }),
      fc.constantFrom(5, 20, 60),
      fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 5 }),
      async (answers, latencies, limit, waits) => {
        const moodOf = (call: SeenCall): Mood =>
          answers[world.calls.indexOf(call) % answers.length] ?? "quotes";
        const world = startWorld({
          start: "2026-11-20T14:30:00Z",
          jobs,
          governor: { limit, windowMs: 60_000 },
          latencyMs: (call) => latencies[call % latencies.length] ?? 200,
          signedAfterMs: (call) => waits[call % waits.length] ?? 0,
          respond: (call) => answer(moodOf(call), call),
        });
        await world.until("2026-11-20T14:34:10Z");
        await world.end(30_000);

        const entries = merged(entriesOf(world.notes));
        expect(addsUp(entries)).toBe(true);
        // What was asked for within a slot and brought is stored there, whatever became of another call for it.
        const brought = broughtAt(world, moodOf);
        const wrong = entries.flatMap(({ job, slotAt, misses }) =>
          misses.flatMap(([name, reason]) =>
            brought.get(`${job} ${Date.parse(slotAt)}`)?.has(name)
              ? [`${name} of ${job} at ${slotAt}: ${reason}`]
              : [],
          ),
        );
        expect(wrong).toEqual([]);
        // 14:30 to 14:34: five slots a minute and three every other. Those every 20 seconds go on until the last call is over.
        const slotsOf = (name: string): string[] =>
          merged(entriesOf(world.notes, name)).map(({ slotAt }) => slotAt);
        const often = ["14:34:00", "14:34:20", "14:34:40"].findLastIndex((time) =>
          slotsOf("often").some((slotAt) => slotAt.includes(time)),
        );
        expect(often).toBeGreaterThanOrEqual(0);
        expect(jobs.map(({ name }) => slotsOf(name).length)).toEqual([5, 3, 13 + often, 5, 5]);
        expect(mostInWindow(world.calls, 60_000)).toBeLessThanOrEqual(limit);
      },
    ),
    { numRuns: count },
  );
}

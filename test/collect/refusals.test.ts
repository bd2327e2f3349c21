/**
 * The real collector beside a service that refuses: it counts what arrives, by its own rule, and keeps a log of it. What
 * is said of refusals is counted in that log, never taken from the collector.
 */
import { describe, expect, test } from "@jest/globals";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { type Answer } from "../../src/quotes/answer.ts";
import { classifyAnswer } from "../../src/services/reference/classifyAnswer.ts";
import { seeded } from "../../bench/governor/random.ts";
import { contractsOf } from "./due.ts";
import {
  entriesOf,
  entryAt,
  failure,
  jobOf,
  quotesFor,
  reasonsOf,
  startWorld,
  type SeenCall,
  type World,
} from "./world.ts";

const START = "2026-11-20T14:30:00Z";
const MINUTE_MS = 60_000;

const quotesOnly = ({ planned }: SeenCall): Answer => quotesFor(planned);
const saturating = () => [jobOf({ name: "options", options: contractsOf(100) })];

/** The header of an answer that has it. */
function retryAfter(has: boolean, seconds: number): Record<string, string> {
  return has ? { "retry-after": `${seconds}` } : {};
}

/** Calls that left after an instant. */
function sentAfter(world: World, instant: string): number {
  return world.calls.filter(({ sentAt }) => sentAt > Date.parse(instant)).length;
}

test.each([
  ["the quota fault", failure("quota_fault")],
  ["a 5xx with Retry-After", failure("server_error")],
])(
  "after %s has arrived no call leaves, although the journal cannot write it down",
  async (_what, answer) => {
    let release: () => void = () => undefined;
    const written = new Promise<void>((resolve) => (release = resolve));
    const world = startWorld({
      start: START,
      jobs: saturating(),
      respond: (call) => (world.calls.indexOf(call) === 3 ? answer : quotesOnly(call)),
      headers: (call) => retryAfter(world.calls.indexOf(call) === 3, 30),
      kept: (call) => (world.calls.indexOf(call) === 3 ? written : Promise.resolve()),
    });

    await world.until("2026-11-20T14:30:25Z");

    const arrivedAt = world.calls[3]?.answeredAt ?? NaN;
    expect(world.calls.filter(({ sentAt }) => sentAt > arrivedAt)).toEqual([]);
    release();
    await world.until("2026-11-20T14:31:59Z");
    expect(sentAfter(world, "2026-11-20T14:31:00Z")).toBeGreaterThan(0);
  },
);

describe.each([
  ["the quota fault", failure("quota_fault")],
  ["a 5xx", failure("server_error")],
])("Retry-After of %s", (_what, answer) => {
  const refusedFor = (seconds: number, schedule: string) =>
    startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: ["GE"], schedule })],
      respond: (call) => (world.calls.length === 1 ? answer : quotesOnly(call)),
      headers: () => retryAfter(world.calls.length === 1, seconds),
    });
  let world: World;

  test("a refusal that ends within the slot is waited for, and the poll is made", async () => {
    world = refusedFor(150, "*/5 * * * *");

    await world.until("2026-11-20T14:34:59Z");

    const [first, second, ...more] = world.calls;
    expect((second?.sentAt ?? 0) - (first?.answeredAt ?? 0)).toBeGreaterThanOrEqual(150_000);
    expect(more).toEqual([]);
    expect(entryAt(world.notes, "14:30")).toMatchObject({ misses: [] });
  });

  test("a refusal beyond the slots makes them misses, refused, and nothing is asked meanwhile", async () => {
    world = refusedFor(150, "* * * * *");

    await world.until("2026-11-20T14:33:59Z");

    expect(sentAfter(world, START) - sentAfter(world, "2026-11-20T14:32:30Z")).toBe(0);
    expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ refused: 1 });
    expect(reasonsOf(entryAt(world.notes, "14:31"))).toEqual({ refused: 1 });
    expect(entryAt(world.notes, "14:32")).toMatchObject({ misses: [] });
  });
});

test("how long nothing will be sent is noted once, so that a run after a kill knows it", async () => {
  const closed: number[] = [];
  const world = startWorld({
    start: START,
    jobs: saturating(),
    onClosed: (forMs) => void closed.push(forMs),
    respond: (call) => (world.calls.indexOf(call) === 3 ? failure("quota_fault") : quotesOnly(call)),
    headers: (call) => retryAfter(world.calls.indexOf(call) === 3, 90),
  });

  await world.until("2026-11-20T14:31:00Z");

  expect(closed).toEqual([90_000]);
});

/** How a service may refuse. */
const DISGUISES = [
  "429 with XML",
  "429 with HTML",
  "429 with nothing",
  "200 with a fault",
  "503",
  "closed",
] as const;

type Disguise = (typeof DISGUISES)[number];

const BODIES: Partial<Record<Disguise, string>> = {
  "429 with XML": "<string>API calls quota exceeded! maximum admitted 40 per Minute.</string>",
  "429 with HTML": "<!DOCTYPE html><html><body>Too many requests</body></html>",
  "200 with a fault": "API calls quota exceeded! maximum admitted 40 per Minute.",
};

type ServiceOptions = { limit: (atMs: number) => number; countsRefused: boolean; headers: boolean };

/** A service that counts what arrives within a minute, and its own log. */
class Service {
  readonly #options: ServiceOptions;
  #counted: number[] = [];
  readonly log: { atMs: number; refused: boolean }[] = [];

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  arrives(atMs: number): boolean {
    this.#counted = this.#counted.filter((at) => at > atMs - MINUTE_MS);
    const refused = this.#counted.length >= this.#options.limit(atMs);
    if (!refused || this.#options.countsRefused) this.#counted.push(atMs);
    this.log.push({ atMs, refused });
    return !refused;
  }

  headers(atMs: number): Record<string, string> {
    const limit = this.#options.limit(atMs);
    const used = Math.min(limit, this.#counted.length);
    return this.#options.headers
      ? {
          "x-ratelimit-used": `${used}`,
          "x-ratelimit-remaining": `${limit - used}`,
          "x-ratelimit-limit": `${limit}`,
        }
      : {};
  }
}

function refusal(disguise: Disguise): Answer {
  if (disguise === "closed") throw new QuotekeeperError("SERVICE_CUT_SHORT", "the connection ended");
  const status = { "4": 429, "2": 200, "5": 503 }[disguise[0] ?? ""] ?? 0;
  return classifyAnswer({ status, headers: {}, body: Buffer.from(BODIES[disguise] ?? "") });
}

const believed = (options: Partial<ServiceOptions>) => new Service({ ...HIDES, ...options });
const HIDES: ServiceOptions = { limit: () => 40, headers: false, countsRefused: true };

/** A collector under more demand than there is budget, at a service that refuses in this way. */
function asking(
  service: Service,
  { disguise = "429 with XML", mayRise = false }: { disguise?: Disguise; mayRise?: boolean } = {},
): World {
  return startWorld({
    start: START,
    jobs: saturating(),
    governor: { limit: 60, windowMs: MINUTE_MS, mayRise },
    respond: (call) => (service.arrives(call.answeredAt ?? 0) ? quotesOnly(call) : refusal(disguise)),
    headers: (call) => service.headers(call.answeredAt ?? 0),
  });
}

// A refusal that is recognised is the same to the governor, whatever it looks like: its forms are tried once each.
const CASES = DISGUISES.flatMap((disguise) =>
  [false, true].flatMap((headers) =>
    [true, false].map((countsRefused) => ({ disguise, headers, countsRefused })),
  ),
).filter(
  ({ disguise, headers, countsRefused }) => !/XML|HTML|200/.test(disguise) || (!headers && countsRefused),
);

test.each(CASES)(
  "a service of 40 calls a minute that refuses with $disguise does so at most 6 times an hour, and is used (headers: $headers, refused calls count: $countsRefused)",
  async ({ disguise, headers, countsRefused }) => {
    const service = believed({ headers, countsRefused });
    const world = asking(service, { disguise });
    const steadyMs = Date.parse(START) + 10 * MINUTE_MS;

    await world.until(steadyMs + 20 * MINUTE_MS);

    const steady = service.log.filter(({ atMs }) => atMs >= steadyMs);
    const refused = steady.filter((call) => call.refused).length;
    expect(refused).toBeLessThanOrEqual(2);
    expect(steady.length - refused).toBeGreaterThan(0.85 * 20 * 40);
  },
);

test.each([
  ["a 500", () => failure("server_error")],
  ["a cut connection", () => refusal("closed")],
])(
  "of what %s in place of one answer in ten leaves, 95 % is used, though only every other answer tells the count",
  async (_what, fail) => {
    const service = believed({ headers: true, limit: () => 60 });
    const failing = seeded(1);
    let answeredCount = 0;
    const world = startWorld({
      start: START,
      jobs: saturating(),
      respond: (call) => {
        if (!service.arrives(call.answeredAt ?? 0)) return refusal("429 with XML");
        return failing() < 0.1 ? fail() : quotesOnly(call);
      },
      headers: (call) =>
        call.brought && (answeredCount += 1) % 2 === 0 ? service.headers(call.answeredAt ?? 0) : {},
    });

    await world.until(Date.parse(START) + 20 * MINUTE_MS);

    expect(service.log.filter(({ refused }) => refused)).toEqual([]);
    expect(service.log.length).toBeGreaterThan(0.95 * 20 * 60);
  },
);

describe("a limit that changes in the middle", () => {
  const after = (minutes: number) => Date.parse(START) + minutes * MINUTE_MS;

  test("a limit that falls in the middle is kept, and shown", async () => {
    const service = believed({ headers: true, limit: (atMs) => (atMs < after(3) ? 60 : 40) });
    const world = asking(service);

    await world.until(after(3));
    expect(world.collector.status().limit).toBe(60);
    await world.until(after(6));

    expect(world.collector.status().limit).toBe(40);
    expect(world.collector.status().accounts[0]?.budget).toMatchObject({ limit: 40, limitFrom: "headers" });
  });

  test.each([
    ["a limit that rises in the middle is used where nobody has set one", true, 90],
    ["a limit that rises in the middle above the one that was set is not used", false, 60],
  ])("%s", async (_what, mayRise, limit) => {
    const service = believed({ headers: true, limit: (atMs) => (atMs < after(3) ? 60 : 90) });
    const world = asking(service, { mayRise });

    await world.until(after(8));

    expect(world.collector.status().limit).toBe(limit);
    const lately = service.log.filter(({ atMs }) => atMs >= after(6) && atMs < after(8));
    expect(lately.some(({ refused }) => refused)).toBe(false);
    expect(lately.length / 2 / limit).toBeGreaterThan(0.75);
    expect(lately.length / 2).toBeLessThanOrEqual(limit);
  });
});

describe("credentials that the service refuses", () => {
  const TEN_SECONDS = "*/10 * * * * *";

  test.each([
    ["with a slot each minute", "* * * * *", 1],
    ["with a slot each ten seconds: for two minutes, then once a minute", TEN_SECONDS, 6],
  ])(
    "refused credentials are tried by one call a slot, %s, and what is not asked is missed as unauthorized",
    async (_how, schedule, firstCount) => {
      const world = startWorld({
        start: START,
        jobs: [jobOf({ name: "options", options: contractsOf(30), schedule })],
        respond: () => failure("unauthorized"),
      });

      await world.until("2026-11-20T14:40:00Z");

      const inMinute = Array.from(
        { length: 10 },
        (_, minute) =>
          world.calls.filter(({ sentAt }) => Math.floor((sentAt - Date.parse(START)) / MINUTE_MS) === minute)
            .length,
      );
      // Those of the first slot had left before the first answer.
      expect(inMinute[0]).toBeLessThanOrEqual(5 + firstCount);
      expect(inMinute[1]).toBe(firstCount);
      expect(inMinute.slice(3)).toEqual([1, 1, 1, 1, 1, 1, 1]);
      for (const { misses } of entriesOf(world.notes))
        expect(misses.map(([, reason]) => reason)).toEqual(Array(30).fill("unauthorized"));
    },
  );

  test("refused credentials are used again for all of a slot as soon as one call of it is answered", async () => {
    const rightAt = Date.parse("2026-11-20T14:35:30Z");
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "options", options: contractsOf(30) })],
      respond: ({ planned, sentAt }) => (sentAt < rightAt ? failure("unauthorized") : quotesFor(planned)),
    });

    await world.until("2026-11-20T14:36:59Z");

    expect(reasonsOf(entryAt(world.notes, "14:35"))).toEqual({ unauthorized: 30 });
    expect(entryAt(world.notes, "14:36")).toMatchObject({ misses: [] });
    expect(world.calls.filter(({ sentAt }) => sentAt > rightAt)).toHaveLength(30);
  });
});

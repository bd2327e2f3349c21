/** The collector under E*TRADE's limits as the fake of it counts: 4 calls in any second, 14,000 in an hour, and no header that says so. */
import { expect, jest, test } from "@jest/globals";
import type { Answer } from "../../src/quotes/answer.ts";
import { ETRADE } from "../../src/services/etrade/etrade.ts";
import { OVER_LIMIT } from "../fakes/etrade/faults.ts";
import { createLimit, LIMITS } from "../fakes/etrade/limit.ts";
import { type Form, refusal } from "../fakes/etrade/wire.ts";
import { symbolsNamed } from "./due.ts";
import { addsUp, entriesOf, jobOf, merged, quotesFor, reasonsOf, startWorld } from "./world.ts";

// An hour of calls is simulated, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const governor = { limit: ETRADE.limit.calls, windowMs: ETRADE.limit.windowMs, mayRise: true };

/** A 400 with these words, as the service's own value reads it. */
function told(words: string, form: Form = "xml"): Answer {
  const { status, type, body } = refusal(400, words, form);
  return ETRADE.classify({ status, headers: { "content-type": type }, body: Buffer.from(body) });
}

/** More calls a minute than four a second are. */
const MANY_CHAINS = jobOf({
  name: "chains",
  chains: [
    {
      underlying: "SPX",
      expirations: Array.from({ length: 300 }, (_, place) =>
        new Date(Date.UTC(2027, 0, 1 + place)).toISOString().slice(0, 10),
      ),
      strikes: "all",
      types: ["CALL", "PUT"],
    },
  ],
});

test.each([
  ["each answer comes within 120 ms", 0, 0.92],
  ["one answer in ten comes up to 1.5 s late", 1_500, 0.84],
])("where %s, fewer than 14,000 calls are made in an hour, and none is refused", async (_, lateMs, least) => {
  const take = createLimit(LIMITS);
  const answeredAt: number[] = [];
  let refused = 0;
  const world = startWorld({
    ...{ start: "2026-11-20T15:00:00Z", jobs: [MANY_CHAINS], service: ETRADE, governor },
    latencyMs: (call) => 60 + (call % 7) * 10 + (call % 10 === 9 ? (call * 37) % (lateMs + 1) : 0),
    respond: ({ planned }) => {
      if (take("key", Date.now())) {
        answeredAt.push(Date.now());
        return quotesFor(planned);
      }
      refused += 1;
      return told(OVER_LIMIT);
    },
  });

  await world.until("2026-11-20T16:00:00Z");

  expect(refused).toBe(0);
  expect(answeredAt.length).toBeLessThan(LIMITS.perHour);
  expect(answeredAt.length).toBeGreaterThan(least * LIMITS.perHour);
});

const LIST = symbolsNamed(ETRADE.batch.first);

/** A list each minute, whose first call has an answer of its own. */
async function twoMinutesOfAList(first: Answer) {
  const world = startWorld({
    ...{ start: "2026-11-20T15:00:00Z", service: ETRADE, governor },
    jobs: [jobOf({ name: "list", symbols: LIST })],
    respond: (call) => (world.calls[0] === call ? first : quotesFor(call.planned)),
  });
  await world.until("2026-11-20T15:00:00.250Z");
  const { budget } = world.collector.status().accounts[0] ?? {};
  await world.until("2026-11-20T15:02:30Z");
  return { world, budget, lists: world.calls.map(({ names }) => names.length) };
}

test.each(["xml", "json"] as const)(
  "the limit's fault closes the budget and never begins the search for a bad symbol: the list is asked for as it was (%s)",
  async (form) => {
    const { world, budget, lists } = await twoMinutesOfAList(told(OVER_LIMIT, form));

    expect(budget).toMatchObject({ phase: "closed", closedBy: "refusal" });
    // The first list again, and those of two minutes more.
    expect(lists).toEqual(Array(4).fill(LIST.length));
    expect(entriesOf(world.notes).flatMap(({ misses }) => misses)).toEqual([]);
  },
);

test("another 400 leaves the budget open, and begins the search for a bad symbol", async () => {
  const { budget, lists } = await twoMinutesOfAList(told("Invalid symbol"));

  expect(budget).toMatchObject({ phase: "open", closedBy: null });
  expect(Math.min(...lists)).toBeLessThan(LIST.length);
});

/** An account whose hour somebody else has used up at ten past, and a list that is due at each of these slots until ten past the next. */
async function lockedOut(schedule: string) {
  const start = Date.parse("2026-11-20T15:10:00Z");
  const over = Date.parse("2026-11-20T16:00:00Z");
  const perHour = 2_000;
  const take = createLimit({ ...LIMITS, perHour });
  const others = Array.from({ length: perHour }, (_, call) =>
    take("key", start - 9 * MINUTE_MS + 250 * call),
  );
  const world = startWorld({
    ...{ start: new Date(start).toISOString(), service: ETRADE, governor },
    jobs: [jobOf({ name: "list", schedule, symbols: LIST })],
    respond: ({ planned }) => (take("key", Date.now()) ? quotesFor(planned) : told(OVER_LIMIT)),
  });
  await world.until(start + HOUR_MS - 1);
  await world.end(0);
  const calledAt = world.calls.map(({ sentAt }) => sentAt);
  const entries = merged(entriesOf(world.notes));
  const slots = entries.map((entry) => ({ atMs: Date.parse(entry.slotAt), reasons: reasonsOf(entry) }));
  return {
    ...{ isAllUsed: others.every(Boolean), addsUp: addsUp(entries), calledAt, over },
    during: slots.filter(({ atMs }) => atMs < over),
    after: slots.filter(({ atMs }) => atMs >= over + 2 * MINUTE_MS),
  };
}

test("while somebody else has used the hour up it is asked about once a minute and slots are missed as refused; with the next hour calls go on", async () => {
  const { isAllUsed, addsUp: isSound, calledAt, over, during, after } = await lockedOut("*/2 * * * *");

  const gaps = calledAt.map((atMs, place) => atMs - (calledAt[place - 1] ?? 0)).slice(1);
  const ofLockOut = gaps.slice(
    5,
    calledAt.findIndex((atMs) => atMs >= over),
  );
  expect([isAllUsed, isSound]).toEqual([true, true]);
  expect(during.map(({ reasons }) => reasons)).toEqual(Array(25).fill({ refused: LIST.length }));
  expect(ofLockOut.length).toBeGreaterThan(40);
  expect(Math.min(...ofLockOut)).toBeGreaterThan(MINUTE_MS);
  expect(Math.max(...ofLockOut)).toBeLessThan(1.1 * MINUTE_MS);
  expect((calledAt.find((atMs) => atMs >= over) ?? Infinity) - over).toBeLessThan(1.1 * MINUTE_MS);
  expect(after.map(({ reasons }) => reasons)).toEqual(Array(4).fill({}));
});

test("of slots shorter than a minute those in which nothing was asked are missed for want of budget, and the others as refused", async () => {
  const { calledAt, during, after } = await lockedOut("*/30 * * * * *");

  expect(during.map(({ reasons }) => reasons)).toEqual(
    during.map(({ atMs }) => ({
      [calledAt.some((at) => at >= atMs && at < atMs + MINUTE_MS / 2) ? "refused" : "budget"]: LIST.length,
    })),
  );
  expect(during).toHaveLength(100);
  expect(new Set(after.map(({ reasons }) => JSON.stringify(reasons)))).toEqual(new Set(["{}"]));
});

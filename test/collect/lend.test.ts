/** Programs beside a collector ask it for calls: when they get them, and that all together stay within the limit. */
import { expect, test } from "@jest/globals";
import type { Permit } from "../../src/collect/dispatch/borrowedCalls.ts";
import { contractsOf } from "./due.ts";
import { jobOf, mostInWindow, type SeenCall, startWorld, type World } from "./world.ts";

const START = "2026-11-20T14:30:00Z";
type BorrowedEnd = Parameters<Permit>[0];
const ANSWERED: BorrowedEnd = { outcome: "quotes", headers: {} };

/** A program beside that makes calls one after the other; each is kept among the calls that the service saw. */
async function borrow(
  { collector, calls, clock }: World,
  { urgent, count, end = ANSWERED }: { urgent: boolean; count: number; end?: BorrowedEnd },
): Promise<number[]> {
  const sent: number[] = [];
  for (let call = 0; call < count; call += 1) {
    const ended = await collector.borrow("default", urgent, new AbortController().signal);
    const seen = { sentAt: Date.now(), answeredAt: null as number | null, names: ["borrowed"] };
    sent.push(seen.sentAt);
    calls.push(seen as SeenCall);
    await clock.sleep(200);
    seen.answeredAt = Date.now();
    ended(end);
  }
  return sent;
}

test("a poll by hand goes before a queue that needs every call, and together they keep within the limit", async () => {
  const world = startWorld({ start: START, jobs: [jobOf({ name: "all", options: contractsOf(200) })] });
  await world.pass(90_000);
  const askedAt = Date.now();

  const borrowing = borrow(world, { urgent: true, count: 5 });
  await world.pass(240_000);

  const sent = await borrowing;
  // As often as the budget lets any call go: one a second.
  expect(Math.max(...sent) - askedAt).toBeLessThan(10_000);
  expect(mostInWindow(world.calls, 60_000)).toBeLessThanOrEqual(60);
  expect(world.calls.length).toBeGreaterThan(5 * 55);
});

test("a sweep has what the queue leaves: nothing while calls wait, and the schedule misses nothing for it", async () => {
  const world = startWorld({ start: START, jobs: [jobOf({ name: "some", options: contractsOf(40) })] });

  const borrowing = borrow(world, { urgent: false, count: 60 });
  await world.pass(600_000);

  const sent = await borrowing;
  const slots = world.notes.flatMap((note) => (note.type === "slots" ? note.entries : []));
  expect(slots.length).toBeGreaterThan(8);
  expect(slots.flatMap(({ misses }) => misses)).toEqual([]);
  // Whatever was under way or waited then was asked for later than a call that a sweep got.
  const own = world.calls.filter(({ names }) => names[0] !== "borrowed");
  for (const at of sent) expect(own.filter(({ sentAt }) => sentAt < at).length % 40).toBe(0);
  expect(mostInWindow(world.calls, 60_000)).toBeLessThanOrEqual(60);
});

test("what a borrowed call tells is learnt: after its refusal nobody calls until the budget is back", async () => {
  const world = startWorld({ start: START, jobs: [jobOf({ name: "all", options: contractsOf(200) })] });
  await world.pass(10_000);

  await Promise.all([
    borrow(world, { urgent: true, count: 1, end: { outcome: "quota_fault", headers: {} } }),
    world.pass(5_000),
  ]);

  expect(world.collector.status().accounts[0]?.budget.phase).toBe("closed");
});

test("a borrowed call that is never answered stays counted, and one that is withdrawn was never made", async () => {
  const world = startWorld({ start: START, jobs: [jobOf({ name: "none", symbols: ["AAPL"] })] });
  await world.pass(1_000);
  const before = world.collector.status().callsUsed;

  await Promise.all([borrow(world, { urgent: true, count: 3, end: null }), world.pass(5_000)]);
  const withdrawn = world.collector.borrow("default", true, AbortSignal.abort("gone"));

  await expect(withdrawn).rejects.toBe("gone");
  expect(world.collector.status().callsUsed).toBe(before + 3);
});

test("a collector that ends lends nothing more", async () => {
  const world = startWorld({ start: START, jobs: [jobOf({ name: "all", options: contractsOf(200) })] });
  await world.pass(30_000);
  const waiting = world.collector
    .borrow("default", false, new AbortController().signal)
    .catch(() => "refused");

  await world.end(0);

  expect(await waiting).toBe("refused");
  await expect(world.collector.borrow("default", true, new AbortController().signal)).rejects.toBeDefined();
});

/** In which order the calls of an account leave, and what of them is left that do not. */
import { afterEach, expect, jest, test } from "@jest/globals";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { instantFromDate } from "../../src/ground/clock.ts";
import type { PlannedCall } from "../../src/collect/callPlan.ts";
import { Dispatcher, type DispatcherOptions } from "../../src/collect/dispatcher.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";
import { runs } from "../support/runs.ts";
import { startVirtualTime, type VirtualTime } from "./virtualTime.ts";
import { quotesFor } from "./world.ts";

const START = "2026-11-20T14:30:00Z";
const quiet = (): void => undefined;

afterEach(() => void jest.useRealTimers());

type Urgent = { priority: number; lastsMs: number; unseenSinceMs: number };

/** What the governor of the property lets go. */
const WINDOW = { limit: 12, windowMs: 20_000 };

/** A call for one symbol, wanted from now on for `lastsMs`. */
function callFor(symbol: string, { priority, lastsMs, unseenSinceMs }: Urgent): PlannedCall {
  const urgency = { priority, deadlineMs: Date.now() + lastsMs };
  const slotAt = instantFromDate(new Date());
  return {
    ...urgency,
    call: { form: "symbols", symbols: [symbol], delayed: false },
    wants: new Map([[symbol, [{ ...urgency, job: "job", slotAt, closes: false }]]]),
    account: null,
    jobs: ["job"],
    slotAt,
    unseenSinceMs,
  };
}

/** A dispatcher of a service that answers each call with quotes. */
function dispatcherOf(
  time: VirtualTime,
  {
    latencyMs = 200,
    onSent = quiet,
    ...options
  }: Partial<DispatcherOptions> & { latencyMs?: number; onSent?: (planned: PlannedCall) => void },
): Dispatcher {
  return new Dispatcher({
    service: REFERENCE,
    clock: time.clock,
    governor: { limit: 60, windowMs: 60_000 },
    history: null,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    onResult: quiet,
    send: async (planned, signal, onArrived) => {
      onSent(planned);
      const requestedAt = instantFromDate(time.clock.now());
      await time.clock.sleep(latencyMs, signal);
      const answer = quotesFor(planned);
      onArrived({ headers: {}, answer });
      return { record: { requestedAt, observedAt: requestedAt, headers: {} }, answer };
    },
    ...options,
  });
}

const symbolOf = ({ call }: PlannedCall): string => (call.form === "symbols" ? (call.symbols[0] ?? "") : "");

/** The plain model: which of the calls, in the order in which they came, is the most urgent. */
function mostUrgent(waiting: readonly PlannedCall[]): PlannedCall | undefined {
  return waiting.reduce<PlannedCall | undefined>((first, call) => {
    if (!first || call.priority !== first.priority)
      return !first || call.priority > first.priority ? call : first;
    if (call.deadlineMs !== first.deadlineMs) return call.deadlineMs < first.deadlineMs ? call : first;
    return call.unseenSinceMs < first.unseenSinceMs ? call : first;
  }, undefined);
}

const urgents = fc.array(
  fc.record({
    priority: fc.integer({ min: 0, max: 3 }),
    lastsMs: fc.constantFrom(3_000, 12_000, 40_000, 90_000, Infinity),
    unseenSinceMs: fc.integer({ min: 0, max: 2 }),
  }),
  { maxLength: 12 },
);

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("add" as const), urgents }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(15_000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("planAgain" as const), urgents }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("tick" as const) }) },
  ),
  { minLength: 1, maxLength: 15 },
);

test("each call that leaves is the most urgent of its instant, also when others were removed, planned again, or came later", () =>
  fc.assert(
    fc.asyncProperty(
      steps,
      fc.integer({ min: 1, max: 4 }),
      fc.nat(6_000),
      async (given, atOnce, latencyMs) => {
        const time = startVirtualTime(START);
        /** The model's; and what left and was missed, with what the model says of it. */
        const waiting: PlannedCall[] = [];
        const left: [symbol: string, expected: string | undefined][] = [];
        const leftMs: number[] = [];
        const missed: string[] = [];
        const answered: string[] = [];
        const removed: string[] = [];
        const wrong: string[] = [];
        let added = 0;
        const leave = (symbol: string): void => {
          const place = waiting.findIndex((call) => symbolOf(call) === symbol);
          if (place < 0) wrong.push(`${symbol} did not wait`);
          else waiting.splice(place, 1);
        };
        const dispatcher = dispatcherOf(time, {
          latencyMs,
          atOnce: () => atOnce,
          governor: WINDOW,
          onSent: (planned) => {
            const expected = mostUrgent(waiting.filter(({ deadlineMs }) => deadlineMs > Date.now()));
            left.push([symbolOf(planned), expected && symbolOf(expected)]);
            leftMs.push(Date.now());
            if (left.length - answered.length > atOnce) wrong.push(`${symbolOf(planned)} had no place`);
            leave(symbolOf(planned));
          },
          onResult: (planned, { kind }) => {
            (kind === "answered" ? answered : missed).push(symbolOf(planned));
            if (kind === "answered") return;
            leave(symbolOf(planned));
            if (planned.deadlineMs > Date.now()) wrong.push(`${symbolOf(planned)} was missed early`);
          },
        });
        const add = (urgent: Urgent, symbol = `S${(added += 1)}`): void => {
          const planned = callFor(symbol, urgent);
          waiting.push(planned);
          dispatcher.add(planned);
        };
        for (const step of given)
          if (step.kind === "add") for (const urgent of step.urgents) add(urgent);
          else if (step.kind === "pass") await time.pass(step.ms);
          else if (step.kind === "tick") for (const _ of dispatcher.expire());
          else {
            const symbols = dispatcher.removeWaiting().map(symbolOf);
            // What is polled once, at a slot without an end, is planned together with no other call, and goes on.
            const fresh = waiting.filter(({ deadlineMs }) => deadlineMs < Infinity);
            expect([...symbols].sort()).toEqual(fresh.map(symbolOf).sort());
            waiting.splice(0, Infinity, ...waiting.filter((call) => !fresh.includes(call)));
            for (const urgent of step.urgents) {
              const symbol = symbols.shift();
              if (symbol !== undefined) add(urgent, symbol);
            }
            removed.push(...symbols);
          }
        await time.pass(600_000);
        jest.useRealTimers();

        expect(left.map(([symbol]) => symbol)).toEqual(left.map(([, expected]) => expected));
        expect(wrong).toEqual([]);
        for (const [place, ms] of leftMs.entries())
          expect(ms - (leftMs[place - WINDOW.limit] ?? -Infinity)).toBeGreaterThan(WINDOW.windowMs);
        expect(answered.length).toBe(left.length);
        expect(new Set([...answered, ...missed, ...removed]).size).toBe(added);
        expect(answered.length + missed.length + removed.length).toBe(added);
        expect(dispatcher.queued).toBe(0);
      },
    ),
    { numRuns: runs(60) },
  ));

test("an urgent call that comes while others wait for the budget is the next that leaves", async () => {
  const time = startVirtualTime(START);
  const sent: string[] = [];
  const dispatcher = dispatcherOf(time, { onSent: (planned) => void sent.push(symbolOf(planned)) });
  for (let place = 0; place < 200; place++)
    dispatcher.add(callFor(`S${place}`, { priority: 0, lastsMs: 600_000, unseenSinceMs: 0 }));
  await time.pass(45_000);
  const before = sent.length;

  dispatcher.add(callFor("URGENT", { priority: 1, lastsMs: 600_000, unseenSinceMs: 0 }));
  await time.pass(60_000);

  expect(before).toBeGreaterThan(20);
  expect(sent.indexOf("URGENT")).toBe(before);
  await dispatcher.close(0);
});

test.each(["end with their slot", "are planned again"])(
  "5,000 waiting calls that %s leave no listener, no timer, no rejection and no memory",
  async (how) => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const rejected: unknown[] = [];
    const onRejected = (reason: unknown): void => void rejected.push(reason);
    process.on("unhandledRejection", onRejected);
    const time = startVirtualTime(START);
    const listens = jest.spyOn(AbortSignal.prototype, "addEventListener");
    const dispatcher = dispatcherOf(time, { governor: { limit: 1, windowMs: 60_000 } });
    const waiting: WeakRef<PlannedCall>[] = [];
    for (let place = 0; place < 5_000; place++) {
      const planned = callFor(`S${place}`, { priority: 0, lastsMs: 30_000, unseenSinceMs: place });
      waiting.push(new WeakRef(planned));
      dispatcher.add(planned);
    }
    await time.settle();
    expect(dispatcher.queued).toBe(5_000);
    expect(jest.getTimerCount()).toBeLessThan(5);

    if (how === "are planned again") dispatcher.removeWaiting();
    await time.pass(31_000);
    await dispatcher.idle();

    expect(dispatcher.queued).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
    expect(listens.mock.calls.length).toBeLessThan(100);
    listens.mockRestore();
    jest.useRealTimers();
    await new Promise(setImmediate);
    collectGarbage();
    expect(waiting.filter((call) => call.deref() !== undefined).length).toBeLessThan(5);
    process.off("unhandledRejection", onRejected);
    expect(rejected).toEqual([]);
  },
);

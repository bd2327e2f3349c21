/** A dispatcher whose account another collector may call: what it sends, and what it leaves to the next one. */
import { afterEach, expect, jest, test } from "@jest/globals";
import { planCalls } from "../../../src/collect/callPlan.ts";
import { Dispatcher, type DispatcherOptions } from "../../../src/collect/dispatcher.ts";
import { type Result } from "../../../src/collect/dispatch/callEnds.ts";
import { QuotekeeperError } from "../../../src/ground/errors.ts";
import { instantFromDate } from "../../../src/ground/clock.ts";
import { contractsOf, dueJob } from "../due.ts";
import { quotesFor } from "../world.ts";
import { startVirtualTime, type VirtualTime } from "../virtualTime.ts";
import { SIXTY_A_MINUTE } from "./states.ts";
import { REFERENCE } from "../../../src/services/reference/reference.ts";

const START = "2026-11-20T14:30:00Z";
const quiet = (): void => undefined;

afterEach(() => {
  jest.useRealTimers();
});

/** A dispatcher of `count` calls; `send` is asked before each of them whether it may leave. */
function dispatch(
  time: VirtualTime,
  {
    count,
    mayLeave = () => true,
    deadlineMs = 600_000,
    ...options
  }: Partial<DispatcherOptions> & { count: number; mayLeave?: () => boolean; deadlineMs?: number },
) {
  const sent: number[] = [];
  const tried: number[] = [];
  const results: Result[] = [];
  const dispatcher = new Dispatcher({
    ...{
      service: REFERENCE,
      clock: time.clock,
      governor: SIXTY_A_MINUTE,
      history: null,
    },
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    onResult: (_, result) => void results.push(result),
    send: async (planned, signal, onArrived) => {
      tried.push(Date.now());
      await time.clock.sleep(1, signal);
      if (!mayLeave()) throw new QuotekeeperError("LEASE_UNSURE", "the lease of account default");
      sent.push(Date.now() - Date.parse(START));
      const requestedAt = instantFromDate(time.clock.now());
      await time.clock.sleep(200, signal);
      const answer = quotesFor(planned);
      onArrived({ headers: {}, answer });
      return { record: { requestedAt, observedAt: requestedAt, headers: {} }, answer };
    },
    ...options,
  });
  const due = dueJob({
    name: "job",
    contracts: contractsOf(count),
    deadlineMs: Date.parse(START) + deadlineMs,
  });
  for (const planned of planCalls([due], { batchSize: 100 })) dispatcher.add(planned);
  return { dispatcher, sent, tried, results };
}

test("calls that are held back for want of a lease wait again, however often, and are in no count", async () => {
  const time = startVirtualTime(START);
  const until = Date.parse(START) + 30_000;
  const { dispatcher, sent, tried, results } = dispatch(time, {
    count: 10,
    mayLeave: () => Date.now() >= until,
  });

  await time.pass(29_990);
  const triedInVain = tried.length;
  expect(dispatcher.budget.callsUsed).toBeLessThan(7);
  expect(dispatcher.queued).toBe(10);
  await time.pass(10_000);

  expect(triedInVain).toBeGreaterThan(20);
  expect(triedInVain).toBeLessThan(1_000);
  expect(sent.length).toBe(10);
  expect(Math.max(...sent)).toBeLessThan(32_000);
  expect(results.map(({ kind }) => kind)).toEqual(Array(10).fill("answered"));
  await dispatcher.close(0);
});

test("who is unsure sends one call at a time, and goes on as before once it is sure", async () => {
  const time = startVirtualTime(START);
  const { dispatcher, sent } = dispatch(time, { count: 12 });
  dispatcher.budget.beUnsure(true);

  await time.pass(1_000);
  expect(sent.length).toBe(5);
  expect(dispatcher.budget.state).toMatchObject({ unsure: true, listening: false });
  dispatcher.budget.beUnsure(false);
  await time.pass(500);

  expect(sent.length).toBe(12);
  await dispatcher.close(0);
});

test("who is to stop when unsure sends nothing until it is sure", async () => {
  const time = startVirtualTime(START);
  const { dispatcher, sent } = dispatch(time, { count: 3, whenUnsure: "stop" });
  dispatcher.budget.beUnsure(true);

  await time.pass(120_000);
  expect(sent).toEqual([]);
  dispatcher.budget.beUnsure(false);
  await time.pass(1_000);

  expect(sent.length).toBe(3);
  await dispatcher.close(0);
});

test("who begins without the database listens before it calls as it likes", async () => {
  const time = startVirtualTime(START);
  const { dispatcher, sent } = dispatch(time, { count: 40, startsListening: true });

  await time.pass(30_000);
  expect(sent.length).toBe(4);
  expect(dispatcher.budget.state).toMatchObject({ unsure: true, listening: true });
  await time.pass(60_000);

  expect(sent.length).toBe(40);
  expect(dispatcher.budget.state).toMatchObject({ unsure: true, listening: false });
  await dispatcher.close(0);
});

test.each([
  ["to listen first", { startsListening: true }],
  ["to stop when unsure", { whenUnsure: "stop" as const }],
])(
  "what waits until its slot is over for one who is %s is down, and no failure of the budget",
  async (_, options) => {
    const time = startVirtualTime(START);
    const { dispatcher, results } = dispatch(time, { count: 40, deadlineMs: 50_000, ...options });
    dispatcher.budget.beUnsure(true);

    await time.pass(51_000);

    const missed = results.flatMap((result) => (result.kind === "missed" ? [result.reason] : []));
    expect(missed.length).toBeGreaterThan(30);
    expect(new Set(missed)).toEqual(new Set(["down"]));
    await dispatcher.close(0);
  },
);

test("the heir of a dispatcher goes on counting where that one ended", async () => {
  const time = startVirtualTime(START);
  const first = dispatch(time, { count: 60 });
  await time.pass(59_000);
  const left: unknown = JSON.parse(JSON.stringify(first.dispatcher.budget.handOver()));
  await first.dispatcher.close(0);

  const second = dispatch(time, { count: 60, inherited: { handed: left, agoMs: 0, released: true } });
  await time.pass(90_000);

  const all = [...first.sent, ...second.sent];
  expect(all.length).toBeGreaterThan(120 - 30);
  for (const at of all)
    expect(all.filter((other) => other > at - 60_000 && other <= at).length).toBeLessThanOrEqual(60);
  await second.dispatcher.close(0);
});

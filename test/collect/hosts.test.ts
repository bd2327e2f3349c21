/** A service with two hosts: what one of them refuses, counts or has used up says nothing of the other. */
import { expect, test } from "@jest/globals";
import { openCalls } from "../../src/collect/callHistory.ts";
import { Shares } from "../../src/accounts/shares.ts";
import type { Answer } from "../../src/quotes/answer.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import type { Chain } from "../../src/market/optionChain.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import { createTestClock } from "../support/clock.ts";
import { TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import {
  entriesOf,
  failure,
  jobOf,
  mostInWindow,
  quotesFor,
  type SeenCall,
  startWorld,
  type World,
} from "./world.ts";

const START = "2026-11-20T15:00:00Z";

const GOVERNOR = { limit: 200, windowMs: 60_000, mayRise: true };

const names = (count: number): string[] => Array.from({ length: count }, (_, place) => `NAME${place}`);

/** Chains whose expirations the trading host lists. */
const listed = (count: number): Chain[] =>
  Array.from({ length: count }, (_, place) => ({
    ...{ underlying: `ONE${String(place).padStart(4, "0")}`, expirations: "listed" },
    ...{ strikes: "all", types: ["CALL", "PUT"] },
  })) as Chain[];

const isToTrading = ({ planned }: SeenCall): boolean => ALPACA.hostOf?.(planned.call) === "trading";

const toTrading = ({ calls }: World): SeenCall[] => calls.filter(isToTrading);

/** The trading host answers so, and the data host has all quotes. */
const tradingAnswers =
  (answer: () => Answer) =>
  (call: SeenCall): Answer =>
    isToTrading(call) ? answer() : quotesFor(call.planned);

function askOnce(
  { collector, clock }: World,
  chains: readonly Chain[],
  { account = "default", symbols = [] }: { account?: string; symbols?: string[] } = {},
) {
  const slotAt = instantFromDate(new Date(clock.now().getTime() - 1));
  const job = { name: "once:test", delayed: false, priority: -1000, watchlist: null };
  collector.once.poll(
    { job, slotAt, symbols, options: [], chains, known: new Set() },
    { single: false, accounts: [account], ownerOf: () => account },
  );
  return { job: job.name, slotAt };
}

test("a further host that refuses a one-off job's call for its limit holds up no job of the base host", async () => {
  const world = startWorld({
    ...{ start: START, service: ALPACA, governor: GOVERNOR },
    jobs: [jobOf({ name: "data", symbols: ["IBM"], schedule: "*/15 * * * * *" })],
    respond: tradingAnswers(() => failure("quota_fault")),
  });
  await world.pass(20_000);

  askOnce(world, listed(1));
  await world.pass(100_000);

  expect(toTrading(world).length).toBeGreaterThan(0);
  expect(entriesOf(world.notes, "data").flatMap(({ misses }) => misses)).toEqual([]);
});

test("an account whose key a further host refuses for a one-off job goes on at the base host", async () => {
  const accounts = ["one", "two"];
  const sharers = accounts.map((name) => ({ name, limit: 200, windowMs: 60_000 }));
  const world = startWorld({
    ...{ start: START, service: ALPACA, accounts, shares: new Shares(sharers, () => true) },
    jobs: [jobOf({ name: "data", symbols: ["IBM", "KO"] })],
    respond: tradingAnswers(() => failure("unauthorized")),
  });
  await world.pass(1_000);

  askOnce(world, listed(1), { account: "one" });
  await world.pass(5_000);

  expect(toTrading(world).map(({ account }) => account)).toEqual(["one"]);
  expect(world.collector.status().accounts.map(({ state }) => state)).toEqual(["active", "active"]);
});

test("one-off calls to a further host wait for its limit alone, however much of the base host's the jobs need", async () => {
  const world = startWorld({
    ...{ start: START, service: ALPACA, governor: { limit: 60, windowMs: 60_000 } },
    jobs: [jobOf({ name: "busy", symbols: names(6_000) })],
    respond: tradingAnswers(() => failure("malformed")),
  });
  await world.pass(61_000);

  const slot = askOnce(world, listed(250));
  const room = world.collector.once.room(slot);
  await world.pass(120_000);

  expect(room).toBeNull();
  expect(toTrading(world)).toHaveLength(250);
  expect(mostInWindow(toTrading(world), 60_000)).toBeLessThanOrEqual(200);
});

test("a further host that fails in a row leaves a one-off job what waits for the base host", async () => {
  const world = startWorld({
    ...{ start: START, service: ALPACA, governor: { limit: 60, windowMs: 60_000 } },
    jobs: [jobOf({ name: "busy", symbols: names(3_000) })],
    respond: tradingAnswers(() => failure("server_error")),
  });
  await world.pass(61_000);

  const { job } = askOnce(world, listed(20), { symbols: names(6_000) });
  await world.pass(1_800_000);

  const missed = entriesOf(world.notes, job).flatMap(({ misses }) => misses.map(([name]) => name));
  expect(missed).toHaveLength(20);
  expect(toTrading(world).length).toBeLessThan(40);
});

test("calls that leave evenly to the base host leave so to a further host", async () => {
  const world = startWorld({
    ...{ start: START, service: ALPACA, jobs: [], governor: { ...GOVERNOR, evenly: true } },
    respond: tradingAnswers(() => failure("malformed")),
  });

  askOnce(world, listed(6));
  await world.pass(200);

  expect(toTrading(world)).toHaveLength(1);
});

test("what is taken back of a one-off job is asked of no host", async () => {
  const world = startWorld({
    ...{ start: START, service: ALPACA, jobs: [], governor: GOVERNOR },
    respond: tradingAnswers(() => failure("quota_fault")),
  });
  const slot = askOnce(world, listed(6));
  await world.pass(5_000);
  const before = toTrading(world).length;

  world.collector.once.withdraw(slot);
  await world.pass(300_000);

  expect(before).toBeGreaterThan(0);
  expect(toTrading(world)).toHaveLength(before);
});

test("a restart knows how long nothing may be sent to the base host, whatever a further host refused since", async () => {
  const closed: number[] = [];
  const world = startWorld({
    ...{ start: START, service: ALPACA, governor: GOVERNOR },
    jobs: [jobOf({ name: "data", symbols: ["IBM"] })],
    headers: (call): Record<string, string> => ({ "retry-after": isToTrading(call) ? "2" : "600" }),
    respond: () => failure("quota_fault"),
    onClosed: (forMs) => void closed.push(forMs),
  });
  await world.pass(1_000);

  askOnce(world, listed(1));
  await world.pass(1_000);

  expect(toTrading(world)).toHaveLength(1);
  expect(closed).toEqual([600_000]);
});

test("a further host is called after a restart though nothing may be sent to the base host, and counts the calls before", async () => {
  const before = { sentAgoMs: 1_000, answeredAgoMs: 900 };
  const world = startWorld({
    ...{ start: START, service: ALPACA, governor: GOVERNOR },
    jobs: [jobOf({ name: "data", symbols: ["IBM"] })],
    history: { calls: Array.from({ length: 150 }, () => before), certain: true, closedForMs: 600_000 },
    respond: tradingAnswers(() => failure("malformed")),
  });

  askOnce(world, listed(100));
  await world.pass(55_000);

  expect(toTrading(world)).toHaveLength(50);
  expect(world.calls).toHaveLength(50);
});

test("what a further host refuses is told of the account until that host answers again", async () => {
  let isRefused = true;
  const world = startWorld({
    ...{ start: START, service: ALPACA, governor: GOVERNOR },
    jobs: [jobOf({ name: "data", symbols: ["IBM"] }), jobOf({ name: "chains", chains: listed(1) })],
    respond: (call) => (isToTrading(call) && isRefused ? failure("unauthorized") : quotesFor(call.planned)),
  });
  const told = () => {
    const { accounts, lastError } = world.collector.status();
    return [lastError, ...accounts.map((account) => account.lastError)].map(
      (error) => error?.message ?? null,
    );
  };

  await world.pass(50_000);
  const refused = told();
  isRefused = false;
  await world.pass(60_000);

  const message = expect.stringContaining("SERVICE_UNAUTHORIZED");
  expect([refused, told()]).toEqual([
    [message, message],
    [null, null],
  ]);
});

test("a restart knows two windows of calls to both hosts", async () => {
  const clock = createTestClock(START);
  const dataDir = tempDir();
  const feed = {
    kind: "account" as const,
    baseUrl: "https://api.broker.example",
    credentials: TEST_CREDENTIALS,
  };
  const account = {
    name: "default",
    feed,
    limit: 200,
    limitGiven: false,
    limitWindowMs: 60_000,
    service: ALPACA,
  };
  const options = { dataDir, journalDir: tempDir(), clock, bootId: "boot", onProblem: () => undefined };
  const { log } = await openCalls(account, options);
  for (let call = 0; call < 800; call += 1) log.leaves(String(call));

  const { history } = await openCalls(account, options);

  expect(history?.calls).toHaveLength(800);
});

/** What a collector leaves that has made so many calls to each host within a second. */
async function leftAfter({ base, further }: { base: number; further: number }): Promise<object> {
  const world = startWorld({
    ...{ start: START, service: ALPACA, jobs: [], governor: GOVERNOR },
    headers: (call): Record<string, string> => (isToTrading(call) ? {} : RAISED),
    respond: tradingAnswers(() => failure("malformed")),
  });
  askOnce(world, listed(further), { symbols: names(base * 100) });
  await world.pass(20_000);
  const left = world.collector.handOver("default");
  await world.end(0);
  expect(world.calls).toHaveLength(base + further);
  return JSON.parse(JSON.stringify(left)) as object;
}

/** The data host's limit is ten times what the settings say. */
const RAISED = {
  "x-ratelimit-limit": "2000",
  "x-ratelimit-remaining": "1990",
  "x-ratelimit-reset": String(Date.parse(START) / 1_000 + 60),
};

/** How many calls to the further host an heir makes within 40 s, beside the limit of its base host. */
async function heirOf(handed: unknown): Promise<{ calls: number; limit: number | undefined }> {
  const world = startWorld({
    ...{ start: START, service: ALPACA, jobs: [], governor: GOVERNOR },
    inherited: { handed, agoMs: 0, released: true },
    respond: tradingAnswers(() => failure("malformed")),
  });
  const limit = world.collector.status().accounts[0]?.budget.limit;
  askOnce(world, listed(400));
  await world.pass(40_000);
  await world.end(0);
  return { calls: toTrading(world).length, limit };
}

test("a collector that takes an account over goes on with what the one before knew of each host", async () => {
  const handed = await leftAfter({ base: 5, further: 60 });

  expect(await heirOf(handed)).toEqual({ calls: 140, limit: 2_000 });
});

test("of a collector that handed over its base host alone, a further host may be full, and its limit is its own", async () => {
  const { hosts, ...base } = (await leftAfter({ base: 5, further: 60 })) as { hosts?: object };

  expect(hosts).toBeDefined();
  expect(await heirOf(base)).toEqual({ calls: 0, limit: 2_000 });
});

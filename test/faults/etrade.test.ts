/**
 * Real collectors of a stock and of E*TRADE's whole chains, killed at random instants, with and without a login: against the
 * journal, and against the fake's own log.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { seeded } from "../../bench/governor/random.ts";
import { systemClock } from "../../src/clock.ts";
import { CONSUMER, type FakeEtrade, startFakeEtrade } from "../fakes/etrade/fake.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { recountChains, wrongSlots } from "./kit/chainRecount.ts";
import { stoppedIn, withLives, wrongReasons, type Lasting } from "./kit/lives.ts";
import { fakeOptions, logIn, openLivingWorld, STEP_MS } from "./kit/livingWorld.ts";
import type { World } from "./kit/world.ts";
import { killCollectors } from "./scenarios/collectorKills.ts";

// Collectors are killed and recounted for many slots.
jest.setTimeout(300_000);

let bin = "";
beforeAll(() => {
  bin = compileProgram(tempDir());
});

let world: World | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

const nowMs = (): number => systemClock.now().getTime();

async function open(): Promise<{ fake: FakeEtrade } & ReturnType<typeof withLives>> {
  const fake = await startFakeEtrade({
    ...fakeOptions(),
    limit: { perSecond: 1_000_000, perHour: 1_000_000 },
  });
  const opened = await openLivingWorld(fake, bin, {
    QUOTES_SERVICE: "etrade",
    QUOTES_CONSUMER_KEY: CONSUMER.key,
    QUOTES_CONSUMER_SECRET: CONSUMER.secret,
    QUOTES_ACCESS_TOKEN: "",
    QUOTES_ACCESS_TOKEN_SECRET: "",
  });
  const watched = withLives(opened);
  world = watched.world;
  return { fake, ...watched };
}

/** What a body holds, as the ledger names it; read by expressions alone. */
function namesIn(body: string): string[] {
  const quoted = [...body.matchAll(/<symbol>(\w+)<\/symbol>/g)].map(([, symbol = ""]) => symbol);
  if (body.includes("<QuoteResponse>")) return quoted;
  const date = /<SelectedED><day>(\d+)<\/day><month>(\d+)<\/month><year>(\d+)<\/year>/.exec(body);
  if (!date) return [];
  const [, day = "", month = "", year = ""] = date;
  return [`chain ${quoted[0]}:${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`];
}

test("rows and ledger of E*TRADE's whole chains are right when the collector is killed at random instants, and one login outlives all kills", async () => {
  const { world: opened, fake, lives } = await open();
  const login = await logIn(opened, fake.authorize);

  const verdict = await killCollectors(opened, { kills: 4, random: seeded(7), demand: "whole chains'" });

  const slots = await recountChains(opened, STEP_MS, namesIn);
  const stopped = await stoppedIn(opened.journalDir, lives);
  const span = { fromMs: -Infinity, toMs: login.toMs };
  const loggedOut: Lasting = { surely: [], perhaps: [span] };
  const lists = fake.calls.filter(({ path, status }) => path.endsWith("expiredate") && status === 200);
  expect(verdict.violations).toEqual([]);
  expect([wrongSlots(slots), wrongReasons(slots, STEP_MS, { stopped, loggedOut })]).toEqual([[], []]);
  expect(slots.length).toBeGreaterThan(3);
  expect(verdict.figures["quotes"]).toBeGreaterThan(100);
  expect(fake.logins).toHaveLength(1);
  expect(fake.calls.filter(({ status }) => status === 401)).toEqual([]);
  // A kill may come between an answer and the disk, and another day of New York may begin meanwhile.
  expect(lists.length).toBeLessThanOrEqual(3);
});

test("a session that ends while a collector runs, a kill without one, and a login later: slots are missed for want of a login or of a collector, and of nothing else", async () => {
  const { world: opened, fake, lives } = await open();
  const random = seeded(11);
  const first = await logIn(opened, fake.authorize);
  const out = { endedMs: 0, againFromMs: 0, againToMs: 0 };
  const missedForLogin = (sinceMs: number): Promise<unknown> =>
    until(async () => {
      const { rowCount } = await opened.pool.query(
        "select from misses where reason = 'login' and slot_at > to_timestamp($1::float8 / 1000)",
        [sinceMs],
      );
      return (rowCount ?? 0) > 0;
    }, "a slot without a login");
  const answer = (): Promise<unknown> => {
    const before = opened.feed.answered();
    return until(() => opened.feed.answered() > before, "an answer");
  };
  /** The session ends, the collector is killed without one, nothing runs for a while, and somebody logs in to the next. */
  const spell = async (): Promise<void> => {
    const ending = opened.collect();
    await answer();
    fake.endSession();
    out.endedMs = nowMs();
    await missedForLogin(out.endedMs);
    await delay(random() * STEP_MS);
    await ending.kill();
    await delay(2 * STEP_MS);
    const next = opened.collect();
    await missedForLogin(nowMs());
    const again = await logIn(opened, fake.authorize);
    Object.assign(out, { againFromMs: again.fromMs, againToMs: again.toMs });
    await answer();
    await delay(random() * STEP_MS);
    await next.kill();
  };

  const verdict = await killCollectors(opened, {
    ...{ kills: 3, random, demand: "whole chains'" },
    onKill: (kill) => (kill === 1 ? spell() : undefined),
  });

  const slots = await recountChains(opened, STEP_MS, namesIn);
  const stopped = await stoppedIn(opened.journalDir, lives);
  const loggedOut: Lasting = {
    surely: [{ fromMs: out.endedMs, toMs: out.againFromMs }],
    perhaps: [
      { fromMs: -Infinity, toMs: first.toMs },
      { fromMs: out.endedMs, toMs: out.againToMs },
    ],
  };
  const reasons = new Set(slots.flatMap(({ missed }) => missed.map(({ reason }) => reason)));
  const loggedIn = fake.logins.map(({ at }) => at.getTime());
  expect(verdict.violations).toEqual([]);
  expect([wrongSlots(slots), wrongReasons(slots, STEP_MS, { stopped, loggedOut })]).toEqual([[], []]);
  expect([reasons.has("login"), reasons.has("down")]).toEqual([true, true]);
  expect(loggedIn).toHaveLength(2);
  // Nothing was answered without a login.
  const isOut = ({ at }: { at: Date }): boolean =>
    at.getTime() > out.endedMs && at.getTime() < (loggedIn[1] ?? 0);
  expect(
    fake.calls.filter((call) => isOut(call) && call.path.startsWith("/v1/") && call.status === 200),
  ).toEqual([]);
});

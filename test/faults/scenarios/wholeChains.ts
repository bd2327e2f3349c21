/** kill -9 of collectors of a living service's whole chains: beside the usual verdict a recount of what came of each slot, and why. */
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../../src/ground/clock.ts";
import type { FakeAlpaca } from "../../fakes/alpaca/fake.ts";
import type { FakeEtrade } from "../../fakes/etrade/fake.ts";
import type { FakeTradier } from "../../fakes/tradier/fake.ts";
import { until } from "../../support/until.ts";
import { type BroughtBy, eachWhole, keptIn, recountChains, wrongSlots } from "../kit/chainRecount.ts";
import { type Lasting, type Span, settledIn, stoppedIn, withLives, wrongReasons } from "../kit/lives.ts";
import { logIn, STEP_MS } from "../kit/livingWorld.ts";
import { askedAgain, lostRows, runsOf } from "../kit/pageRecount.ts";
import type { World } from "../kit/world.ts";
import { killCollectors } from "./collectorKills.ts";
import type { Verdict } from "./verdict.ts";

type Killing = { kills: number; random: () => number; onKill?: (kill: number) => void };

/** Lists of expirations asked for, at most: a kill may come between an answer and the disk, and another day of New York begin. */
const MOST_LISTS = 3;

const nowMs = (): number => systemClock.now().getTime();

/** At Tradier. */
export async function killAtTradier(
  world: World,
  fake: Pick<FakeTradier, "calls">,
  killing: Killing,
): Promise<Verdict> {
  const watched = withLives(world);
  const verdict = await killCollectors(watched.world, { ...killing, demand: "whole chains'" });
  const namesIn = (body: string): string[] => {
    const { quotes, options } = JSON.parse(body) as {
      quotes?: { quote: { symbol: string } };
      options?: { option: { underlying: string; expiration_date: string }[] };
    };
    const dates = new Set(options?.option.map((one) => `chain ${one.underlying}:${one.expiration_date}`));
    return [...(quotes ? [quotes.quote.symbol] : []), ...dates];
  };
  const lists = fake.calls.filter(({ path, status }) => path.endsWith("/expirations") && status === 200);
  return judged(verdict, {
    ...{ world, broughtBy: eachWhole(namesIn), lives: watched.lives, lists: lists.length },
    loggedOut: { surely: [], perhaps: [] },
  });
}

/** At Alpaca, where chains and the list of contracts come in pages: kills come between those of one chain too. */
export async function killAtAlpaca(
  world: World,
  fake: Pick<FakeAlpaca, "calls">,
  killing: Killing,
): Promise<Verdict> {
  const watched = withLives(world);
  const verdict = await killCollectors(watched.world, { ...killing, demand: "paged chains'" });
  const kept = await keptIn(world.journalDir);
  const { brought, cut } = runsOf(kept);
  const found = await judged(verdict, {
    ...{ world, broughtBy: () => brought, lives: watched.lives, lists: wholeLists(fake) },
    loggedOut: { surely: [], perhaps: [] },
  });
  const pages = kept.filter(({ request }) => request.form === "chain").length;
  const lost = await lostRows(world.pool, kept);
  return {
    ...found,
    figures: { ...found.figures, pages, cutChains: cut },
    violations: [...found.violations, ...askedAgain(kept), ...lost],
  };
}

/** How often the service has given the last page of the list of contracts, by its own log. */
function wholeLists({ calls }: Pick<FakeAlpaca, "calls">): number {
  const from = calls.flatMap(({ path, query, status }) =>
    path === "/v2/options/contracts" && status === 200
      ? [Number(Buffer.from(query["page_token"] ?? "", "base64").toString())]
      : [],
  );
  return from.filter((place) => place === Math.max(...from)).length;
}

/**
 * At E*TRADE, with a login before, which outlives all kills. After some of them there is a spell without a session.
 *
 * @param killing.spellAfter whether there is one after a kill
 */
export async function killAtEtrade(
  world: World,
  fake: FakeEtrade,
  { spellAfter, onKill, ...killing }: Killing & { spellAfter: (kill: number) => boolean },
): Promise<Verdict> {
  const watched = withLives(world);
  const first = await logIn(world, fake.authorize);
  const spells: Spell[] = [];
  const verdict = await killCollectors(watched.world, {
    ...{ ...killing, demand: "whole chains'" },
    onKill: async (kill) => {
      if (spellAfter(kill)) spells.push(await spellWithoutSession(watched.world, fake, killing.random));
      onKill?.(kill);
    },
  });
  const lists = fake.calls.filter(({ path, status }) => path.endsWith("expiredate") && status === 200);
  const found = await judged(verdict, {
    ...{ world, broughtBy: eachWhole(namesOfEtrade), lives: watched.lives, lists: lists.length },
    loggedOut: {
      surely: spells.map(({ surely }) => surely),
      perhaps: [{ fromMs: -Infinity, toMs: first.toMs }, ...spells.map(({ perhaps }) => perhaps)],
    },
  });
  const stray = fake.calls.filter(
    ({ at, status }) =>
      status === 401 &&
      !spells.some(({ perhaps }) => at.getTime() >= perhaps.fromMs && at.getTime() <= perhaps.toMs),
  );
  const logins = fake.logins.length;
  return {
    ...found,
    figures: { ...found.figures, logins },
    violations: [
      ...found.violations,
      ...(logins === 1 + spells.length ? [] : [`${logins} logins with ${spells.length} sessions that ended`]),
      ...(stray.length > 0 ? [`${stray.length} calls were refused while somebody was logged in`] : []),
    ],
  };
}

/** When nobody was logged in. */
type Spell = { surely: Span; perhaps: Span };

/** A session ends, its collector is killed without one, nothing runs for a while, and somebody logs in to the next, which is killed too. */
async function spellWithoutSession(world: World, fake: FakeEtrade, random: () => number): Promise<Spell> {
  const { pool, feed } = world;
  const missedForLogin = (sinceMs: number): Promise<true> =>
    until(async () => {
      const { rowCount } = await pool.query(
        "select from misses where reason = 'login' and slot_at > to_timestamp($1::float8 / 1000)",
        [sinceMs],
      );
      return (rowCount ?? 0) > 0;
    }, "a slot without a login");
  const answer = (): Promise<true> => {
    const before = feed.answered();
    return until(() => feed.answered() > before, "an answer");
  };
  const ending = world.collect();
  await answer();
  fake.endSession();
  const endedMs = nowMs();
  await missedForLogin(endedMs);
  await delay(random() * STEP_MS);
  await ending.kill();
  await delay(2 * STEP_MS);
  const next = world.collect();
  await missedForLogin(nowMs());
  const login = await logIn(world, fake.authorize);
  await answer();
  await delay(random() * STEP_MS);
  await next.kill();
  return {
    surely: { fromMs: endedMs, toMs: login.fromMs },
    perhaps: { fromMs: endedMs, toMs: login.toMs },
  };
}

/** What a body holds, as the ledger names it; read by expressions alone. */
function namesOfEtrade(body: string): string[] {
  const quoted = [...body.matchAll(/"symbol": ?"(\w+)"/g)].map(([, symbol = ""]) => symbol);
  if (body.includes('"QuoteResponse"')) return quoted;
  const [, date] = /"SelectedED": ?(\{[^}]*\})/.exec(body) ?? [];
  if (!date) return [];
  const { year, month, day } = JSON.parse(date) as Record<string, string | number>;
  return [`chain ${quoted[0]}:${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`];
}

type Judging = {
  world: World;
  broughtBy: BroughtBy;
  lives: ReturnType<typeof withLives>["lives"];
  loggedOut: Lasting;
  /** How many lists of expirations the service has answered. */
  lists: number;
};

async function judged(
  verdict: Verdict,
  { world, broughtBy, lives, loggedOut, lists }: Judging,
): Promise<Verdict> {
  const stepMs = world.jobs[0]?.stepMs ?? STEP_MS;
  const slots = await recountChains(world, stepMs, broughtBy);
  const stopped = await stoppedIn(world.journalDir, lives);
  const settled = await settledIn(world.journalDir);
  const missedFor = (reason: string): number =>
    slots.filter(({ missed }) => missed.some((one) => one.reason === reason)).length;
  return {
    ...verdict,
    figures: {
      ...verdict.figures,
      ...{ recounted: slots.length, lists, slotsDown: missedFor("down"), slotsLogin: missedFor("login") },
    },
    violations: [
      ...verdict.violations,
      ...wrongSlots(slots),
      ...wrongReasons(slots, stepMs, { stopped, loggedOut, settled }),
      ...(lists > MOST_LISTS ? [`the list of expirations was asked for ${lists} times`] : []),
    ],
  };
}

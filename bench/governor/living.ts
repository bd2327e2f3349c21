/**
 * Our governor under the rules of the living services, each by the service's own value: its limit, its headers, its faults. They
 * are counted as the fakes count them. Demand is saturated.
 */
import { answeredEnd } from "../../src/collect/dispatch/callEnds.ts";
import type { Answer } from "../../src/quotes/answer.ts";
import { ETRADE } from "../../src/services/etrade/etrade.ts";
import type { Service } from "../../src/services/service.ts";
import { TRADIER } from "../../src/services/tradier/tradier.ts";
import { OVER_LIMIT as ETRADE_WORDS } from "../../test/fakes/etrade/faults.ts";
import { createLimit as createEtradeLimit, LIMITS as ETRADE_LIMITS } from "../../test/fakes/etrade/limit.ts";
import { refusal } from "../../test/fakes/etrade/wire.ts";
import type { FaultAnswer } from "../../test/fakes/faultRules.ts";
import { OVER_LIMIT as TRADIER_OVER_LIMIT } from "../../test/fakes/tradier/faults.ts";
import {
  createLimit as createTradierLimit,
  LIMITS as TRADIER_LIMITS,
} from "../../test/fakes/tradier/limit.ts";
import { seeded, seedOf } from "./random.ts";
import { startSender } from "./sender.ts";
import { EPOCH_MS, VirtualTime } from "./virtualTime.ts";

const HOUR_MS = 3_600_000;

/** From a call to its answer, ms; `lateMs`: the longest of one call in ten, 0: none is late. */
type Latency = { leastMs: number; mostMs: number; lateMs: number };

const USUAL: Latency = { leastMs: 60, mostMs: 120, lateMs: 0 };
const LATE: Latency = { ...USUAL, lateMs: 1_500 };
/** So near that four calls a second are more than 14,000 an hour, which begins below 18 ms. */
const NEAR: Latency = { leastMs: 1, mostMs: 3, lateMs: 0 };
const NOT_SO_NEAR: Latency = { leastMs: 20, mostMs: 20, lateMs: 0 };

/** One in so many is late. */
const LATE_ONE_IN = 10;

type Rule = {
  name: string;
  service: Service;
  limit: Service["limit"];
  /** The most calls in an hour that the service answers. */
  hourly: number;
  latency: Latency;
  /** A count of calls by their arrival, epoch ms. */
  count: () => (atMs: number) => { isAnswered: boolean; headers: Record<string, string> };
  refusal: FaultAnswer;
  /** The least share of `hourly` that must be used. */
  leastShare: number;
  /** The most refusals in an hour. */
  mostRefused: number;
};

const LATENCIES = [
  ["", USUAL],
  [", one call in ten late", LATE],
] as const;

type EtradeOptions = Pick<Rule, "latency" | "leastShare"> & { mostRefused?: number };

function etrade(name: string, { latency, leastShare, mostRefused = 0 }: EtradeOptions): Rule {
  return {
    ...{ name: `E*TRADE${name}`, service: ETRADE, limit: ETRADE.limit, latency, leastShare, mostRefused },
    hourly: ETRADE_LIMITS.perHour,
    count: () => {
      const take = createEtradeLimit(ETRADE_LIMITS);
      return (atMs) => ({ isAnswered: take("key", atMs), headers: {} });
    },
    refusal: refusal(400, ETRADE_WORDS, "xml"),
  };
}

function tradier(name: string, options: Pick<Rule, "latency" | "limit"> & { nodes: number }): Rule {
  const { latency, limit, nodes } = options;
  const counted = { ...TRADIER_LIMITS[limit === TRADIER.limit ? "production" : "sandbox"], nodes };
  return {
    ...{ name: `Tradier${name}`, service: TRADIER, limit, latency },
    hourly: counted.holds * 60,
    count: () => createTradierLimit(counted),
    refusal: TRADIER_OVER_LIMIT,
    ...{ leastShare: 0.98, mostRefused: 0 },
  };
}

const SANDBOX = TRADIER.addresses.find(({ sandbox }) => sandbox !== undefined)?.limit ?? TRADIER.limit;

const RULES: readonly Rule[] = [
  etrade("", { latency: USUAL, leastShare: 0.92 }),
  etrade(", one call in ten late", { latency: LATE, leastShare: 0.84 }),
  etrade(", answered in 20 ms", { latency: NOT_SO_NEAR, leastShare: 0.98 }),
  etrade(", answered within 3 ms", { latency: NEAR, leastShare: 0.98, mostRefused: 6 }),
  ...[1, 3, 6].flatMap((nodes) =>
    LATENCIES.map(([late, latency]) =>
      tradier(`, counted by ${nodes}${late}`, { latency, nodes, limit: TRADIER.limit }),
    ),
  ),
  tradier(", sandbox", { latency: USUAL, nodes: 3, limit: SANDBOX }),
];

/** What came of one rule. `answeredCounts`: in each hour; `refusedCount`: in the whole time. */
export type LivingOutcome = Pick<Rule, "name" | "hourly" | "leastShare" | "mostRefused"> & {
  answeredCounts: number[];
  refusedCount: number;
};

/** Runs so many hours of each rule whose name `only` fits. */
export function runLiving({ hours, seed }: { hours: number; seed: number }, only = /(?:)/): LivingOutcome[] {
  if (!Number.isInteger(hours) || hours < 1) throw new RangeError("--living takes a whole number above 0");
  return RULES.filter(({ name }) => only.test(name)).map((rule) => runRule(rule, hours, seed));
}

function runRule(rule: Rule, hours: number, seed: number): LivingOutcome {
  const { service, limit, latency, refusal: refused } = rule;
  const time = new VirtualTime();
  const random = seeded(seedOf(rule.name) + seed);
  const take = rule.count();
  const answeredCounts = Array<number>(hours).fill(0);
  let refusedCount = 0;
  // An hour of the clock, in which the service's begins as well.
  const beginsMs = Math.ceil(EPOCH_MS / HOUR_MS) * HOUR_MS;
  const wallMs = (): number => beginsMs + time.nowMs;
  const arrive = (): { headers: Record<string, string>; answer: Pick<Answer, "outcome"> } => {
    const { isAnswered, headers } = take(wallMs());
    const kept = Object.fromEntries(
      Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]),
    );
    if (!isAnswered) {
      refusedCount += 1;
      const body = Buffer.from(refused.body);
      return { headers: kept, answer: service.classify({ status: refused.status, headers: kept, body }) };
    }
    const hour = Math.floor(time.nowMs / HOUR_MS);
    answeredCounts[hour] = (answeredCounts[hour] ?? 0) + 1;
    return { headers: kept, answer: { outcome: "quotes" } };
  };
  const sender = startSender({
    ...{ time, random, history: undefined },
    config: { limit: limit.calls, windowMs: limit.windowMs, mayRise: true },
    call: (sentAtMs, onEnd) => {
      const calledAtMs = time.nowMs;
      const latencyMs = latencyOf(latency, random);
      time.at(calledAtMs + random() * latencyMs, () => {
        const arrived = arrive();
        time.at(calledAtMs + latencyMs, () =>
          onEnd(answeredEnd(arrived, service, { sentMs: sentAtMs, wallMs: wallMs() })),
        );
      });
    },
  });
  sender.due(Infinity);
  time.run(hours * HOUR_MS);
  const { name, hourly, leastShare, mostRefused } = rule;
  return { name, hourly, leastShare, mostRefused, answeredCounts, refusedCount };
}

function latencyOf({ leastMs, mostMs, lateMs }: Latency, random: () => number): number {
  const usualMs = leastMs + random() * (mostMs - leastMs);
  const isLate = lateMs > 0 && random() < 1 / LATE_ONE_IN;
  return isLate ? usualMs + random() * lateMs : usualMs;
}

/** Whether what must be used is, and no more is refused than may be. */
export function keepsLivingBounds(outcome: LivingOutcome): boolean {
  const { answeredCounts, hourly, leastShare, refusedCount, mostRefused } = outcome;
  const isUsed = Math.min(...answeredCounts) >= leastShare * hourly;
  return isUsed && refusedCount <= mostRefused * answeredCounts.length;
}

/** Prints a line per rule. */
export function printLiving(outcomes: readonly LivingOutcome[]): void {
  const head = ["calls an hour", "at most", "used", "refused/h"].map((text) => text.padStart(18)).join("");
  console.log(`  ${"".padEnd(42)}${head}`);
  for (const outcome of outcomes) {
    const { name, answeredCounts, hourly, leastShare, refusedCount, mostRefused } = outcome;
    const mean = answeredCounts.reduce((sum, each) => sum + each, 0) / answeredCounts.length;
    const figures = [
      `${mean.toFixed(0)} of ${hourly}`,
      String(Math.max(...answeredCounts)),
      `${((100 * mean) / hourly).toFixed(2)} %`,
      (refusedCount / answeredCounts.length).toFixed(1),
    ].map((text) => text.padStart(18));
    const bounds = `at least ${100 * leastShare} %, ${mostRefused} refusals an hour`;
    const missed = keepsLivingBounds(outcome) ? "" : `   MISSED: ${bounds}`;
    console.log(`  ${name.padEnd(42)}${figures.join("")}${missed}`);
  }
}

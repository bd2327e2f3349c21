/**
 * A collector ends, is cut off or is paused, and another takes its account over by the rules of the lease: whether the
 * service refuses any call from then on, and when the first quote comes. Two real governors, one service; the lease's
 * rounds and looks are drawn by chance.
 */
import { COUNTING_RULES, type RuleName } from "./service.ts";
import type { Demand } from "./collector.ts";
import { type Row, type RowBounds, TakeOver } from "./takeover.ts";

/** What came of a row's runs. */
export type RowOutcome = {
  row: Row;
  runCount: number;
  refusedRuns: number;
  worstRefused: number;
  staleCount: number;
  takenMs: number[];
  fullRuns: number;
  /** Of runs in which the budget allowed a call within the bound. */
  firstQuoteMs: number[];
  leastShare: number | null;
  meanShare: number | null;
};

const DEMANDS: readonly Demand[] = [
  ...[5, 30, 45].map((count) => ({ name: `${count} in bursts`, count, manner: "burst" as const })),
  { name: "20 even", count: 20, manner: "even" },
  { name: "saturated", count: Infinity, manner: "burst" },
];

const NONE_REFUSED: RowBounds = { refusedPercent: 0, firstQuoteMs: 15_000, meanShare: 0 };

/** The events of each row, with the calls that leave late when a pause ends. */
const EVENTS: readonly (Pick<Row, "event" | "lateCount" | "bounds"> & { name: string })[] = [
  { name: "kill", event: "kill", lateCount: 0, bounds: NONE_REFUSED },
  { name: "clean stop", event: "clean stop", lateCount: 0, bounds: NONE_REFUSED },
  {
    name: "own cut, orphan goes on",
    event: "own cut",
    lateCount: 0,
    bounds: { ...NONE_REFUSED, refusedPercent: 1 },
  },
  {
    ...{ name: "everybody cut for 10 min", event: "everybody cut", lateCount: 0 },
    bounds: { ...NONE_REFUSED, meanShare: 0.94 },
  },
  ...[0, 2, 6].map((lateCount) => ({
    ...{ name: `paused for 60 s, ${lateCount} late`, event: "paused" as const, lateCount },
    bounds: { ...NONE_REFUSED, refusedPercent: lateCount > 2 ? 100 : lateCount > 0 ? 1 : 0 },
  })),
  {
    ...{ name: "paused for 60 s, a round in flight", event: "paused in a round", lateCount: 0 },
    bounds: NONE_REFUSED,
  },
];

/** Runs each row so often, each of the five counting rules in its turn. */
export function runFleet(runCount: number, only = /./): RowOutcome[] {
  return EVENTS.flatMap((event) => DEMANDS.map((demand) => ({ ...event, demand })))
    .filter(({ name, demand }) => only.test(`${name}, ${demand.name}`))
    .map((row) => runRow(row, runCount));
}

function runRow(row: Row, runCount: number): RowOutcome {
  const rules = Object.keys(COUNTING_RULES) as RuleName[];
  const outcomes = Array.from({ length: runCount }, (_, index) =>
    new TakeOver(row, rules[index % rules.length] ?? "sliding", index).outcome(),
  );
  const shares = outcomes.flatMap(({ share }) => share ?? []);
  const refused = outcomes.map(({ refusedCount }) => refusedCount);
  return {
    ...{ row, runCount, refusedRuns: refused.filter((count) => count > 0).length },
    staleCount: outcomes.reduce((sum, { staleCount }) => sum + staleCount, 0),
    worstRefused: Math.max(...refused),
    takenMs: outcomes.flatMap(({ takenMs }) => takenMs ?? []).sort((a, b) => a - b),
    fullRuns: outcomes.filter(({ isFull }) => isFull).length,
    firstQuoteMs: outcomes
      .flatMap(({ isFull, firstQuoteMs }) => (isFull ? [] : (firstQuoteMs ?? [])))
      .sort((a, b) => a - b),
    leastShare: shares.length === 0 ? null : Math.min(...shares),
    meanShare: shares.length === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / shares.length,
  };
}

/** Whether a row shows what it must. */
export function keepsRowBounds({ row: { bounds }, ...outcome }: RowOutcome): boolean {
  return (
    outcome.staleCount === 0 &&
    100 * outcome.refusedRuns <= bounds.refusedPercent * outcome.runCount &&
    (outcome.firstQuoteMs.at(-1) ?? 0) < bounds.firstQuoteMs &&
    (outcome.meanShare ?? 1) >= bounds.meanShare
  );
}

/** Prints a line per row. `no room`: runs whose budget, as the heir reckons it, allowed no call within the bound. */
export function printFleet(outcomes: readonly RowOutcome[]): void {
  const heads = [
    "refused in",
    "worst",
    "stale",
    "no room",
    "taken, median/max",
    "first quote, median/max",
    "used, mean/least",
  ];
  const widths = [14, 7, 7, 9, 20, 25, 20];
  const line = (cells: readonly string[]): string =>
    cells.map((cell, index) => cell.padStart(widths[index] ?? 0)).join("");
  console.log("".padEnd(42) + line(heads));
  for (const outcome of outcomes) {
    const { row, runCount, refusedRuns, worstRefused, takenMs, firstQuoteMs, meanShare, leastShare } =
      outcome;
    const cells = [
      `${refusedRuns}/${runCount}`,
      String(worstRefused),
      String(outcome.staleCount),
      String(outcome.fullRuns),
      secondsOf(takenMs),
      secondsOf(firstQuoteMs),
      meanShare === null ? "" : `${percent(meanShare)} / ${percent(leastShare ?? 0)} %`,
    ];
    const missed = keepsRowBounds(outcome) ? "" : "   MISSED";
    console.log(`${row.name}, ${row.demand.name}`.padEnd(42) + line(cells) + missed);
  }
}

function secondsOf(sortedMs: readonly number[]): string {
  const seconds = (ms: number | undefined): string => ((ms ?? 0) / 1_000).toFixed(1);
  return sortedMs.length === 0
    ? ""
    : `${seconds(sortedMs[Math.floor(sortedMs.length / 2)])} / ${seconds(sortedMs.at(-1))} s`;
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}

/** The cells of the bench, and the bounds our governor keeps in each. */
import { COUNTING_RULES, EXPIRE_SKEWS, type RuleName, type SkewName } from "./service.ts";
import { LIMIT, WINDOW_MS, type Cell, type Outcome, type SecondClient } from "./world.ts";

/** Who is about in the simulated hour. */
export type Scenario = {
  name: string;
  secondClient: SecondClient | null;
  restartCount: number;
  clockStep: boolean;
};

/** The scenarios, in the order they are shown. */
export const SCENARIOS: readonly Scenario[] = [
  { name: "alone", secondClient: null, restartCount: 0, clockStep: false },
  { name: "3 restarts", secondClient: null, restartCount: 3, clockStep: false },
  { name: "3 restarts, clock set by 60 s at each", secondClient: null, restartCount: 3, clockStep: true },
  {
    name: "second client, 10 evenly",
    secondClient: { count: 10, manner: "even" },
    restartCount: 0,
    clockStep: false,
  },
  {
    name: "second client, 10 at once",
    secondClient: { count: 10, manner: "burst" },
    restartCount: 0,
    clockStep: false,
  },
  {
    name: "second client, 30 evenly",
    secondClient: { count: 30, manner: "even" },
    restartCount: 0,
    clockStep: false,
  },
  {
    name: "second client, 30 at once",
    secondClient: { count: 30, manner: "burst" },
    restartCount: 0,
    clockStep: false,
  },
];

/** What the machine's clock shows too much, ms. */
const CLOCKS_OFF_MS = [0, 60_000, -60_000];

/** A cell with the name of its scenario. */
export type NamedCell = Cell & { scenario: string };

/** Every cell: rule x skew x clock x scenario. */
export function allCells(minutes: number): NamedCell[] {
  const rules = Object.keys(COUNTING_RULES) as RuleName[];
  const skews = Object.keys(EXPIRE_SKEWS) as SkewName[];
  return SCENARIOS.flatMap(({ name, ...scenario }) =>
    rules.flatMap((rule) =>
      skews.flatMap((skew) =>
        CLOCKS_OFF_MS.map((clockOffMs) => ({ scenario: name, rule, skew, clockOffMs, minutes, ...scenario })),
      ),
    ),
  );
}

/** The cells that differ to a sender that reads neither headers nor the wall clock. */
export function peerCells(minutes: number): NamedCell[] {
  return allCells(minutes).filter(
    ({ skew, clockOffMs, clockStep }) => skew === "0" && clockOffMs === 0 && !clockStep,
  );
}

/**
 * The share of the allowed calls that was used. Allowed is the limit's rate times the time, 60 a
 * minute under each rule, less what the second client asks for; time spent away counts as allowed.
 */
export function usedShare(cell: Cell, { acceptedCount }: Outcome): number {
  const leftCount = LIMIT - (cell.secondClient?.count ?? 0);
  return acceptedCount / (leftCount * cell.minutes);
}

/** Refusals an hour. */
export function refusalsPerHour(cell: Cell, { refusedCount }: Outcome): number {
  return (refusedCount * 3_600_000) / (cell.minutes * WINDOW_MS);
}

/**
 * What a cell must show: the least share used, the most refusals an hour. When the clock was set while
 * the process was away, the calls it made before look like a second client's, so that bound applies.
 */
export function bounds({ secondClient, clockStep }: Cell): { leastShare: number; mostRefusals: number } {
  const undisturbed = secondClient === null && !clockStep;
  return undisturbed ? { leastShare: 0.99, mostRefusals: 0 } : { leastShare: 0.95, mostRefusals: 6 };
}

/** Whether the outcome keeps the cell's bounds. */
export function keepsBounds(cell: Cell, outcome: Outcome): boolean {
  const { leastShare, mostRefusals } = bounds(cell);
  return usedShare(cell, outcome) >= leastShare && refusalsPerHour(cell, outcome) <= mostRefusals;
}

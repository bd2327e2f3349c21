/** The cells of the bench, and the bounds our governor keeps in each. */
import { COUNTING_RULES, EXPIRE_SKEWS, type RuleName, type SkewName } from "./service.ts";
import {
  LIMIT,
  STEADY_MINUTES,
  WINDOW_MS,
  type Cell,
  type Failing,
  type Outcome,
  type SecondClient,
} from "./world.ts";

/** What a cell must show. */
export type Bounds = {
  /** The least share of the allowed calls, of the whole time. */
  leastShare: number;
  /** The least share from the first complete clock minute on. */
  leastShareSinceMinute?: number;
  /** The most refusals an hour, over the whole time. */
  mostRefusals?: number;
  /** The most refusals an hour in the steady state. */
  mostSteadyRefusals: number;
  longestPauseMs?: number;
  /** The least that the poorer of two collectors has of what the richer one has. */
  leastFairness?: number;
};

/** Who is about in the simulated hour, and what the service is like. */
export type Scenario = Omit<Cell, "rule" | "skew" | "clockOffMs" | "minutes"> & {
  name: string;
  bounds: Bounds;
  /** Under how many of the counting rules it runs with one seed; all five have come after five seeds. Default: all. */
  ruleCount?: number;
};

const ALONE: Omit<Scenario, "name" | "bounds"> = {
  limit: LIMIT,
  laterLimits: [],
  headers: true,
  disguise: "fault",
  retryAfter: false,
  penalty: false,
  secondClient: null,
  collectorCount: 1,
  restartCount: 0,
  failing: null,
  remembers: "calls",
  clockStep: false,
};

const UNDISTURBED: Bounds = { leastShare: 0.99, mostRefusals: 0, mostSteadyRefusals: 0 };
const BESIDE: Bounds = { leastShare: 0.95, mostRefusals: 6, mostSteadyRefusals: 6 };

/** Beside a second client whose bursts have us refused by closed connections: they name no count, so it is learnt later. */
const BESIDE_CLOSED: Bounds = { ...BESIDE, mostRefusals: 7 };

/** Beside a second client on a service that fails now and then: what fills the window is known later. */
const BESIDE_AND_UNWELL: Bounds = { leastShare: 0.9, mostRefusals: 10, mostSteadyRefusals: 10 };

/** On a service that fails now and then: of what its failures leave. */
const UNWELL: Bounds = { leastShare: 0.95, mostRefusals: 0, mostSteadyRefusals: 0 };

/** The same without headers: failures may be refusals until it shows that they are not, by chance soon or late. */
const UNWELL_UNTOLD: Record<Failing["manner"], Bounds> = {
  scattered: { ...UNWELL, leastShare: 0.85 },
  clustered: { ...UNWELL, leastShare: 0.7 },
};

/** Shown only: nothing is promised. */
const UNBOUNDED: Bounds = { leastShare: 0, mostSteadyRefusals: Infinity };

/** Without headers a changed limit is learnt by being refused. */
const LEARNING: Bounds = { leastShare: 0.85, mostSteadyRefusals: 6 };

/** The same where refusals are in disguise. */
const LEARNING_DISGUISED: Bounds = { ...LEARNING, leastShare: 0.89, mostRefusals: 16 };

const FALLS = { laterLimits: [{ fromMinute: 10, limit: 40 }] };
const FALLS_AND_RISES = {
  laterLimits: [
    { fromMinute: 10, limit: 40 },
    { fromMinute: 35, limit: LIMIT },
  ],
};

const MANNERS = { even: "evenly", burst: "at once" } as const;

const SECOND_CLIENTS: readonly SecondClient[] = [
  { count: 10, manner: "even" },
  { count: 10, manner: "burst" },
  { count: 30, manner: "even" },
  { count: 30, manner: "burst" },
  { count: 50, manner: "burst" },
];

/** The scenarios, in the order they are shown. */
export const SCENARIOS: readonly Scenario[] = [
  {
    ...ALONE,
    name: "alone",
    bounds: { ...UNDISTURBED, leastShareSinceMinute: 0.99, longestPauseMs: 5_000 },
  },
  {
    ...{ ...ALONE, name: "alone, no headers", headers: false },
    bounds: { ...UNDISTURBED, leastShareSinceMinute: 0.99, longestPauseMs: 5_000 },
  },
  { ...ALONE, name: "12 restarts", restartCount: 12, bounds: { ...UNDISTURBED, leastShare: 0.98 } },
  {
    ...{ ...ALONE, name: "3 restarts, journal alone", restartCount: 3, remembers: "answers" },
    bounds: UNDISTURBED,
  },
  {
    ...{ ...ALONE, name: "3 restarts, journal alone, clock set by 60 s", restartCount: 3 },
    ...{ remembers: "answers", clockStep: true, bounds: BESIDE },
  },
  ...SECOND_CLIENTS.map((secondClient) => ({
    ...{ ...ALONE, secondClient },
    bounds: BESIDE,
    name: `second client, ${secondClient.count} ${MANNERS[secondClient.manner]}`,
  })),
  ...(["fault", "503", "closed"] as const).flatMap((disguise) =>
    [true, false].map((headers) => ({
      ...{ ...ALONE, ...FALLS, headers, disguise },
      name: `limit falls to 40, ${disguise}${headers ? "" : ", no headers"}`,
      bounds: headers
        ? { ...LEARNING, leastShare: 0.95 }
        : disguise === "fault"
          ? LEARNING
          : LEARNING_DISGUISED,
    })),
  ),
  ...(["503", "closed"] as const).map((disguise) => ({
    ...{ ...ALONE, disguise, secondClient: { count: 30, manner: "burst" as const } },
    name: `second client, 30 at once, ${disguise}`,
    bounds: disguise === "503" ? BESIDE : BESIDE_CLOSED,
  })),
  ...([0.001, 0.01] as const).flatMap((share) => {
    const failing: Failing = { share, manner: "scattered", how: "closed", counted: true };
    return [
      {
        ...{ ...ALONE, failing, name: `${100 * share} % of the answers lost` },
        bounds: { leastShare: 0.95, mostSteadyRefusals: 0 },
      },
      ...SECOND_CLIENTS.filter(({ count }) => count === 30).map((secondClient) => ({
        ...{ ...ALONE, failing, secondClient },
        name: `second client, 30 ${MANNERS[secondClient.manner]}, ${100 * share} % of the answers lost`,
        bounds: BESIDE,
      })),
    ];
  }),
  ...([0.02, 0.05, 0.1, 0.2] as const).flatMap((share) =>
    (["scattered", "clustered"] as const).flatMap((manner) => {
      const failing: Failing = { share, manner, how: "either", counted: true };
      const name = `${100 * share} % fail, ${manner}`;
      return [
        { ...ALONE, failing, name, bounds: UNWELL },
        {
          ...{ ...ALONE, failing, headers: "every other" as const, name: `${name}, every other header` },
          bounds: { ...UNWELL, leastShare: 0.93 },
        },
        {
          ...{ ...ALONE, failing, headers: false, name: `${name}, no headers` },
          bounds: UNWELL_UNTOLD[manner],
        },
        ...SECOND_CLIENTS.map((secondClient) => ({
          ...{ ...ALONE, failing, secondClient, bounds: BESIDE_AND_UNWELL, ruleCount: 2 },
          name: `second client, ${secondClient.count} ${MANNERS[secondClient.manner]}, ${name}`,
        })),
      ];
    }),
  ),
  ...([0.1, 0.15] as const).map((share) => ({
    ...{ ...ALONE, name: `${100 * share} % are answered 500, with headers`, bounds: UNWELL },
    failing: { share, manner: "scattered", how: "server_error", counted: true, told: true } as const,
  })),
  ...(["fault", "503"] as const).map((disguise) => ({
    ...{ ...ALONE, disguise, headers: false, secondClient: { count: 30, manner: "burst" as const } },
    name: `second client, 30 at once, ${disguise}, no headers`,
    bounds: UNBOUNDED,
  })),
  {
    ...{ ...ALONE, ...FALLS, name: "limit falls to 40, 503, no headers, Retry-After", headers: false },
    ...{ disguise: "503", retryAfter: true, bounds: LEARNING_DISGUISED },
  },
  {
    ...{ ...ALONE, ...FALLS_AND_RISES, name: "limit falls to 40 and rises to 60" },
    bounds: { leastShare: 0.95, mostRefusals: 6, mostSteadyRefusals: 6 },
  },
  {
    ...{ ...ALONE, ...FALLS_AND_RISES, name: "limit falls to 40 and rises to 60, no headers" },
    ...{ headers: false, bounds: { ...LEARNING, leastShare: 0.75 } },
  },
  {
    ...{ ...ALONE, laterLimits: [{ fromMinute: 20, limit: 90 }], name: "limit rises to 90, not set" },
    bounds: { ...UNDISTURBED, leastShare: 0.97 },
  },
  {
    ...{ ...ALONE, ...FALLS, penalty: true, name: "limit falls to 40, penalty" },
    bounds: { ...LEARNING, mostRefusals: 6 },
  },
  {
    ...{ ...ALONE, ...FALLS, penalty: true, headers: false, name: "limit falls to 40, penalty, no headers" },
    bounds: { ...LEARNING, leastShare: 0.7 },
  },
  ...(["fault", "503"] as const).map((disguise) => ({
    ...{ ...ALONE, disguise, headers: false, collectorCount: 2 as const },
    name: `two collectors, no headers, ${disguise}`,
    bounds: disguise === "fault" ? { ...LEARNING, leastFairness: 0.5 } : UNBOUNDED,
  })),
  {
    ...{ ...ALONE, collectorCount: 2, name: "two collectors, with headers" },
    bounds: LEARNING,
  },
];

/** What the machine's clock shows too much, ms. */
const CLOCKS_OFF_MS = [0, 60_000, -60_000];

/** A cell with its scenario. */
export type NamedCell = Cell & { scenario: string; bounds: Bounds };

/**
 * Every scenario under every rule, or under as many as it asks for: others with the next seed. What `Expire` says and the machine's clock matter after a refusal only: they change
 * from cell to cell and from seed to seed, so that each meets each.
 */
export function cellsOf(seed: number, minutes: number): NamedCell[] {
  const rules = Object.keys(COUNTING_RULES) as RuleName[];
  const skews = Object.keys(EXPIRE_SKEWS) as SkewName[];
  return SCENARIOS.flatMap(({ name, ruleCount = rules.length, ...scenario }, row) =>
    rules.flatMap((rule, column) => {
      if ((row + column + seed) % rules.length >= ruleCount) return [];
      const turn = seed - 1 + row + column;
      const skew = skews[turn % skews.length] ?? "0";
      const clockOffMs = CLOCKS_OFF_MS[Math.floor(turn / skews.length) % CLOCKS_OFF_MS.length] ?? 0;
      // Whether the service counts a call that fails is not known either.
      const counted = turn % 2 === 0;
      const failing = scenario.failing && { ...scenario.failing, counted };
      return { ...scenario, failing, scenario: name, rule, skew, clockOffMs, minutes };
    }),
  );
}

/** The cells for a sender that reads neither headers nor the wall clock, and keeps no limit but 60. */
export function peerCells(seed: number, minutes: number): NamedCell[] {
  const shown = /^(alone|3 restarts|second client, \d+ (evenly|at once))$/;
  return cellsOf(seed, minutes).filter(({ scenario }) => shown.test(scenario));
}

/** The share of the allowed calls that was used; time spent away counts as allowed. */
export function usedShare({ acceptedCount, allowedCount }: Outcome): number {
  return acceptedCount / allowedCount;
}

/** The share used from the first complete clock minute on. */
export function usedShareSinceMinute(outcome: Outcome): number {
  return outcome.acceptedSinceMinuteCount / outcome.allowedSinceMinuteCount;
}

/** Refusals an hour. */
export function refusalsPerHour(cell: Cell, { refusedCount }: Outcome): number {
  return (refusedCount * 3_600_000) / (cell.minutes * WINDOW_MS);
}

/** Refusals an hour in the steady state. */
export function steadyRefusalsPerHour({ steadyRefusedCount }: Outcome): number {
  return (steadyRefusedCount * 3_600_000) / (STEADY_MINUTES * WINDOW_MS);
}

/** What the poorer of our collectors has of what the richer one has; 1 when there is one. */
export function fairness({ acceptedOf }: Outcome): number {
  return Math.min(...acceptedOf) / Math.max(...acceptedOf);
}

/** Whether the outcome keeps the cell's bounds. */
export function keepsBounds(cell: NamedCell, outcome: Outcome): boolean {
  const { bounds } = cell;
  return (
    usedShare(outcome) >= bounds.leastShare &&
    usedShareSinceMinute(outcome) >= (bounds.leastShareSinceMinute ?? 0) &&
    refusalsPerHour(cell, outcome) <= (bounds.mostRefusals ?? Infinity) &&
    steadyRefusalsPerHour(outcome) <= bounds.mostSteadyRefusals &&
    outcome.longestPauseMs <= (bounds.longestPauseMs ?? Infinity) &&
    fairness(outcome) >= (bounds.leastFairness ?? 0)
  );
}

/**
 * A governor's state on its way from one collector to the next: as plain JSON, with times as they were before it was
 * written, since two machines' clocks have nothing in common. What the writer may have sent since, the heir reckons as
 * sent.
 */
import { z } from "zod";
import { admission, createGovernor, step } from "./governor.ts";
import type { CallHistory, GovernorConfig } from "./state.ts";
import type { FinishedCall, GovernorState, SecondClientSample } from "./state.ts";
import { KNOCK_COUNT, WARY_WINDOWS } from "./unsure.ts";

/** Changes when a state of before can no longer be read. */
const VERSION = 1;

/** Assumed: a holder goes on as one that is sure for 4 s after it has last told of itself, then as one that is not. */
const SURE_MS = 4_000;

/** What a holder did longer ago than this has left every count. */
const REPLAYED_WINDOWS = 5;

/** Most calls that are reckoned one by one: each costs as much as there are before it. */
const REPLAYED_COUNT = 1_000;

/**
 * What a governor leaves to whoever calls the account next. Instants are whole ms before it was written, below 0. Where the
 * service has further hosts, the base host's governor has theirs in `hosts`, by name.
 */
export type HandedOver = Readonly<Record<string, unknown>> & { readonly version: typeof VERSION };

export type Inheritance = {
  /** As `handOver` gave it, or whatever else was found. */
  readonly handed: unknown;
  /** How long ago it was written, at most, ms. */
  readonly agoMs: number;
  /** Whether nobody has sent since but what `history` tells of; else the writer may be sending still. */
  readonly released: boolean;
  /** What is known besides: calls sent since it was written count as well. */
  readonly history?: CallHistory | undefined;
};

/** What is left of a state whose own config and caution stay behind. */
type HandoverState = Omit<GovernorState, "config" | "finished" | "unsure" | "quietSinceMs" | "knockCount"> & {
  /** Pairs of when a call was sent and when it was answered. */
  finishedAtMs: [number, number][];
};

/** The state as it is left to the next one; at its latest instant, see `step` with a `tick`. */
export function handOver(state: GovernorState): HandedOver {
  const { config, finished, unsure: _, quietSinceMs: __, knockCount: ___, samples, ...rest } = state;
  const counted = finished.filter(({ answeredAtMs }) => answeredAtMs > state.nowMs - 2 * config.windowMs);
  const left: HandoverState = {
    ...rest,
    finishedAtMs: counted.map(({ sentAtMs, answeredAtMs }) => [sentAtMs, answeredAtMs]),
    samples: telling(samples, state),
  };
  return { version: VERSION, ...(moved(left, -state.nowMs) as HandoverState) };
}

/** What is left of a further host's governor; null: nothing, as of a collector that knew no further hosts. */
export function handedFor(host: string, handed: unknown): unknown {
  return ofHosts.safeParse(handed).data?.hosts[host] ?? null;
}

/** The state of a collector that calls the account from `nowMs` on. */
export function inherit(config: GovernorConfig, inheritance: Inheritance, nowMs: number): GovernorState {
  const { handed, released, history } = inheritance;
  const agoMs = Math.max(0, inheritance.agoMs);
  const read = written.safeParse(handed);
  const left = read.success
    ? restored(config, read.data, nowMs - agoMs)
    : full(createGovernor(config, nowMs), nowMs);
  const ended = { ...left, inFlightSentAtMs: [] };
  const heir = released ? ended : wary(replayed(ended, nowMs), nowMs);
  const own = createGovernor(config, nowMs, history && sentSince(history, agoMs));
  const finished = [
    ...heir.finished,
    ...own.finished,
    ...left.inFlightSentAtMs.map(() => unknownCall(config, nowMs)),
  ].sort((a, b) => a.answeredAtMs - b.answeredAtMs);
  const { phase, closedUntilMs } = own.closedUntilMs > Math.max(nowMs, heir.closedUntilMs) ? own : heir;
  return { ...heir, nowMs, finished, phase, closedUntilMs, unsure: null };
}

/** The state of one who knocks first, and takes what it reckons with for what it is. */
function wary(state: GovernorState, nowMs: number): GovernorState {
  const { limit, windowMs } = state.config;
  return { ...state, knockCount: Math.min(KNOCK_COUNT, limit), waryUntilMs: nowMs + WARY_WINDOWS * windowMs };
}

/** The worst that the writer can have sent until `nowMs`: all that it was let, as early as it was. */
function replayed(left: GovernorState, nowMs: number): GovernorState {
  const { config } = left;
  const unsureAtMs = left.nowMs + SURE_MS;
  let state = step(left, { type: "tick" }, nowMs - REPLAYED_WINDOWS * config.windowMs);
  let count = 0;
  for (let atMs = state.nowMs; atMs <= nowMs;) {
    if (atMs >= unsureAtMs) state = step(state, { type: "unsure", on: true, mayCall: true }, atMs);
    const allowed = admission(state, atMs);
    if (allowed.maySend) {
      if ((count += 1) > REPLAYED_COUNT) return full(state, nowMs);
      const { sentAtMs } = unknownCall(config, atMs);
      state = step(step(state, { type: "sent" }, atMs), { type: "failed", sentAtMs, how: "other" }, atMs);
    } else atMs = atMs < unsureAtMs ? Math.min(unsureAtMs, allowed.notBeforeMs) : allowed.notBeforeMs;
  }
  return state;
}

/** A call that may have been made: sent so long ago that no count of the service's is expected to show it. */
function unknownCall({ windowMs }: GovernorConfig, answeredAtMs: number): FinishedCall {
  return { sentAtMs: answeredAtMs - 2 * windowMs, answeredAtMs };
}

/** The limit as if it were used up just now. */
function full(state: GovernorState, nowMs: number): GovernorState {
  const finished = Array.from({ length: state.config.limit }, () => unknownCall(state.config, nowMs));
  return { ...state, nowMs, finished };
}

function sentSince({ calls, ...history }: CallHistory, agoMs: number): CallHistory {
  return { ...history, calls: calls.filter(({ sentAgoMs }) => sentAgoMs <= agoMs) };
}

const finite = z.number();
const finiteOrNull = finite.nullable();
const finished = { sentAtMs: finite, answeredAtMs: finite };

const ofHosts = z.object({ hosts: z.record(z.string(), z.unknown()) });

/** What others have written in the database is looked at before calls are made by it. */
const written = z.object({
  version: z.literal(VERSION),
  phase: z.enum(["probing", "open", "closed"]),
  nowMs: finite,
  startedAtMs: finite,
  continued: z.boolean(),
  limit: finite.min(1),
  seesCount: z.boolean(),
  backOff: z
    .object({
      capCount: finite,
      stepCount: finite,
      tookStep: z.boolean(),
      changedAtMs: finite,
      patienceWindows: finite,
    })
    .nullable(),
  failures: z.object({
    // Absent from what an earlier version has left.
    runsAtMs: z.array(finite).default([]),
    refutedAtMs: finiteOrNull.default(null),
    signsAtMs: z.array(finite).default([]),
    failedAtMs: z.array(finite),
    runCount: finite,
    countedAtMs: finite,
    closedCount: finite,
    cutAtMs: z.array(finite),
    unwellAtMs: finiteOrNull,
  }),
  inFlightSentAtMs: z.array(finite),
  finishedAtMs: z.array(z.tuple([finite, finite])),
  burstCount: finite,
  burstAtMs: finite,
  lastReading: z.object({ ...finished, usedCount: finite }).nullable(),
  samples: z.array(
    z.object({
      atMs: finite,
      spanMs: finite,
      appearedCount: finite,
      provedCount: finite,
      windowCount: finite,
      mostCount: finite,
      atOnceCount: finite,
      holdsUntilMs: finite,
    }),
  ),
  forgotAtMs: finiteOrNull,
  resetAtMs: finiteOrNull,
  closedUntilMs: finite,
  closedBy: z.enum(["refusal", "retry_after", "failures"]),
  faultAtMs: finiteOrNull,
  faultCount: finite,
  refusedSentAtMs: z.array(finite),
  stillUntilMs: finite,
  waryUntilMs: finite,
}) satisfies z.ZodType<HandoverState & { version: typeof VERSION }>;

function restored(config: GovernorConfig, handed: HandoverState, writtenAtMs: number): GovernorState {
  const { finishedAtMs, ...left } = moved(handed, writtenAtMs) as HandoverState;
  const finished = finishedAtMs.map(([sentAtMs, answeredAtMs]) => ({ sentAtMs, answeredAtMs }));
  return { ...left, config, finished, unsure: null, quietSinceMs: null, knockCount: 0 };
}

/** What tells as much as all of them: what appeared within the last window, the most of each one, and the last. */
function telling(
  samples: readonly SecondClientSample[],
  { nowMs, config }: GovernorState,
): SecondClientSample[] {
  const most = new Map<number, SecondClientSample>();
  for (const sample of samples) {
    const age = Math.floor((nowMs - sample.atMs) / config.windowMs);
    if (sample.windowCount >= (most.get(age)?.windowCount ?? 0)) most.set(age, sample);
  }
  const told = new Set(most.values());
  return samples.filter(
    (sample) =>
      told.has(sample) ||
      sample === samples.at(-1) ||
      (sample.appearedCount > 0 && sample.atMs > nowMs - config.windowMs),
  );
}

/** The value with all instants in it, known by their names, `byMs` later, in whole ms. */
function moved(value: unknown, byMs: number, isInstant = false): unknown {
  if (typeof value === "number") return isInstant ? Math.ceil(value + byMs) + 0 : value;
  if (Array.isArray(value)) return value.map((each) => moved(each, byMs, isInstant));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, moved(each, byMs, /(at|now|until)Ms$/i.test(name))]),
  );
}

/** Counts what happens while it happens. Everything else is looked up when somebody asks for the metrics. */
import { Counter, Gauge, Histogram, type Metric } from "prom-client";
import { CLOCK_STEP_KINDS, type ClockStep, MISS_REASONS, type MissReason } from "../../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../../journal/record.ts";
import { CALL_OUTCOMES, LATENESS_BUCKETS, labelNames, METRICS } from "./definitions.ts";

type CallOutcome = (typeof CALL_OUTCOMES)[number];

export type Meter = {
  /** A call of an account ended. `latenessMs`: since its slot began, null when it was for none; `at`: now. */
  called: (outcome: CallOutcome, call: { latenessMs: number | null; at: Date; account?: string }) => void;
  /** Instruments were due in the share of an account, and are missed. */
  missed: (reason: MissReason, count: number, account?: string) => void;
  /** The machine's clock was moved, it slept, or the program could not run. */
  clockStepped: (step: ClockStep) => void;
  /** For the registry: with the series of these accounts, at nought where nothing has happened yet, and of no others. */
  metrics: (accounts: readonly string[]) => readonly Metric[];
};

/** A meter at nought: every outcome and reason of an account is there from its beginning, so that its first increase is seen. */
export function createMeter(): Meter {
  const of = (name: Parameters<typeof labelNames>[0]) => ({
    name,
    help: METRICS[name].help,
    labelNames: labelNames(name),
    registers: [],
  });
  const calls = new Counter(of("quotekeeper_calls_total"));
  const misses = new Counter(of("quotekeeper_misses_total"));
  const lateness = new Histogram({ ...of("quotekeeper_slot_lateness_seconds"), buckets: LATENESS_BUCKETS });
  const lastQuotes = new Gauge(of("quotekeeper_last_quotes_timestamp_seconds"));
  const clockSteps = new Counter(of("quotekeeper_clock_steps_total"));
  const clockStep = new Gauge(of("quotekeeper_clock_step_seconds"));
  const met = new Set<string>();
  const meet = (account: string): void => {
    if (met.has(account)) return;
    met.add(account);
    for (const outcome of CALL_OUTCOMES) calls.inc({ account, outcome }, 0);
    for (const reason of MISS_REASONS) misses.inc({ account, reason }, 0);
    lateness.zero({ account });
  };
  const forget = (account: string): void => {
    met.delete(account);
    for (const outcome of CALL_OUTCOMES) calls.remove({ account, outcome });
    for (const reason of MISS_REASONS) misses.remove({ account, reason });
    lateness.remove({ account });
    lastQuotes.remove({ account });
  };
  clockStep.remove();
  for (const kind of CLOCK_STEP_KINDS) clockSteps.inc({ kind }, 0);
  return {
    called: (outcome, { latenessMs, at, account = DEFAULT_ACCOUNT }) => {
      meet(account);
      calls.inc({ account, outcome });
      if (outcome === "no_answer" || outcome === "not_kept") return;
      if (latenessMs !== null) lateness.observe({ account }, Math.max(0, latenessMs) / 1_000);
      if (outcome === "quotes") lastQuotes.set({ account }, at.getTime() / 1_000);
    },
    missed: (reason, count, account = DEFAULT_ACCOUNT) => {
      meet(account);
      misses.inc({ account, reason }, count);
    },
    clockStepped: ({ kind, stepMs }) => {
      clockSteps.inc({ kind });
      if (kind === "set_back" || kind === "set_forward") clockStep.set(stepMs / 1_000);
    },
    metrics: (accounts) => {
      // What comes late of an account that is gone is met once more, and forgotten at the next look.
      for (const account of met) if (!accounts.includes(account)) forget(account);
      accounts.forEach(meet);
      return [calls, misses, lateness, lastQuotes, clockSteps, clockStep];
    },
  };
}

/** Counts what happens while it happens. Everything else is looked up when somebody asks for the metrics. */
import { Counter, Gauge, Histogram, type Metric } from "prom-client";
import { CLOCK_STEP_KINDS, type ClockStep, MISS_REASONS, type MissReason } from "../../journal/ledger.ts";
import { CALL_OUTCOMES, LATENESS_BUCKETS, labelNames, METRICS } from "./definitions.ts";

/** What a call came to. */
type CallOutcome = (typeof CALL_OUTCOMES)[number];

/** Told by the collection. */
export type Meter = {
  /** A call ended. @param latenessMs since its slot began, null when it was for none; @param at now */
  called: (outcome: CallOutcome, latenessMs: number | null, at: Date) => void;
  /** Instruments were due and are missed. */
  missed: (reason: MissReason, count: number) => void;
  /** The machine's clock was moved, it slept, or the program could not run. */
  clockStepped: (step: ClockStep) => void;
  /** For the registry. */
  metrics: readonly Metric[];
};

/** A meter at nought: every outcome and reason is there from the beginning, so that its first increase is seen. */
export function createMeter(): Meter {
  const of = (name: Parameters<typeof labelNames>[0]) => ({
    ...{ name, help: METRICS[name].help, labelNames: labelNames(name), registers: [] },
  });
  const calls = new Counter(of("quotekeeper_calls_total"));
  const misses = new Counter(of("quotekeeper_misses_total"));
  const lateness = new Histogram({ ...of("quotekeeper_slot_lateness_seconds"), buckets: LATENESS_BUCKETS });
  const lastQuotes = new Gauge(of("quotekeeper_last_quotes_timestamp_seconds"));
  const clockSteps = new Counter(of("quotekeeper_clock_steps_total"));
  const clockStep = new Gauge(of("quotekeeper_clock_step_seconds"));
  lastQuotes.remove();
  clockStep.remove();
  for (const outcome of CALL_OUTCOMES) calls.inc({ outcome }, 0);
  for (const reason of MISS_REASONS) misses.inc({ reason }, 0);
  for (const kind of CLOCK_STEP_KINDS) clockSteps.inc({ kind }, 0);
  return {
    called: (outcome, latenessMs, at) => {
      calls.inc({ outcome });
      if (outcome === "no_answer" || outcome === "not_kept") return;
      if (latenessMs !== null) lateness.observe(Math.max(0, latenessMs) / 1_000);
      if (outcome === "quotes") lastQuotes.set(at.getTime() / 1_000);
    },
    missed: (reason, count) => misses.inc({ reason }, count),
    clockStepped: ({ kind, stepMs }) => {
      clockSteps.inc({ kind });
      if (kind === "set_back" || kind === "set_forward") clockStep.set(stepMs / 1_000);
    },
    metrics: [calls, misses, lateness, lastQuotes, clockSteps, clockStep],
  };
}

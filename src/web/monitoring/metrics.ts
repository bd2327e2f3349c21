/** The text of `/metrics`, in Prometheus' format: what the meter counted, and what is so at the moment. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import type { LoadReport } from "../../archive/load/batch.ts";
import { atMost, type Clock, dateOf, type Instant } from "../../ground/clock.ts";
import { rememberAnswers } from "../api/rememberAnswers.ts";
import type { Live, StatusView } from "../api/types.ts";
import { COUNTED_TABLES, labelNames, METRICS, type MetricName } from "./definitions.ts";
import type { Meter } from "./meter.ts";
import type { Machines, Readiness } from "./machineRoutes.ts";

/** Where the values come from. Whatever rejects, or is null, leaves its metrics out: absent is not 0. */
export type MetricSources = {
  version: string;
  simulated: boolean;
  clock: Clock;
  ready: () => Promise<Readiness>;
  marketOpen: (now: Date) => boolean;
  journal: () => Promise<{ bytes: number; segments: number } | null>;
  /** What the database has not taken of the journal. */
  lag: () => Promise<{ bytes: number; oldestAt: Instant | null } | null>;
  /** What `quotekeeper status` finds; it writes a probe to the disk, so it is asked once a minute. */
  status: () => Promise<StatusView>;
  /** Null where this process collects nothing, or not yet. */
  collecting: () => ScrapeSources | null;
};

type ScrapeSources = {
  live: Live;
  loaded: LoadReport;
  nextPollAt: Date | null;
  journalFailing: boolean;
  /** This collector among others; null where it was started without. */
  fleet: LiveFleet | null;
  /** Where the last exchange date ends that the lake has; null: there is none. */
  lakeThrough: Date | null;
  meter: Meter;
};

/** What a collector knows of itself and the others, as of its last look. */
export type LiveFleet = {
  /** The accounts that the files name. */
  accounts: {
    name: string;
    held: boolean;
    /** Null: another collector holds it, or the database has not answered its claim. */
    fence: number | null;
    caller: string | null;
    /** For how long nobody has called it, in ms; null: a collector calls it. */
    uncalledMs: number | null;
  }[];
  unsure: boolean;
  /** `gone`: not seen for a minute. */
  collectors: { running: number; stopped: number; gone: number };
  differing: number;
  /** Accounts that this process has taken from one that was not heard of. */
  takeOvers: number;
  /** Since the database confirmed the leases; null: it never has. */
  confirmedAgoMs: number | null;
  /** How far this machine's clock is ahead of the database's. */
  clockOffsetMs: number;
};

const STATUS_EVERY_MS = 60_000;

/** Whatever takes longer is left out this time: a scrape waits ten seconds, and a database that is away may take more. */
const SOURCE_MS = 3_000;

/** With Node's own metrics (`process_*`, `nodejs_*`) among them. */
export function createMetrics(sources: MetricSources): Machines["metrics"] {
  const ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  const remember = rememberAnswers(sources.clock, STATUS_EVERY_MS);

  const orNull = async <T>(work: Promise<T | null>): Promise<T | null> => {
    let found: T | null = null;
    const settled = work.then(
      (value) => void (found = value),
      () => undefined,
    );
    await atMost(SOURCE_MS, settled, sources.clock);
    return found;
  };

  const statusNow = (): Promise<StatusView | null> => remember("", () => sources.status().catch(() => null));

  return {
    contentType: ofProcess.contentType,
    text: async () => {
      const registry = new Registry();
      const values = valuesIn(registry);
      const [journal, lag, ready, view] = await Promise.all([
        orNull(sources.journal()),
        orNull(sources.lag()),
        sources.ready(),
        orNull(statusNow()),
      ]);
      const now = sources.clock.now();
      addArchive(values, sources, { journal, lag, ready, view, now });
      const collecting = sources.collecting();
      if (view && !collecting) addCollectors(values, view);
      if (collecting) {
        const names = collecting.live.accounts.map(({ name }) => name);
        for (const metric of collecting.meter.metrics(names)) registry.registerMetric(metric);
        addCollecting(values, collecting);
      }
      return Registry.merge([registry, ofProcess]).metrics();
    },
  };
}

type Values = (name: MetricName, value: number, labels?: Record<string, string>) => void;

/** Makes a metric at its first value. */
function valuesIn(registry: Registry): Values {
  const made = new Map<MetricName, (labels: Record<string, string>, value: number) => void>();
  return (name, value, labels = {}) => {
    let set = made.get(name);
    if (!set) {
      const { help, kind } = METRICS[name];
      const options = { name, help, labelNames: labelNames(name), registers: [registry] };
      if (kind === "counter") {
        const counter = new Counter(options);
        set = (its, n) => counter.inc(its, n);
      } else {
        const gauge = new Gauge(options);
        set = (its, n) => gauge.set(its, n);
      }
      made.set(name, set);
    }
    set(labels, value);
  };
}

/** What was looked up; null: it could not be found out in time. */
type ScrapeFacts = {
  journal: Awaited<ReturnType<MetricSources["journal"]>>;
  lag: Awaited<ReturnType<MetricSources["lag"]>>;
  ready: Readiness;
  view: StatusView | null;
  now: Date;
};

function addArchive(
  add: Values,
  { version, simulated, marketOpen }: MetricSources,
  found: ScrapeFacts,
): void {
  const { journal, lag, ready, view, now } = found;
  add("quotekeeper_info", 1, { version, feed: simulated ? "simulated" : "account" });
  add("quotekeeper_market_open", marketOpen(now) ? 1 : 0);
  add("quotekeeper_ready", ready.ready ? 1 : 0);
  add("quotekeeper_database_up", ready.checks["database"] === "ok" ? 1 : 0);
  if (journal) {
    add("quotekeeper_journal_bytes", journal.bytes);
    add("quotekeeper_journal_segments", journal.segments);
  }
  if (lag) {
    const ageMs = lag.oldestAt === null ? 0 : now.getTime() - dateOf(lag.oldestAt).getTime();
    add("quotekeeper_journal_lag_bytes", lag.bytes);
    add("quotekeeper_journal_lag_seconds", Math.max(0, ageMs) / 1_000);
  }
  for (const { account, until, needed } of view?.logins ?? []) {
    const leftMs = until === null ? 0 : Date.parse(until) - now.getTime();
    add("quotekeeper_login_ends_seconds", Math.max(0, leftMs) / 1_000, { account });
    add("quotekeeper_login_needed", needed ? 1 : 0, { account });
  }
  for (const { account, stuck } of view?.quotes ?? [])
    add("quotekeeper_quotes_stuck", stuck ? 1 : 0, { account });
  for (const { subject, state } of view?.lines ?? [])
    add("quotekeeper_status_ok", state === "attention" ? 0 : 1, { subject });
}

/** For a process that does not collect: one that does knows it better. */
function addCollectors(add: Values, { collector, nextPollAt, lastQuotesAt }: StatusView): void {
  const { running, stopped, gone } = collector;
  if (collector.state !== "unknown")
    for (const [state, count] of Object.entries({ running, stopped, gone }))
      add("quotekeeper_collectors", count, { state });
  if (nextPollAt) add("quotekeeper_next_poll_timestamp_seconds", Date.parse(nextPollAt) / 1_000);
  for (const [account, at] of Object.entries(lastQuotesAt))
    add("quotekeeper_last_quotes_timestamp_seconds", Date.parse(at) / 1_000, { account });
}

function addCollecting(add: Values, collecting: ScrapeSources): void {
  const { live, loaded, nextPollAt, journalFailing, fleet, lakeThrough } = collecting;
  for (const { name: account, state, callsUsed, limit, secondClient, queued, phase } of live.accounts) {
    const own = { account };
    add("quotekeeper_calls_limit", limit, own);
    add("quotekeeper_calls_used", callsUsed, own);
    add("quotekeeper_calls_second_client", secondClient, own);
    add("quotekeeper_calls_left", Math.max(0, limit - callsUsed - secondClient), own);
    add("quotekeeper_calls_queued", queued, own);
    add("quotekeeper_budget_closed", phase === "closed" ? 1 : 0, own);
    add("quotekeeper_account_refused", state === "refused" ? 1 : 0, own);
    add("quotekeeper_account_drained", state === "drained" ? 1 : 0, own);
  }
  if (fleet) addFleet(add, fleet);
  if (lakeThrough) add("quotekeeper_lake_through_timestamp_seconds", lakeThrough.getTime() / 1_000);
  add("quotekeeper_instruments_unknown", live.unknown.length);
  add("quotekeeper_journal_failing", journalFailing ? 1 : 0);
  if (nextPollAt) add("quotekeeper_next_poll_timestamp_seconds", nextPollAt.getTime() / 1_000);
  for (const table of COUNTED_TABLES) add("quotekeeper_rows_total", loaded[table], { table });
  add("quotekeeper_rows_repeated_total", loaded.repeated);
  add("quotekeeper_dead_letters_total", loaded.deadLetters);
}

function addFleet(add: Values, fleet: LiveFleet): void {
  for (const { name: account, held, fence, uncalledMs } of fleet.accounts) {
    add("quotekeeper_account_uncalled_seconds", (uncalledMs ?? 0) / 1_000, { account });
    add("quotekeeper_lease_held", held ? 1 : 0, { account });
    if (fence !== null) add("quotekeeper_lease_fence", fence, { account });
  }
  for (const [state, count] of Object.entries(fleet.collectors))
    add("quotekeeper_collectors", count, { state });
  add("quotekeeper_collectors_differing", fleet.differing);
  add("quotekeeper_lease_unsure", fleet.unsure ? 1 : 0);
  if (fleet.confirmedAgoMs !== null) add("quotekeeper_lease_round_age_seconds", fleet.confirmedAgoMs / 1_000);
  add("quotekeeper_take_overs_total", fleet.takeOvers);
  add("quotekeeper_clock_offset_seconds", fleet.clockOffsetMs / 1_000);
}

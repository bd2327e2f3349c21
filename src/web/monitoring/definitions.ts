/** Every metric of `/metrics`: name, kind, labels and sentence. `docs/metrics.md` is generated from this table. */
import { CLOCK_STEP_KINDS, MISS_REASONS } from "../../journal/ledger.ts";
import { OUTCOMES } from "../../quotes/answer.ts";

/** Labels of a metric: the values each can have, or what they are where that is only known at run time. */
type Labels = Readonly<Record<string, readonly string[] | string>>;

type MetricDefinition = {
  kind: "counter" | "gauge" | "histogram";
  help: string;
  labels?: Labels;
  /** Whether it is there also where no collector runs in the same process (`web`). */
  always?: boolean;
};

/** What can come of a call besides the outcomes of its answer. */
const NO_ANSWER = ["no_answer", "not_kept"] as const;

export const CALL_OUTCOMES = [...OUTCOMES, ...NO_ANSWER] as const;

export const COUNTED_TABLES = ["responses", "quotes", "dividends", "slots"] as const;

/** Upper ends of the lateness' buckets, seconds: a slot is mostly a minute long. */
export const LATENESS_BUCKETS = [0.25, 0.5, 1, 2, 5, 10, 20, 30, 45, 60, 120, 300, 900, 3_600];

/** Whose a value is: the sum over it is that of all accounts. */
const ACCOUNT = { account: "the account's name, `default` where there is one without a name" } as const;

const ofAccount = (help: string) => ({ help, labels: ACCOUNT });

/** Metrics by name. A text alone is the sentence of one without labels. */
const table = {
  quotekeeper_info: {
    help: "Always 1. A simulated feed makes up its quotes.",
    labels: { version: "quotekeeper's version", feed: ["account", "simulated"] },
    always: true,
  },
  quotekeeper_calls_total: {
    help: "Calls by what came of them: the outcome of the answer, no_answer (the network, a deadline), or not_kept (the journal could not take it).",
    labels: { ...ACCOUNT, outcome: CALL_OUTCOMES },
  },
  quotekeeper_calls_limit: ofAccount(
    "Calls that one window allows: the limit in force, which the service may have changed.",
  ),
  quotekeeper_calls_used: ofAccount(
    "Our calls of the last window, which ends now. The service may count fewer: its own may have begun later.",
  ),
  quotekeeper_calls_second_client: ofAccount(
    "Calls in a window that other programs make on the same account, by the service's headers; the collector leaves them these calls.",
  ),
  quotekeeper_calls_left: ofAccount(
    "Calls of the window that are left: the limit minus our calls and those of other programs, never below 0.",
  ),
  quotekeeper_calls_queued: ofAccount("Calls that wait or are under way."),
  quotekeeper_budget_closed: ofAccount(
    "1 while nothing is sent because the service refused a call for its limit.",
  ),
  quotekeeper_account_refused: ofAccount("1 while the service does not accept the account's credentials."),
  quotekeeper_account_drained: ofAccount(
    "1 while the account makes no calls because the operator wants none.",
  ),
  quotekeeper_login_ends_seconds: {
    ...ofAccount(
      "For how long somebody is logged in to an account whose service wants a person's login; 0: nobody is. Looked up once a minute.",
    ),
    always: true,
  },
  quotekeeper_login_needed: {
    ...ofAccount(
      "1 while nobody is logged in to such an account, and its next poll is at most two hours away.",
    ),
    always: true,
  },
  quotekeeper_quotes_stuck: {
    ...ofAccount(
      "1 while the account's answers repeat old quotes: in the newest regular session nothing newer has come for 20 minutes; 0: something has. Absent while the account is not asked, or the database cannot be. Looked up once a minute.",
    ),
    always: true,
  },
  quotekeeper_lease_held: ofAccount(
    "1 while this collector calls the account, 0 while another one does, or none. The sum over all collectors is 1.",
  ),
  quotekeeper_lease_fence: ofAccount(
    "How often the account was taken by a collector, this one's time included; absent while this one does not call it.",
  ),
  quotekeeper_account_uncalled_seconds: ofAccount(
    "For how long no collector has called the account, as far as this one knows: the database has granted its lease to none. 0: a collector calls it.",
  ),
  quotekeeper_lake_through_timestamp_seconds:
    "Where the last exchange date ends that the lake has; absent without QUOTEKEEPER_LAKE_DIR, and before the first run has ended.",
  quotekeeper_lease_unsure:
    "1 while this collector does not know whether its accounts are still its own, because the database does not answer it; 0 where there is no other.",
  quotekeeper_lease_round_age_seconds:
    "Time since the database last confirmed the leases, which it does every 2 s; absent until then.",
  quotekeeper_take_overs_total:
    "Accounts that this collector has taken since its start from one that was not heard of.",
  quotekeeper_collectors: {
    help: "Collectors of the archive. gone: not seen for a minute, in `web` for 15 s, and not ended. `web` looks once a minute.",
    labels: { state: ["running", "stopped", "gone"] },
    always: true,
  },
  quotekeeper_collectors_differing:
    "Running collectors whose job files or accounts are others than those in force.",
  quotekeeper_clock_offset_seconds:
    "How far this machine's clock is ahead of the database's; 0 where the time that the database takes to answer may be all of it.",
  quotekeeper_slot_lateness_seconds: ofAccount(
    "Time from a slot's beginning until the answer of a call for it arrived.",
  ),
  quotekeeper_last_quotes_timestamp_seconds: {
    ...ofAccount(
      "When the last answer with quotes arrived, seconds since 1970 began in UTC; absent until then, in a process that collects since its start, in `web` ever.",
    ),
    always: true,
  },
  quotekeeper_clock_steps_total: {
    help: "How often the machine's clock was set back or forward by 2 s or more, the machine slept, or the program could not run (stopped).",
    labels: { kind: CLOCK_STEP_KINDS },
  },
  quotekeeper_clock_step_seconds:
    "By how much the machine's clock was set when it was last set, below 0 if it was set back; absent until then.",
  quotekeeper_next_poll_timestamp_seconds: {
    help: "The next slot of any job, seconds since 1970 began in UTC; absent when there is none, or no collector lives to poll it.",
    always: true,
  },
  quotekeeper_rows_total: { help: "Rows stored since the start.", labels: { table: COUNTED_TABLES } },
  quotekeeper_rows_repeated_total: "Quotes that came again and were in the archive already.",
  quotekeeper_dead_letters_total:
    "Quotes, fields of quotes and notes that could not be stored; see the table dead_letters.",
  quotekeeper_misses_total: {
    help: "Instruments that were due at a slot and have no quote of it.",
    labels: { ...ACCOUNT, reason: MISS_REASONS },
  },
  quotekeeper_instruments_unknown: "Instruments of the jobs that the service does not know.",
  quotekeeper_journal_bytes: { help: "Bytes of the journal on the disk.", always: true },
  quotekeeper_journal_segments: { help: "Files of the journal.", always: true },
  quotekeeper_journal_failing:
    "1 when the last answer could not be written to the journal: answers are being lost.",
  quotekeeper_journal_lag_bytes: {
    help: "Bytes of the journal that the database has not loaded yet; absent while the database cannot be asked.",
    always: true,
  },
  quotekeeper_journal_lag_seconds: {
    help: "Age of the oldest answer that the database has not loaded yet, 0 when it has all; absent while the database cannot be asked.",
    always: true,
  },
  quotekeeper_database_up: {
    help: "1 when the database answers and has the schema of this version.",
    always: true,
  },
  quotekeeper_market_open: {
    help: "1 during the regular session of the exchange in New York, also for a simulated feed, which is always open.",
    always: true,
  },
  quotekeeper_ready: { help: "1 when /readyz answers 200.", always: true },
  quotekeeper_status_ok: {
    help: "0 for each line of `quotekeeper status` that needs a person. Looked up once a minute.",
    labels: { subject: "first word of a line of `quotekeeper status`, a dozen at most" },
    always: true,
  },
} as const satisfies Record<string, string | Omit<MetricDefinition, "kind">>;

export type MetricName = keyof typeof table;

/** Prometheus ends the name of a counter in `_total`. */
function kindOf(name: string): MetricDefinition["kind"] {
  if (name.endsWith("_total")) return "counter";
  return name === "quotekeeper_slot_lateness_seconds" ? "histogram" : "gauge";
}

export const METRICS = Object.fromEntries(
  Object.entries(table).map(([name, of]) => [
    name,
    { kind: kindOf(name), ...(typeof of === "string" ? { help: of } : of) },
  ]),
) as Readonly<Record<MetricName, MetricDefinition>>;

export function labelNames(name: MetricName): string[] {
  return Object.keys(METRICS[name].labels ?? {});
}

/**
 * What the dashboard's JSON API answers: shared by the server and the page, types alone. Prices, sizes and volumes are
 * decimal text, null when the service sent none; times are ISO 8601 in UTC.
 */
import type { AccountsView } from "../../archive/ask/accountsTypes.ts";
import type { Glance } from "../../archive/ask/dashboardTypes.ts";

/**
 * What a view's route answers. `cursor`: given back as `since`, it asks for what is new. `view` null: nothing is. `whole` false: it has
 * what is new alone.
 */
export type News<View> = { cursor: string; whole: boolean; view: View | null };

/** What the page's frame has. */
export type PageFacts = {
  version: string;
  /** Name of the page's script, which has a digest of it; another one than the page has: a newer page is there. Null: none was built. */
  script: string | null;
  /** The provider's attribution line; null: none is configured. */
  attribution: string | null;
  /** Whether the market that is polled, or any row of the archive, is simulated. */
  simulated: boolean;
  /** Whether the archive has quotes of more than one source. */
  mixed: boolean;
  /** Whether a token is asked for. */
  protected: boolean;
};

export type Problem = {
  code: string;
  detail: string;
  hint: string;
  /** Whether a person is needed; otherwise it passes by itself. */
  person: boolean;
};

type JobView = {
  name: string;
  schedule: string;
  session: string;
  priority: number;
  /** The next slot; null when there is none within a year. */
  nextAt: string | null;
};

/** The budget of an account, or of all of them in sum. */
export type LiveBudget = {
  /** Our calls of the last window, and how many of the limit the governor leaves to other programs. */
  callsUsed: number;
  limit: number;
  limitSet: number;
  windowMs: number;
  secondClient: number;
  /** `open`, `probing` (one call at a time) or `closed` (none until the budget returns). */
  phase: "open" | "probing" | "closed";
  /** How long the phase `closed` lasts, ms; 0 otherwise. */
  closedForMs: number;
  queued: number;
};

/** An account that the running collector calls. */
export type LiveAccount = LiveBudget & {
  name: string;
  /** `drained`: the operator wants it to make no calls; `refused`: the service does not take its credentials. */
  state: "active" | "drained" | "refused";
  /** What came of its last call; null: quotes. */
  problem: Problem | null;
};

/** What is wrong at the moment, told once. `accounts`: whose it is; none where there is one account, or it is no account's. */
export type LiveProblem = Problem & { accounts: string[] };

/** What only the running collector knows. The budget is that of all accounts: closed when each of them is. */
export type Live = LiveBudget & {
  accounts: LiveAccount[];
  /** Slots' instruments missed since the start. */
  missed: number;
  /** Instruments the service does not know. */
  unknown: string[];
  jobs: JobView[];
  /** Rows stored since the start. */
  quotesStored: number;
  problems: LiveProblem[];
};

export type StatusLine = { subject: string; state: "ok" | "attention" | "idle"; text: string };

/** Misses for one reason. `goesOn`: the newest slots of a job have them. */
type MissedView = { reason: string; count: number; lastAt: string; goesOn: boolean };

export type StatusView = {
  healthy: boolean;
  lines: StatusLine[];
  /** Whether a collector of the archive lives, and how many do: see `quotekeeper status --json`. */
  collector: {
    state: "running" | "starting" | "stopped" | "gone" | "none" | "unknown";
    running: number;
    stopped: number;
    gone: number;
  };
  /** Of a collector that lives. */
  nextPollAt: string | null;
  /** When each account's newest answer with quotes arrived. */
  lastQuotesAt: Record<string, string>;
  /** The polled market's calls of the last window, and what the service says of its own; null: not known. */
  budget: {
    calls: number;
    limit: number;
    windowMs: number;
    serviceUsed: number | null;
    serviceLimit: number | null;
  } | null;
  /** The polled market's slots of the last day; null: not known. */
  lastDay: { due: number; missed: MissedView[] } | null;
  /** What the database has not taken of the journal yet. */
  lag: { bytes: number; oldestAt: string | null } | null;
  tier: string | null;
  /** Who calls each account, and collectors that are not seen; null: one collector, or not known. */
  fleet: {
    owners: { account: string; owner: string | null }[];
    gone: { name: string; seenAgoMs: number }[];
  } | null;
  /** Accounts whose service wants a person's login: until when somebody is logged in, and whether one is needed. */
  logins: { account: string; until: string | null; needed: boolean }[];
  /** Accounts that were asked in the newest regular session, and whether their service repeats old quotes. */
  quotes: { account: string; stuck: boolean }[];
  /** Since when this machine's collector does not know whether its accounts are its own; null: it knows. */
  unsureSince: string | null;
  /** Accounts that nobody calls, as far as this machine's collector knows, and since when. */
  uncalled: Record<string, string>;
};

export type MarketView = {
  phase: "pre" | "regular" | "post" | "closed";
  /** Why it is closed all day: `weekend`, a holiday's name; null on a day with a session. */
  closedReason: string | null;
  /** The next opening of the regular session; null while it lasts. */
  opensAt: string | null;
  /** The end of the regular session under way. */
  closesAt: string | null;
};

export type NowView = {
  at: string;
  page: PageFacts;
  /** Whether the market that is polled is simulated, and its address where it is not. */
  feed: { simulated: boolean; address: string | null };
  /** Whether this process collects, also while its collector starts. */
  collects: boolean;
  /** Null where no collector runs in this process, or not yet. */
  live: Live | null;
  market: MarketView;
  /** Null while it is being found out. */
  status: StatusView | null;
  journal: { bytes: number; segments: number } | null;
  /** The job files and their plan; null: not known here, or not yet. */
  jobs: JobsView | null;
  /** The newest quotes of some instruments; null while the archive cannot be read. */
  quotes: Glance | null;
  /** Accounts and collectors; null where there is one of each, or while they are not known. */
  fleet: AccountsView | null;
};

/** A login that waits for its code. `url`: what a person opens. */
export type LoginStart = { url: string };

/** Until when somebody is logged in. */
export type LoginDone = { until: string };

export type ApiError = { error: Problem };

export type JobAsk = {
  name: string;
  file: string;
  /** The cron expression, and what it says in words. */
  schedule: string;
  words: string;
  timezone: string;
  session: string;
  /** What it asks for, each in words: `503 symbols of sp500.txt`, `AAPL: calls and puts of ...`. */
  asks: string[];
};

/** A file with mistakes: its lines around them. Lines are counted from 1; no lines where the text is not to be shown. */
export type BrokenFile = {
  file: string;
  problems: { line: number; message: string }[];
  lines: { line: number; text: string }[];
};

export type PlanView = {
  /** The exchange date that was planned: the session under way, or the next. */
  date: string;
  limit: number;
  windowMs: number;
  fits: boolean;
  /** Instruments that are missed over the day although the calls fit: no pace reaches the last percent of a limit. */
  missedAtReach: number;
  /** Jobs that do not fit, and the shortest interval at which they would, ms; null: an hour is too short. */
  starving: string[];
  fitsEveryMs: number | null;
  /** `calls`: of the job's fullest slot. */
  jobs: { job: string; slots: number; instruments: number; due: number; starved: number; calls: number }[];
  /** Underlyings whose chains are not counted, because the archive has no price of theirs yet. */
  priceless: string[];
  /** Underlyings whose chains are not counted, because the archive knows no contract of theirs yet. */
  unlisted: string[];
  /** Calls of the fullest minute. */
  mostAMinute: number;
};

export type JobsView = {
  dir: string;
  jobs: JobAsk[];
  broken: BrokenFile[];
  /** Whether a broken file holds the others up: a collector goes on with the files before, and `plan` is theirs. */
  isOfFilesBefore: boolean;
  /** Null where no job is right, or where the files before were not seen. */
  plan: PlanView | null;
  /** Why there are no jobs, or no plan; null: there are. */
  problem: Problem | null;
};

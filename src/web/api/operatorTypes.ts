/** What the API answers to the views of an operator: Health, Jobs and Accounts. Types alone. */
import type { Problem } from "./types.ts";

export type {
  Step,
  HealthView,
  TakeOver,
  HoleRow,
  HolesView,
  SlotCall,
  SlotView,
} from "../../archive/ask/healthTypes.ts";
export type { AccountView, AccountsView } from "../../archive/ask/accountsTypes.ts";
export type { CollectorRow } from "../../archive/ledger/fleetTypes.ts";

export type JobAsk = {
  name: string;
  file: string;
  /** The cron expression, and what it says in words. */
  schedule: string;
  words: string;
  timezone: string;
  session: string;
  delayed: boolean;
  priority: number;
  /** The account that alone polls it; null: any. */
  account: string | null;
  symbols: readonly string[];
  symbolCount: number;
  /** Base name of the file that they come from. */
  symbolsFile: string | null;
  watchlist: string | null;
  /** Some of the single contracts, and how many there are. */
  options: string[];
  optionCount: number;
  /** Each chain in words. */
  chains: string[];
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
  /** Calls of each minute in which any fall due, ascending. */
  minutes: { at: string; calls: number }[];
  fits: boolean;
  /** Instruments that are missed over the day although the calls fit: no pace reaches the last percent of a limit. */
  missedAtReach: number;
  /** Jobs that do not fit, and the shortest interval at which they would, ms; null: an hour is too short. */
  starving: string[];
  fitsEveryMs: number | null;
  jobs: { job: string; slots: number; instruments: number; due: number; starved: number }[];
  /** Instruments that no call reaches in time, and at how many slots; some of them. */
  hungriest: { instrument: string; slots: number }[];
  /** Calls of the fullest slot, and some of them, the most urgent first. */
  callsPerPass: number;
  passMs: number;
  batches: string[];
  accounts: { name: string; limit: number; windowMs: number; callsPerPass: number; fits: boolean }[];
  /** Underlyings whose chains are not counted, because the archive has no price of theirs yet. */
  priceless: string[];
  /** Calls of the fullest minute, and the same if a job asked for one symbol more. */
  mostAMinute: number;
  oneMore: { job: string; mostAMinute: number }[];
};

export type JobsView = {
  dir: string;
  jobs: JobAsk[];
  broken: BrokenFile[];
  /** Null where no job is right. */
  plan: PlanView | null;
  /** Why there are no jobs, or no plan; null: there are. */
  problem: Problem | null;
};

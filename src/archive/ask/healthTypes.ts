/** How a collection has been going over weeks, and who calls what. Times are ISO 8601 in UTC; spans are ms. */
import type { SourceKind } from "./dashboardTypes.ts";

/** Width of a column of the pictures. Days are the exchange's, New York's. */
export type Step = "minute" | "hour" | "day";

/** From an instant up to another, which is left out. */
export type Span = { from: string; to: string };

/** Answers of a column by outcome; by when they arrived. */
export type CallCount = { at: string; outcome: string; calls: number };

/** Misses of a column by reason; by their slots. */
export type MissCount = { at: string; reason: string; missed: number };

/** What was due and stored at the slots of a column. */
export type DueCount = { at: string; due: number; stored: number };

/** How long after their slots answers arrived, measured at `slots` of all slots that the column has. */
export type Lateness = {
  at: string;
  slots: number;
  of: number;
  medianMs: number;
  p95Ms: number;
  mostMs: number;
};

/** How an account came to a collector; see the column `lease_history.how`. */
type HowTaken = "new" | "released" | "restarted" | "expired";

export type TakeOver = {
  at: string;
  account: string;
  how: HowTaken;
  previous: string | null;
  collector: string;
  fence: number;
};

export type HealthView = Span & {
  step: Step;
  source: SourceKind;
  /** Markets that there are answers or slots of, the one that is polled first. */
  sources: SourceKind[];
  calls: CallCount[];
  misses: MissCount[];
  due: DueCount[];
  lateness: Lateness[];
  /** Newest first, some hundred at most. */
  takeOvers: TakeOver[];
};

/** An account's share of a slot at which something was missed. */
export type HoleRow = {
  job: string;
  at: string;
  account: string;
  due: number;
  stored: number;
  missed: number;
  reasons: Record<string, number>;
};

/** Slots with misses, newest first; `total`: all there are, of which so many are told. */
export type HolesView = { holes: HoleRow[]; total: number };

/** One call of a slot and what came of it. Counters are the service's own; null: not sent. */
export type SlotCall = {
  account: string;
  /** What was asked for, in words. */
  asked: string;
  requestedAt: string;
  observedAt: string;
  outcome: string;
  httpStatus: number;
  used: number | null;
  remaining: number | null;
  limit: number | null;
  bodyBytes: number;
  /** Where the whole answer stands: file of the journal, and byte of it as it is uncompressed. */
  segment: string;
  offset: number;
};

/** A slot of a job: each account's share, which instruments were missed for which reason, and its calls. */
export type SlotView = {
  job: string;
  at: string;
  /** When the job's next slot began; null: there is none yet. */
  until: string | null;
  shares: { account: string; due: number; stored: number; missed: number }[];
  /** `instruments`: some of them; `*` is all that was due. */
  reasons: { account: string; reason: string; count: number; instruments: string[] }[];
  /** In the order of their answers, some hundred at most. */
  calls: SlotCall[];
};

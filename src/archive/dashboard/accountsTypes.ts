/** Who calls what at the moment, as the archive's tables say it. Times are ISO 8601 in UTC; spans are ms. */
import type { TakeOver } from "./healthTypes.ts";

/** What a job had due at an account in the last hour. */
export type JobShare = { job: string; slots: number; due: number; stored: number; missed: number };

/** One account, its budget and its lease. */
export type AccountView = {
  name: string;
  /** `drained` as soon as the operator has said so; `gone`: in no collector's files any more. */
  state: "active" | "drained" | "refused" | "gone";
  /** Null: no collector has said it. */
  limit: number | null;
  windowMs: number;
  /** Calls of the last window, and what the service said of its own count at the newest of them. */
  calls: number;
  serviceUsed: number | null;
  serviceLimit: number | null;
  serviceRemaining: number | null;
  /** Name of the collector whose lease is alive; null: nobody's. */
  owner: string | null;
  /** Which lease that is, counted from 1; null: there was none. */
  fence: number | null;
  renewedAgoMs: number | null;
  /** Take-overs from a holder that was not heard of, in the last day. */
  takeOvers: number;
  /** Whether it shares the jobs at the moment. */
  takesPart: boolean;
  /** What the jobs had due there in the last hour. */
  shares: JobShare[];
};

/** A collector that has told of itself. */
export type CollectorView = {
  id: string;
  name: string;
  version: string;
  /** `gone`: it has told nothing of itself for a minute, and has not said that it ends. */
  state: "running" | "stopped" | "gone";
  seenAgoMs: number;
  journalLag: number | null;
  clockOffsetMs: number | null;
  filesDiffer: boolean;
};

/** Accounts by name, collectors by number, take-overs of the last week, newest first. */
export type AccountsView = {
  at: string;
  accounts: AccountView[];
  collectors: CollectorView[];
  takeOvers: TakeOver[];
};

/** Who calls what at the moment, as the archive's tables say it. Times are ISO 8601 in UTC; spans are ms. */
import type { CollectorRow, OwnedAccount } from "../ledger/fleetTypes.ts";

export type TakeOver = {
  at: string;
  account: string;
  /** See the column `lease_history.how`. */
  how: "new" | "released" | "expired";
  previous: string;
  collector: string;
  fence: number;
};

/** What a job had due at an account in the last hour. */
export type JobShare = { job: string; slots: number; due: number; stored: number; missed: number };

export type AccountView = Omit<OwnedAccount, "account"> & {
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
  shares: JobShare[];
};

/** Accounts by name, collectors by number, take-overs of the last week, newest first. */
export type AccountsView = {
  at: string;
  accounts: AccountView[];
  collectors: CollectorRow[];
  takeOvers: TakeOver[];
};

/** What the tables say of collectors and of who calls which account: shared with the page, types alone. */

/** A collector. All times are by the database's clock. */
export type CollectorRow = {
  id: string;
  name: string;
  version: string;
  /** `gone`: it has told nothing of itself for a minute, and has not said that it ends. */
  state: "running" | "stopped" | "gone";
  seenAgoMs: number;
  /** Bytes of its journal that the archive had not loaded when it last told; null: not known. */
  journalLag: number | null;
  /** How far its clock is ahead of the database's; null: not known. */
  clockOffsetMs: number | null;
  filesDiffer: boolean;
};

export type OwnedAccount = {
  account: string;
  /** The collector's name, its id where it is forgotten; null when no lease is alive. */
  owner: string | null;
  /** That of the last lease; null: there was none. */
  fence: number | null;
  /** Since the lease was last renewed. */
  renewedAgoMs: number | null;
  /** How often it was taken in the last day from a holder that was not heard of. */
  takeOvers: number;
  /** Whether it shares the jobs at the moment; as long as collectors have agreed on nothing yet, it does. */
  takesPart: boolean;
};

/** Collectors by number, accounts by name. */
export type FleetRows = { collectors: CollectorRow[]; accounts: OwnedAccount[] };

/** What calls the accounts whose leases this collector holds: the collector proper, behind `collector/collection.ts`. */
import type { Grant, Knows } from "./leaseStore.ts";

/** How an account was acquired. `granted` null: it is presumed. `listens`: others may call it, and are listened for first. */
export type Acquisition = { granted: Grant | null; listens: boolean };

export type Caller = {
  startCalling: (account: string, how: Acquisition) => Promise<void>;
  stopCalling: (account: string) => Promise<void>;
  /** What the next holder must know of an account's budget: plain JSON. */
  handOver: (account: string) => unknown;
  beUnsure: (unsure: boolean) => void;
  /** Listens for a window, before the next call of each account, whether another collector calls it. */
  listen: () => void;
  knows: () => Knows;
  /** Whether a person has logged in to an account on this machine; null: its service wants none. */
  isLoggedIn?: (account: string) => boolean | null;
  journalLag: () => number | null;
  useNumber: (number: number) => void;
};

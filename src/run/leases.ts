/** The leases of a collector: one for each account that it calls, in the database. */
import { setMaxListeners } from "node:events";
import { type CollectorLease, takeLease } from "../archive/collectorLease.ts";
import type { CollectorProcess } from "../archive/collectorProcess.ts";
import { type Account, accountKey } from "../accounts/account.ts";
import type { Clock } from "../clock.ts";
import type { QuotekeeperError } from "../errors.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import type { Archive } from "./archive.ts";
import type { DataDirLock, Self } from "./beside/lock.ts";
import { Interrupted } from "./edges.ts";

/** They. */
export type Leases = {
  /** Takes an account. @throws QuotekeeperError COLLECTOR_RUNNING; Interrupted */
  take: (account: Account) => Promise<void>;
  /** Waits until an account is surely ours: see `CollectorLease`. */
  sure: (account: Account) => Promise<void>;
  /** Gives an account up that is called no more. */
  giveUp: (account: Account) => Promise<void>;
  /** Resolves with the error to end with when another collector has an account. */
  lost: Promise<QuotekeeperError>;
  /** Gives all up. @returns whether the database knows; never throws */
  release: () => Promise<boolean>;
};

/** Who takes them. */
export type Taker = {
  lock: Pick<DataDirLock, "id" | "dead">;
  clock: Clock;
  self: Self;
  interrupted: Promise<string>;
  warn: (message: string) => void;
};

/** None is taken yet. */
export function openLeases(archive: Pick<Archive, "pool" | "address">, taker: Taker): Leases {
  const { lock, clock, self, interrupted, warn } = taker;
  /** By key: the accounts of the simulated market have one. */
  const held = new Map<string, { lease: Promise<CollectorLease>; count: number }>();
  const ending = new AbortController();
  setMaxListeners(0, ending.signal); // Each account listens to it; Node takes more than ten for a leak.
  void interrupted.then((signal) => ending.abort(new Interrupted(signal)));
  let lose: (error: QuotekeeperError) => void = () => undefined;
  const lost = new Promise<QuotekeeperError>((resolve) => (lose = resolve));

  const takeNew = async (account: Account): Promise<CollectorLease> => {
    const thing = `${inWords(account)} in ${archive.address}`;
    const onWatch = ({ pid, host }: CollectorProcess): void =>
      warn(
        `Process ${pid} on ${host} was the last to collect ${thing}: looking for some seconds whether it still does.`,
      );
    const lease = await takeLease(archive.pool, {
      ...{ account: accountKey(account), thing, id: lock.id, dead: lock.dead },
      ...{ self, clock, onWatch, signal: ending.signal },
    });
    void lease.lost.then(lose);
    return lease;
  };

  return {
    take: async (account) => {
      const key = accountKey(account);
      const one = held.get(key) ?? { lease: takeNew(account), count: 0 };
      held.set(key, { ...one, count: one.count + 1 });
      await one.lease.catch((error: unknown) => {
        // One that was refused is asked for anew, when it is wanted again.
        held.delete(key);
        throw error;
      });
    },
    sure: async (account) => (await held.get(accountKey(account))?.lease)?.sure(),
    giveUp: async (account) => {
      const key = accountKey(account);
      const one = held.get(key);
      if (!one) return;
      if (one.count > 1) held.set(key, { ...one, count: one.count - 1 });
      else {
        held.delete(key);
        await (await one.lease).release();
      }
    },
    lost,
    release: async () => {
      const released = await Promise.all(
        [...held.values()].map(({ lease }) =>
          lease.then(
            (taken) => taken.release(),
            () => true,
          ),
        ),
      );
      return !released.includes(false);
    },
  };
}

function inWords({ name, feed }: Account): string {
  if (feed.kind === "simulated") return "the simulated market";
  return `${name === DEFAULT_ACCOUNT ? "this account" : `the account ${name}`} at ${feed.baseUrl}`;
}

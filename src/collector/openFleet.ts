/** This process as a collector of its archive's fleet: how it joins, and how it calls the accounts whose leases it holds. */
import { resolve } from "node:path";
import { leaseStore } from "../archive/ledger/leaseRows.ts";
import { readStoredWithin } from "../archive/ledger/storedWithin.ts";
import type { StoredIn } from "../collect/dueShares.ts";
import { loginOf, sessionEnd } from "../collect/login/keptSession.ts";
import { atMost, type Clock } from "../ground/clock.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Log } from "../ground/log.ts";
import { type Archive, endPool } from "../archive/openArchive.ts";
import type { Settler } from "../ledger/settler.ts";
import type { DataDirLock } from "./beside/lock.ts";
import type { ThisProcess } from "./beside/lockDoor.ts";
import type { Caller } from "../accounts/lease/caller.ts";
import { filesSaid } from "../accounts/lease/filesDigest.ts";
import { Fleet } from "../accounts/lease/fleet.ts";
import type { JobSet } from "../schedule/followJobs.ts";
import { keepLeaseFile, newCollector, readLeaseFile } from "../accounts/lease/leaseFile.ts";
import { VERSION } from "../ground/version.ts";
import type { AccountsCalled } from "./accountsCalled.ts";
import type { Collector } from "./collector.ts";
import type { JournalLoading } from "./journalLoading.ts";
import type { Stations } from "./stations.ts";

type FleetOptions = {
  lock: Pick<DataDirLock, "id" | "dead" | "forgetDead">;
  clock: Clock;
  self: ThisProcess;
  log: Log;
  jobs: JobSet;
};

/** Reads what the data directory knows of it; nothing is asked of the database yet. */
export async function openFleet(
  config: Pick<Config, "dataDir">,
  archive: Pick<Archive, "openLeases" | "address">,
  { lock, clock, self, log, jobs }: FleetOptions,
): Promise<Fleet> {
  const dataDir = resolve(config.dataDir);
  const known = (await readLeaseFile(dataDir)) ?? newCollector(clock);
  let keeping: Promise<void> = Promise.resolve();
  const pool = archive.openLeases();
  return new Fleet({
    store: leaseStore(pool),
    clock,
    dead: lock.dead,
    forgetDead: lock.forgetDead,
    known,
    log,
    address: archive.address,
    self: { id: known.id, run: lock.id, host: self.host, pid: self.pid, version: VERSION },
    persist: (now) => void (keeping = keeping.then(() => keepLeaseFile(dataDir, now))),
    files: filesSaid(jobs),
    close: async () => {
      await keeping;
      await endPool(pool, clock);
    },
  });
}

/**
 * How long a take-over waits for what is stored of the slots that last, in ms, which is several questions: without it all is asked
 * for again.
 */
const STORED_MS = 3_000;

type CallerParts = {
  config: Pick<Config, "dataDir">;
  archive: Pick<Archive, "pool">;
  clock: Clock;
  stations: Pick<Stations, "useNumber">;
  accounts: AccountsCalled;
  loading: Pick<JournalLoading, "lag">;
  collector: Collector;
  settler: Pick<Settler, "began">;
};

export function callerOf({ config, archive, clock, accounts, collector, ...parts }: CallerParts): Caller {
  const isLoggedIn = (name: string): boolean | null => {
    const account = accounts.sharing.find((one) => one.name === name);
    const login = account && loginOf(account);
    return login ? sessionEnd(login, resolve(config.dataDir), clock.now()) !== null : null;
  };
  const storedIn: StoredIn = async ({ window, ...share }) => {
    const source = accounts.sourceOf(share.account);
    let stored: ReadonlySet<string> = new Set();
    const looked = readStoredWithin(archive.pool, [window], { source, ...share }).then(
      (found) => (stored = found.get(0) ?? stored),
      () => undefined,
    );
    await atMost(STORED_MS, looked, clock);
    return stored;
  };
  return {
    startCalling: async (account, acquired) => {
      await accounts.startCalling(account, acquired, { collector, storedIn });
      parts.settler.began([account], null);
    },
    stopCalling: (account) => accounts.stopCalling(account, { collector }),
    handOver: (account) => collector.handOver(account),
    beUnsure: (unsure) => collector.beUnsure(unsure),
    listen: () => collector.listen(),
    knows: () => ({
      ...collector.knows(),
      loggedIn: accounts.sharing.flatMap((one) => (isLoggedIn(one.name) === true ? [one.name] : [])),
    }),
    isLoggedIn,
    journalLag: parts.loading.lag.bytes,
    useNumber: parts.stations.useNumber,
  };
}

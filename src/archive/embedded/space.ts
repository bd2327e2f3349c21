/**
 * Whether PostgreSQL has room. Its programs say so in words alone, and on a disk that may have no room for the words;
 * initdb also removes what it has made. So the disk is asked as well.
 */
import { statfs } from "node:fs/promises";
import { QuotekeeperError } from "../../ground/errors.ts";

/** Bytes that may still be written on the disk of a directory; Infinity where that cannot be known. Never rejects. */
export type FreeBytes = (dir: string) => Promise<number>;

/** Free for programs without privileges, as PostgreSQL is. */
export const freeBytes: FreeBytes = async (dir) => {
  const found = await statfs(dir).catch(() => null);
  // A file system without bounds, or one that does not tell, has no blocks.
  return found === null || found.blocks === 0 ? Infinity : found.bavail * found.bsize;
};

/** A new cluster took 50 MB with its database and the schema, its first log files included. */
const NEW_CLUSTER_BYTES = 64e6;

/** PostgreSQL makes the files of its log whole, 16 MB each (WAL_SEGMENT_SIZE), and cannot go on without the next. */
const WAL_SEGMENT_BYTES = 16 * 1024 * 1024;

/** strerror of ENOSPC and EDQUOT in the locale C: of a quota the free bytes say nothing. */
const NO_SPACE = /No space left on device|Disk quota exceeded/;

/** Said of root, and on Windows of an administrator. Its server alone is started by `pg_ctl`, which takes these rights away. */
const ADMINISTRATOR = /under an unprivileged user ID/;

/** @throws QuotekeeperError DISK_FULL where a new cluster has no room */
export async function requireRoom(dir: string, free: FreeBytes): Promise<void> {
  const bytes = await free(dir);
  if (bytes < NEW_CLUSTER_BYTES)
    throw new QuotekeeperError(
      "DISK_FULL",
      `the disk of ${dir} has ${megabytes(bytes)} left, and a new database takes ${megabytes(NEW_CLUSTER_BYTES)}`,
    );
}

/** A user id without a line in /etc/passwd, as containers give it (initdb's `get_user_name_or_exit`). */
const NAMELESS = /could not look up effective user ID/;

/**
 * The error for a program of PostgreSQL that failed.
 *
 * @param what which one, where, and that it failed
 * @param output what it said last
 * @returns QuotekeeperError DISK_FULL, EMBEDDED_AS_ROOT, EMBEDDED_NAMELESS or EMBEDDED_FAILED
 */
export async function failure(
  what: string,
  { dir, output, free }: { dir: string; output: string; free: FreeBytes },
): Promise<QuotekeeperError> {
  if (ADMINISTRATOR.test(output))
    return new QuotekeeperError("EMBEDDED_AS_ROOT", `${what}: PostgreSQL refuses an administrator's rights`);
  if (NAMELESS.test(output)) return new QuotekeeperError("EMBEDDED_NAMELESS", `${what}: ${output}`);
  const bytes = await free(dir);
  if (bytes >= WAL_SEGMENT_BYTES && !NO_SPACE.test(output))
    return new QuotekeeperError("EMBEDDED_FAILED", `${what}: ${output}`);
  const left = Number.isFinite(bytes) ? ` (${megabytes(bytes)} left)` : "";
  return new QuotekeeperError("DISK_FULL", `${what}: the disk is full${left}`);
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1e6)} MB`;
}

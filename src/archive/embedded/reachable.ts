/**
 * PostgreSQL's programs where the user they run as can reach them. Root may have a checkout below a directory that
 * only root may enter; the programs look at themselves with access(2), which no capability of theirs satisfies, so
 * they are copied to a cache that can be made again at any time.
 */
import { cp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { Processes } from "../../processes.ts";
import type { PostgresBinaries } from "./binaries.ts";
import { draftOf, sweepDeadDrafts, sweepDrafts } from "./drafts.ts";

/** Where the copy goes, best first: the cache of the machine, or where that is read only, the one for temporary files. */
const CACHES = ["/var/cache/quotekeeper", join(tmpdir(), "quotekeeper-postgres")];

/** Whether each directory above a path lets any user through (the x bit for others). */
export async function everyoneMayEnter(path: string): Promise<boolean> {
  for (let dir = dirname(path); ; dir = dirname(dir)) {
    const found = await stat(dir).catch(() => null);
    if (found && (found.mode & 0o001) === 0) return false;
    if (dir === dirname(dir)) return true;
  }
}

/**
 * The same programs, or a copy of them that every user can reach.
 *
 * @param version names the copy, so that another version has another one
 * @param caches where the copy goes, best first; default: the machine's
 * @throws QuotekeeperError EMBEDDED_AS_ROOT when there is nowhere to put it
 */
export async function reachableBinaries(
  binaries: PostgresBinaries,
  version: string,
  { processes, caches = CACHES }: { processes: Processes; caches?: readonly string[] },
): Promise<PostgresBinaries> {
  if (await everyoneMayEnter(binaries.postgres)) return binaries;
  const native = dirname(dirname(binaries.postgres));
  for (const cache of caches) {
    const copy = join(cache, `postgres-${version}`);
    if (await copied(native, copy, processes)) return inside(copy, binaries);
  }
  throw new QuotekeeperError("EMBEDDED_AS_ROOT", `running as root, and other users cannot reach ${native}`);
}

/** Makes the copy under another name and renames it when it is whole (drafts.ts); two programs may do so at once. */
async function copied(native: string, copy: string, processes: Processes): Promise<boolean> {
  if (!(await isOurs(dirname(copy))) || !(await everyoneMayEnter(join(copy, "bin")))) return false;
  const draft = draftOf(copy, processes);
  if (!(await exists(join(copy, "bin")))) {
    await sweepDeadDrafts(copy, processes);
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
      .then(() => rename(draft, copy))
      // Another program's copy is as good.
      .catch(() => rm(draft, { recursive: true, force: true }).catch(() => undefined));
  }
  await sweepDrafts(copy);
  return exists(join(copy, "bin"));
}

/** Makes the cache when it is not there. What another user has put there in our name is not run. */
async function isOurs(cache: string): Promise<boolean> {
  try {
    await makeDirectories(cache, 0o755);
    return (await stat(cache)).uid === 0;
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

function inside(copy: string, binaries: PostgresBinaries): PostgresBinaries {
  const at = (program: string): string => join(copy, "bin", basename(program));
  return { postgres: at(binaries.postgres), initdb: at(binaries.initdb), pg_ctl: at(binaries.pg_ctl) };
}

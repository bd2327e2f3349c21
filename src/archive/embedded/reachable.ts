/**
 * PostgreSQL's programs where they can be run. They are copied to a cache, which can be made again at any time, when
 * that is not where npm has put them:
 *
 * - Root may have a checkout below a directory that only root may enter; the programs look at themselves with access(2),
 *   which no capability of theirs satisfies.
 * - initdb calls `postgres` through a shell, by a path in double quotes: `"`, `$`, a backquote and `\` mean something there.
 * - npm packs no symbolic links. The package's script would make those of the libraries, but many machines let no script
 *   of a package run; so they are made here, which a directory of somebody else's does not allow.
 */
import { cp, lstat, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { QuotekeeperError } from "../../errors.ts";
import { type Processes, PROCESSES } from "../../processes.ts";
import type { PostgresBinaries } from "./binaries.ts";
import { draftOf, sweepDeadDrafts, sweepDrafts } from "./drafts.ts";

/** Whether each directory above a path lets any user through (the x bit for others). */
export async function everyoneMayEnter(path: string): Promise<boolean> {
  for (let dir = dirname(path); ; dir = dirname(dir)) {
    const found = await stat(dir).catch(() => null);
    if (found && (found.mode & 0o001) === 0) return false;
    if (dir === dirname(dir)) return true;
  }
}

/** Where a copy goes, best first: the machine's cache or the user's, or where those are read only, the temporary one. */
export function cachesOf(uid: number | undefined): string[] {
  const lasting = uid === 0 ? "/var/cache/quotekeeper" : join(homedir(), ".cache", "quotekeeper");
  const temporary = join(tmpdir(), uid === 0 ? "quotekeeper-postgres" : `quotekeeper-postgres-${uid}`);
  return [lasting, temporary];
}

/**
 * The same programs, or a copy of them that can be run.
 *
 * @param options.version names the copy, so that another version has another one
 * @param options.uid our effective user id, undefined on Windows
 * @param options.caches where the copy goes, best first; default: the machine's
 * @throws QuotekeeperError EMBEDDED_AS_ROOT, EMBEDDED_UNAVAILABLE when there is nowhere to put it
 */
export async function reachableBinaries(
  binaries: PostgresBinaries,
  {
    version,
    uid,
    processes = PROCESSES,
    caches = cachesOf(uid),
  }: { version: string; uid: number | undefined; processes?: Processes; caches?: readonly string[] },
): Promise<PostgresBinaries> {
  const native = dirname(dirname(binaries.postgres));
  if (await canRunIn(native, uid)) return binaries;
  for (const cache of caches) {
    const copy = join(cache, `postgres-${version}`);
    if (await copied(native, copy, { uid, processes })) return inside(copy, binaries);
  }
  const tried = caches.join(" or ");
  if (uid === 0)
    throw new QuotekeeperError(
      "EMBEDDED_AS_ROOT",
      `running as root, and other users cannot run ${native}, nor a copy in ${tried}`,
    );
  throw new QuotekeeperError(
    "EMBEDDED_UNAVAILABLE",
    `the programs in ${native} cannot be run from there, and no copy could be made in ${tried}`,
  );
}

async function canRunIn(native: string, uid: number | undefined): Promise<boolean> {
  // On Windows no path can have such a character but the separator, and the shell is another one.
  if (uid !== undefined && /["$`\\]/.test(native)) return false;
  if (uid === 0 && !(await everyoneMayEnter(join(native, "bin")))) return false;
  return linkLibraries(native);
}

/**
 * Makes the links that the package lists and does not hold.
 *
 * @param native the package's folder of that name
 * @returns whether all are there now
 */
export async function linkLibraries(native: string): Promise<boolean> {
  const text = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    // The list's paths begin with `native`; a copy has another name.
    const [from, to] = [relative("native", source), relative("native", target)];
    const place = join(native, to);
    if (await lstat(place).catch(() => null)) continue;
    try {
      await symlink(relative(dirname(to), from), place);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
    }
  }
  return true;
}

/** Makes the copy under another name and renames it when it is whole (drafts.ts); two programs may do so at once. */
async function copied(
  native: string,
  copy: string,
  { uid, processes }: { uid: number | undefined; processes: Processes },
): Promise<boolean> {
  if (!(await isOurs(dirname(copy), uid))) return false;
  const draft = draftOf(copy, processes);
  if (!(await exists(join(copy, "bin")))) {
    await sweepDeadDrafts(copy, processes);
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
      .then(() => linkLibraries(draft))
      .then(() => rename(draft, copy))
      // Another program's copy is as good.
      .catch(() => rm(draft, { recursive: true, force: true }).catch(() => undefined));
  }
  await sweepDrafts(copy);
  return (await exists(join(copy, "bin"))) && canRunIn(copy, uid);
}

/** Makes the cache when it is not there. What another user has put there in our name is not run. */
async function isOurs(cache: string, uid: number | undefined): Promise<boolean> {
  try {
    await makeDirectories(cache, uid === 0 ? 0o755 : 0o700);
    return (await stat(cache)).uid === uid;
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

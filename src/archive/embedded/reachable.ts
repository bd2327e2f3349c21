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
import { chmod, cp, lstat, readFile, realpath, rename, rm, stat, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Processes, PROCESSES } from "../../ground/processes.ts";
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

/** Where a copy goes, best first: the machine's cache or the user's, or the data directory. Never where others can write. */
export function cachesOf(uid: number | undefined, dataDir?: string): string[] {
  const lasting = uid === 0 ? "/var/cache/quotekeeper" : ownCache();
  return [lasting, dataDir && join(dataDir, "postgres-copies")].filter((dir) => dir !== undefined);
}

/** Undefined for a user id without a name and without HOME, as containers give it: Node throws ERR_SYSTEM_ERROR there. */
function ownCache(): string | undefined {
  try {
    return join(homedir(), ".cache", "quotekeeper");
  } catch {
    return undefined;
  }
}

/**
 * The same programs, or a copy of them that can be run.
 *
 * @param options.version names the copy, so that another version has another one
 * @param options.uid our effective user id, undefined on Windows
 * @param options.caches where the copy goes, best first; those that others can write are passed over
 * @throws QuotekeeperError EMBEDDED_AS_ROOT, EMBEDDED_UNAVAILABLE when there is nowhere to put it
 */
export async function reachableBinaries(
  binaries: PostgresBinaries,
  {
    version,
    uid,
    processes = PROCESSES,
    caches,
  }: { version: string; uid: number | undefined; processes?: Processes; caches: readonly string[] },
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
async function linkLibraries(native: string): Promise<boolean> {
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

/** Makes the copy under another name and renames it when it is whole (drafts.ts); two programs may do so at the same time. */
async function copied(
  native: string,
  copy: string,
  { uid, processes }: { uid: number | undefined; processes: Processes },
): Promise<boolean> {
  if (!(await makePrivateDir(dirname(copy), uid))) return false;
  const draft = draftOf(copy, processes);
  const parts = ["", "bin"];
  const isWhole = async (): Promise<boolean> =>
    (await Promise.all(parts.map((part) => isPrivate(join(copy, part), uid)))).every(Boolean);
  if (!(await isWhole())) {
    await sweepDeadDrafts(copy, processes);
    await rm(copy, { recursive: true, force: true }).catch(() => undefined);
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
      .then(() => linkLibraries(draft))
      .then(() => Promise.all(parts.map((part) => chmod(join(draft, part), 0o755))))
      .then(() => rename(draft, copy))
      // Another program's copy is as good.
      .catch(() => rm(draft, { recursive: true, force: true }).catch(() => undefined));
  }
  await sweepDrafts(copy);
  return (await isWhole()) && canRunIn(copy, uid);
}

/**
 * Makes a directory when it is not there.
 *
 * @param uid our effective user id, undefined on Windows, where modes tell nothing
 * @returns whether nobody else, but root, can put anything there or put another directory in its place
 */
export async function makePrivateDir(dir: string, uid = process.geteuid?.()): Promise<boolean> {
  try {
    await makeDirectories(dir, uid === 0 ? 0o755 : 0o700);
    for (let above = dirname(await realpath(dir)); ; above = dirname(above)) {
      const { uid: owner, mode } = await lstat(above);
      // With the sticky bit others can write, and yet take nothing away that is not theirs.
      const kept = (mode & 0o022) === 0 || (mode & 0o1000) !== 0;
      if (uid !== undefined && !(kept && (owner === 0 || owner === uid))) return false;
      if (above === dirname(above)) return await isPrivate(dir, uid);
    }
  } catch {
    return false;
  }
}

/** Whether this is a directory of ours, no link, which nobody else may write. */
async function isPrivate(dir: string, uid: number | undefined): Promise<boolean> {
  const found = await lstat(dir).catch(() => null);
  if (found === null || !found.isDirectory()) return false;
  return uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0);
}

function inside(copy: string, binaries: PostgresBinaries): PostgresBinaries {
  const at = (program: string): string => join(copy, "bin", basename(program));
  return { postgres: at(binaries.postgres), initdb: at(binaries.initdb), pg_ctl: at(binaries.pg_ctl) };
}

/** Who may read what lies below the data directory: its owner, and the journal also a group if that is asked for. */
import { constants } from "node:fs";
import { chmod, open, readdir, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { QuotekeeperError } from "../errors.ts";
import { makeDirectories } from "./makeDirectories.ts";

/** Who may read a journal. Nobody but its owner may write it. */
export type Readers = "owner" | "group";

/** The modes of directories and files, by who may read them. */
export const MODES = {
  owner: { directory: 0o700, file: 0o600 },
  group: { directory: 0o750, file: 0o640 },
} as const satisfies Record<Readers, object>;

/** What a data directory holds besides the embedded database, which PostgreSQL wants its own way. */
const OURS = [
  ...["calls", "collector", "dashboard", "serve", "sweeps"],
  ...["clock.json", "loader.json", "service.json", "unaccounted.json"],
];

/** Everything that may be found in a directory that is a data directory and nothing else. */
const KNOWN = new RegExp(`^\\.?(journal$|postgres|(${OURS.join("|")})(\\.tmp)?$)`);

/** Root's database belongs to another user, who passes through the directory and does not look into it. */
const PASS = 0o011;

/** Most paths that a message names. */
const MOST_NAMED = 3;

/** Makes a data directory, and those above it; nothing when it is there. @throws the file system's error */
export async function makeDataDir(dir: string, readers: Readers): Promise<void> {
  if (await stat(dir).catch(() => null)) return;
  await makeDirectories(dirname(dir), 0o755);
  await makeDirectories(dir, MODES[readers].directory);
  const { uid } = await stat(dir);
  if (uid === 0) await chmod(dir, MODES[readers].directory | PASS);
}

/**
 * Takes from others what an older release left open to them, and gives the journal's readers what they may have. A
 * directory that holds other things as well is somebody's who knows why it is open, and stays as it is.
 *
 * @returns DATA_DIR_EXPOSED naming what others can still read or write; null when there is nothing. Never throws
 */
export async function closeToOthers(dataDir: string, readers: Readers): Promise<QuotekeeperError | null> {
  const found = await stat(dataDir).catch(() => null);
  if (found === null || sep !== "/") return null;
  const exposed: string[] = [];
  await settle(join(dataDir, "journal"), readers, exposed);
  for (const name of OURS) await settle(join(dataDir, name), "owner", exposed);
  if (!(await settleTop(dataDir, found, readers))) exposed.push(dataDir);
  if (exposed.length === 0) return null;
  const more = exposed.length > MOST_NAMED ? ` and ${exposed.length - MOST_NAMED} more` : "";
  const named = exposed.slice(0, MOST_NAMED).join(", ");
  return new QuotekeeperError("DATA_DIR_EXPOSED", `other users may read or write ${named}${more}`);
}

/** The data directory itself. @returns whether nobody else can put anything into it */
async function settleTop(
  dir: string,
  { mode, uid }: { mode: number; uid: number },
  readers: Readers,
): Promise<boolean> {
  const wanted = MODES[readers].directory & 0o077;
  const kept = mode & (wanted | (uid === 0 ? PASS : 0)) & 0o077;
  const names = await readdir(dir).catch(() => [""]);
  // An empty one may be anybody's: it is closed when something of ours is in it.
  const closed =
    names.length > 0 && names.every((name) => KNOWN.test(name))
      ? await chmodIfOther(mode, wanted | kept, (next) => chmod(dir, next))
      : false;
  // Where a name can be taken by nobody but its owner (the sticky bit), nothing can be put in its place.
  return closed || (mode & 0o022) === 0 || (mode & 0o1000) !== 0;
}

/** A directory last: as long as it is open it is known that what it holds may be. A link is not followed. */
async function settle(path: string, readers: Readers, exposed: string[]): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => null,
  );
  let closed = false;
  try {
    const stats = await file?.stat();
    if (!file || !stats) return;
    const isDirectory = stats.isDirectory();
    const wanted = MODES[readers][isDirectory ? "directory" : "file"] & 0o077;
    if ((stats.mode & 0o077) === wanted) return void (closed = true);
    if (isDirectory) for (const name of await readdir(path)) await settle(join(path, name), readers, exposed);
    // A file of several names may be somebody else's, put here by another name.
    if (isDirectory || (stats.isFile() && stats.nlink === 1))
      closed = await chmodIfOther(stats.mode, wanted, (next) => file.chmod(next));
  } catch {
    closed = false;
  } finally {
    await file?.close();
    const left = closed ? null : await stat(path).catch(() => null);
    if (left && (left.mode & 0o077 & ~MODES[readers].directory) !== 0) exposed.push(path);
  }
}

/** @returns whether others have now what they may have, and no more */
async function chmodIfOther(
  mode: number,
  wanted: number,
  change: (mode: number) => Promise<void>,
): Promise<boolean> {
  if ((mode & 0o077) === wanted) return true;
  return change((mode & 0o7700) | wanted).then(
    () => true,
    () => false,
  );
}

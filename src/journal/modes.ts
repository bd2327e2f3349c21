/** Who may read the data directory: its owner, and the journal also a group if that is asked for. */
import { constants } from "node:fs";
import { chmod, open, readdir, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { QuotekeeperError } from "../ground/errors.ts";
import { makeDirectories } from "./makeDirectories.ts";
import { someNames } from "../ground/figures.ts";

/** Nobody but the owner may write. */
export type Readers = "owner" | "group";

export const MODES = {
  owner: { directory: 0o700, file: 0o600 },
  group: { directory: 0o750, file: 0o640 },
} as const satisfies Record<Readers, object>;

/** A data directory holds these besides the embedded database, whose modes are PostgreSQL's. */
const OURS = [
  "cache",
  "calls",
  "collector",
  "dashboard",
  "once",
  "serve",
  "clock.json",
  "journal-gone.json",
  "loader.json",
  "service.json",
  "unaccounted.json",
];

/** Every name in a directory that is a data directory and nothing else. */
const KNOWN = new RegExp(`^\\.?(journal$|postgres|(${OURS.join("|")})(\\.tmp)?$)`);

/** Root's database belongs to another user, who passes through the directory and does not look into it. */
const PASS = 0o011;

const MOST_NAMED = 3;

/** Makes a data directory, and those above it; nothing when it exists. @throws the file system's error */
export async function makeDataDir(dir: string, readers: Readers): Promise<void> {
  if (await stat(dir).catch(() => null)) return;
  await makeDirectories(dirname(dir), 0o755);
  await makeDirectories(dir, MODES[readers].directory);
  const { uid } = await stat(dir);
  if (uid === 0) await chmod(dir, MODES[readers].directory | PASS);
}

/**
 * Closes to others what an older release left open to them, and opens the journal to its readers. A directory that
 * holds other things as well stays as it is: its owner knows why it is open.
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
  return new QuotekeeperError(
    "DATA_DIR_EXPOSED",
    `other users may read or write ${someNames(exposed, MOST_NAMED)}`,
  );
}

/** Closes the data directory itself. @returns whether nobody else can put anything into it */
async function settleTop(
  dir: string,
  { mode, uid }: { mode: number; uid: number },
  readers: Readers,
): Promise<boolean> {
  const wanted = MODES[readers].directory & 0o077;
  const kept = mode & (wanted | (uid === 0 ? PASS : 0)) & 0o077;
  const names = await readdir(dir).catch(() => [""]);
  // An empty directory may be anybody's: it is closed when something of ours is in it.
  const closed =
    names.length > 0 && names.every((name) => KNOWN.test(name))
      ? await chmodIfOther(mode, wanted | kept, (next) => chmod(dir, next))
      : false;
  // With the sticky bit nobody but the owner can replace a name.
  return closed || (mode & 0o022) === 0 || (mode & 0o1000) !== 0;
}

/** Closes a directory last: while it is open, what it holds may be open too. A link is not followed. */
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
    // A file of several names may be somebody else's under another name.
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

/** @returns whether others have now the rights they may have, and no more */
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

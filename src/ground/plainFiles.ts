/**
 * Files that somebody else may have put where they are read. Only a regular file is read: opening a pipe would wait for
 * its writer, and a device may act. The open file is checked, not the path, which may be another file by then. Small
 * files of our own are written here, too.
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath, rename, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { systemError } from "./errors.ts";

/** Of settings, secrets, job files and lists of symbols. */
const MAX_TEXT_BYTES = 10_000_000;

// Windows has none of the three flags, and no such files.
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const NO_LINK = constants.O_NOFOLLOW ?? 0;

/** What operating systems put beside files, and unpacked with them: resource forks, icons, how a window looked. */
const HELPER_FILE = /(?:^|[\\/])(?:__MACOSX[\\/].*|\._[^\\/]*|\.DS_Store|Thumbs\.db|desktop\.ini)$/iu;

export function isHelperFile(path: string): boolean {
  return HELPER_FILE.test(path);
}

/** @param why in words, in the place of the system's errno */
function refused(path: string, why: string): NodeJS.ErrnoException {
  return systemError(why, `${path}: ${why}`);
}

/** Where a file may lie that another file names. Links are resolved first. */
export type Bounds = {
  /** Directories; the file has to lie below one of them. */
  below: readonly string[];
  /** Our own files and directories, which are refused below those as well. */
  own: readonly string[];
  /** The message about a file elsewhere, for example how to mend that. */
  outside: string;
};

type OpenHow = { links?: boolean; below?: string; bounds?: Bounds | undefined };

/**
 * Opens a regular file for reading. A link is followed to a file of the directory it stands in, or of one below.
 *
 * @param options.links false: no link is followed
 * @param options.bounds where the file may lie; a link is then followed wherever it leads inside of them
 * @param options.below a directory above the path, from which on no directory is a link either; then no link is followed
 * @throws an error whose `code` says why: an errno, or what stands there in place of a file
 */
export async function openFile(
  path: string,
  { below, links = below === undefined, bounds }: OpenHow = {},
): Promise<FileHandle> {
  const file = bounds
    ? await openWhere(path, (at) => refuseOutOfBounds(path, at, bounds))
    : await open(path, READ | NO_LINK).catch(async (error: NodeJS.ErrnoException) => {
        if (!isLink(error)) throw plainly(path, error);
        if (!links) throw refused(path, "a link, not a file");
        return openWhere(path, (at) => refuseOutside(path, at));
      });
  try {
    refuseUnlessFile(path, await file.stat());
    if (below !== undefined) await refuseLinks(path, below, await placeOf(file, path));
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Opens what a path leads to, unless `refuse` throws for the place where that really lies. */
async function openWhere(path: string, refuse: (at: string) => Promise<void>): Promise<FileHandle> {
  // Before anything is opened: the error does not say whether there is such a file elsewhere.
  const dir = await realpath(dirname(path)).catch(() => resolve(dirname(path)));
  await refuse(join(dir, basename(path)));
  const file = await open(path, READ).catch((error: unknown) => {
    throw plainly(path, error);
  });
  await refuse(await placeOf(file, path)).catch(async (error: unknown) => {
    await file.close();
    throw error;
  });
  return file;
}

/** Where an open file lies. Linux knows it although the path may lead elsewhere by now, unless the file was replaced. */
async function placeOf({ fd }: FileHandle, path: string): Promise<string> {
  const at = await readlink(`/proc/self/fd/${fd}`).catch(() => " (deleted)");
  return at.endsWith(" (deleted)") ? realpath(path) : at;
}

/**
 * Refuses a path that leads through a link.
 *
 * @param below a directory above it; links in this one's own path are its owner's
 * @param at where it leads; default: looked up
 * @throws an error whose `code` says so, or an errno
 */
export async function refuseLinks(path: string, below: string, at?: string): Promise<void> {
  if ((at ?? (await realpath(path))) === join(await realpath(below), relative(below, path))) return;
  throw refused(path, "behind a link");
}

async function refuseOutside(link: string, at: string): Promise<void> {
  if (at.startsWith(join(await realpath(dirname(link)), sep))) return;
  throw refused(link, "a link that leads out of its directory");
}

async function refuseOutOfBounds(path: string, at: string, { below, own, outside }: Bounds): Promise<void> {
  const isIn = (dir: string, one = at): boolean => one === dir || one.startsWith(join(dir, sep));
  const roots = await bothWays(below);
  const ours = await bothWays(own);
  const holders = roots.filter((root) => isIn(root));
  if (holders.length === 0) throw refused(path, outside);
  // A data directory around the jobs directory bars nothing of it.
  if (holders.every((root) => ours.some((one) => isIn(one) && !isIn(one, root))))
    throw refused(path, "a file of the program's own: .env, its data, or a secret of its settings");
}

/** Paths as they are written, and without links where they exist. */
async function bothWays(paths: readonly string[]): Promise<string[]> {
  const real = paths.map((path) => realpath(path).catch(() => []));
  return [...paths.map((path) => resolve(path)), ...(await Promise.all(real)).flat()];
}

/**
 * Whether a path names a directory. A link is followed as by `openFile`.
 *
 * @throws an error whose `code` says why that cannot be told
 */
export async function isDirectory(path: string): Promise<boolean> {
  if ((await lstat(path)).isSymbolicLink()) await refuseOutside(path, await realpath(path));
  return (await stat(path)).isDirectory();
}

/** @throws as `openFile` does, and for more than MAX_TEXT_BYTES */
export async function readTextFile(path: string, how: OpenHow = {}): Promise<string> {
  return (await readTextAndMode(path, how)).text;
}

export async function readTextAndMode(path: string, how: OpenHow): Promise<{ text: string; mode: number }> {
  const file = await openFile(path, how);
  const { mode } = await file.stat();
  const chunks: Buffer[] = [];
  for await (const chunk of file.createReadStream({ end: MAX_TEXT_BYTES })) chunks.push(chunk as Buffer);
  return { text: textOf(path, Buffer.concat(chunks), MAX_TEXT_BYTES), mode };
}

/**
 * Opens a regular file and returns its stats. The caller closes it with `closeSync`.
 *
 * @param options.links false: a link is not followed; default: wherever it leads
 * @throws an error whose `code` says why, as `openFile`
 */
export function openFileSync(path: string, { links = true } = {}): { fd: number; stats: Stats } {
  let fd: number;
  try {
    fd = openSync(path, links ? READ : READ | NO_LINK);
  } catch (error) {
    throw isLink(error) ? refused(path, "a link, not a file") : plainly(path, error);
  }
  try {
    const stats = fstatSync(fd);
    refuseUnlessFile(path, stats);
    return { fd, stats };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * The text of a regular file, and its mode.
 *
 * @param options.links false: a link is not followed; default: wherever it leads, for settings are the operator's own
 * @throws an error whose `code` says why, as `openFile`; also for a longer text
 */
export function readTextFileSync(
  path: string,
  { links = true, most = MAX_TEXT_BYTES } = {},
): { text: string; mode: number } {
  const { fd, stats } = openFileSync(path, { links });
  try {
    // One byte more than there is, so that a file that grows meanwhile is read on.
    let bytes = Buffer.alloc(Math.min(stats.size, most) + 1);
    let length = 0;
    for (;;) {
      const read = readSync(fd, bytes, length, bytes.length - length, null);
      length += read;
      if (read === 0 || length > most) break;
      if (length === bytes.length) bytes = Buffer.concat([bytes], length * 2);
    }
    return { text: textOf(path, bytes.subarray(0, length), most), mode: stats.mode };
  } finally {
    closeSync(fd);
  }
}

function textOf(path: string, bytes: Buffer, most: number): string {
  if (bytes.length > most) throw refused(path, `larger than ${most / 1e6} MB`);
  return bytes.toString("utf8");
}

function refuseUnlessFile(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw refused(path, "EISDIR");
  throw refused(path, stats.isFIFO() ? "a pipe, not a file" : "a device, not a file");
}

/** The error of O_NOFOLLOW at a link: POSIX's, and FreeBSD's. */
function isLink(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ELOOP" || code === "EMLINK";
}

/** A socket cannot be opened at all: ENXIO on Linux, EOPNOTSUPP on macOS. */
function plainly(path: string, error: unknown): unknown {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ENXIO", "EOPNOTSUPP"].includes(code) ? refused(path, "a socket, not a file") : error;
}

/**
 * The bits of a file's mode that let others in.
 *
 * @param bits the ones in question, such as 0o022: who may write besides the owner
 * @returns 0 on Windows, which has no such modes and shows every file as open to everybody
 */
export function openToOthers(mode: number, bits: number, separator: string = sep): number {
  return separator === "/" ? mode & bits & 0o077 : 0;
}

/** What a small file of our own says as JSON; null: there is none that can be read, or the schema has another shape. */
export async function readJson<T>(
  path: string,
  schema: { parse: (json: unknown) => T },
  how: OpenHow = {},
): Promise<T | null> {
  return readTextFile(path, how)
    .then((text) => schema.parse(JSON.parse(text)))
    .catch(() => null);
}

/**
 * Writes a small file of our own, for its owner alone. A reader finds the old text or the new one, after a kill as well.
 * Never throws: where nothing can be written, the next start knows less.
 */
export async function keepJson(path: string, value: object): Promise<void> {
  await writeFile(`${path}.tmp`, JSON.stringify(value), { mode: 0o600 })
    .then(() => rename(`${path}.tmp`, path))
    .catch(() => undefined);
}

/** The few operations of the file system that the journal needs, so that a test can be a full disk. */
/* eslint-disable max-params -- `read` and `write` are Node's own */
import { makeDirectories } from "./makeDirectories.ts";
import { closeSync, constants, readSync } from "node:fs";
import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { QuotekeeperError } from "../ground/errors.ts";
import { openFile, openFileSync } from "../ground/plainFiles.ts";
import { makeDataDir, MODES, type Readers } from "./modes.ts";
import { ownerNote } from "../ground/users.ts";

/** Positions and lengths in bytes; fewer bytes than asked may be read or written. */
export type JournalFile = {
  read: (
    into: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ) => Promise<{ bytesRead: number }>;
  write: (
    bytes: Uint8Array,
    offset: number,
    length: number,
    /** null: behind the last write, the only place for a file opened with `a`. */
    position: number | null,
  ) => Promise<{ bytesWritten: number }>;
  /** Resolves when content and length are on the disk. */
  datasync: () => Promise<void>;
  truncate: (length: number) => Promise<void>;
  close: () => Promise<void>;
};

/** What a look at a file shows without reading it. */
export type Peek = {
  size: number;
  /** Epoch ms of the file system's clock. */
  mtimeMs: number;
  /** The last bytes; fewer than asked where the file has fewer. */
  tail: Buffer;
};

/** Everything rejects with a `NodeJS.ErrnoException`. */
export type JournalFs = {
  /**
   * `r`: for reading, a regular file and no link. `wx`: a new file for writing, which the journal's readers alone may
   * read; rejects with EEXIST when it exists. `a`: for appending, made for the same readers when it is absent; each
   * write lands behind all earlier ones, of any process.
   */
  open: (path: string, flags: "r" | "wx" | "a") => Promise<JournalFile>;
  /** Looks at a file that `r` opens. @param tailBytes how many of its last bytes are wanted */
  peek: (path: string, tailBytes: number) => Promise<Peek>;
  stat: (path: string) => Promise<{ size: number; mtimeMs: number; mode: number }>;
  readdir: (path: string) => Promise<string[]>;
  /** Makes the directory and those above it, for the journal's readers alone; nothing when it exists. */
  mkdir: (path: string) => Promise<void>;
  /** Rejects unless files can be made in the directory. */
  access: (path: string) => Promise<void>;
  rename: (from: string, to: string) => Promise<void>;
  unlink: (path: string) => Promise<void>;
  /** Resolves when the directory's entries are on the disk. */
  syncDirectory: (path: string) => Promise<void>;
};

export type Place = { dir: string; fs: JournalFs };

/** Windows has no links of this kind. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);

export function fileSystem(readers: Readers): JournalFs {
  const { directory, file: mode } = MODES[readers];
  return {
    open: async (path, flags) => {
      if (flags === "r") return openFile(path, { links: false });
      const file = await fs.open(path, flags === "a" ? APPEND : flags, mode);
      // A umask takes nothing from the owner's mode that matters; the group would miss what it takes.
      if (readers === "group") await file.chmod(mode);
      return file;
    },
    peek: async (path, tailBytes) => peek(path, tailBytes),
    stat: (path) => fs.stat(path),
    readdir: (path) => fs.readdir(path),
    mkdir: async (path) => {
      await makeDataDir(dirname(path), readers);
      await makeDirectories(path, directory);
      if (readers === "group") await fs.chmod(path, directory);
    },
    access: (path) => fs.access(path, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK),
    rename: (from, to) => fs.rename(from, to),
    unlink: (path) => fs.unlink(path),
    syncDirectory: (path) => syncDirectory(path),
  };
}

/**
 * In the system's blocking calls: thousands of files are looked at together, and each of the four steps costs eight
 * times as much by way of the thread pool. `listSegments` lets other work have its turn in between.
 */
function peek(path: string, tailBytes: number): Peek {
  const { fd, stats } = openFileSync(path, { links: false });
  try {
    const tail = Buffer.alloc(Math.min(tailBytes, stats.size));
    const count = readSync(fd, tail, 0, tail.length, stats.size - tail.length);
    return { size: stats.size, mtimeMs: stats.mtimeMs, tail: tail.subarray(0, count) };
  } finally {
    closeSync(fd);
  }
}

export const nodeFs: JournalFs = fileSystem("owner");

/** `ENOSPC`; of an error of ours what it says, and of any other without an errno its message. */
export function errnoOf(error: unknown): string {
  if (error instanceof QuotekeeperError) return error.detail;
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  return typeof code === "string" ? code : String(message ?? error);
}

/** For people: `ENOSPC, the disk is full`. */
export function reasonOf(error: unknown): string {
  const errno = errnoOf(error);
  return errno === "ENOSPC" || errno === "EDQUOT" ? `${errno}, the disk is full` : errno;
}

export function unreadable(path: string, cause: unknown): QuotekeeperError {
  const why = `${errnoOf(cause)}${ownerNote(path, cause)}`;
  return new QuotekeeperError("JOURNAL_UNREADABLE", `${path} cannot be read: ${why}`, { cause });
}

/** Writes all of the bytes at `position`, or behind the last write where it is null, in as many calls as that takes. */
export async function writeAll(file: JournalFile, bytes: Uint8Array, position: number | null): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const at = position === null ? null : position + done;
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at);
    if (bytesWritten === 0) throw new QuotekeeperError("JOURNAL_WRITE_FAILED", "the file takes no bytes");
    done += bytesWritten;
  }
}

/** Fills `into` from `position` on. @returns how many bytes there were, fewer only at the file's end */
export async function readFully(file: JournalFile, into: Uint8Array, position: number): Promise<number> {
  let done = 0;
  while (done < into.length) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

type OpenDirectory = (
  path: string,
  flags: "r",
) => Promise<{ sync: () => Promise<void>; close: () => Promise<void> }>;

/**
 * The answers of systems without such a step, which keep a name with its file: Windows refuses to open a directory
 * (EISDIR) or to sync it once it is open (EPERM), some network file systems say that they cannot (EINVAL, ENOTSUP). A
 * full or broken disk never answers so.
 */
const NO_SUCH_STEP = new Set<string | undefined>(["EISDIR", "EPERM", "EINVAL", "ENOTSUP"]);

/**
 * Resolves when the names in a directory are on the disk, or when the system has no way to wait for that.
 *
 * @throws every other error of the file system
 */
export async function syncDirectory(path: string, openDirectory: OpenDirectory = fs.open): Promise<void> {
  try {
    const directory = await openDirectory(path, "r");
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    if (!NO_SUCH_STEP.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}

/** The few operations of the file system that the journal needs, so that a test can be a full disk. */
import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { openFile } from "../plainFiles.ts";
import { makeDirectories } from "./makeDirectories.ts";
import { makeDataDir, MODES, type Readers } from "./modes.ts";
import { syncDirectory } from "./syncDirectory.ts";

/** An open file. Positions and lengths in bytes; fewer bytes than asked may be read or written. */
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
    position: number,
  ) => Promise<{ bytesWritten: number }>;
  /** Resolves when content and length are on the disk. */
  datasync: () => Promise<void>;
  truncate: (length: number) => Promise<void>;
  close: () => Promise<void>;
};

/** The file system. Everything rejects with a `NodeJS.ErrnoException`. */
export type JournalFs = {
  /**
   * `r`: for reading; nothing but a regular file, and no link. `wx`: a new file for writing, which the journal's readers
   * alone may read; rejects with EEXIST when there is one.
   */
  open: (path: string, flags: "r" | "wx") => Promise<JournalFile>;
  stat: (path: string) => Promise<{ size: number; mtimeMs: number; mode: number }>;
  readdir: (path: string) => Promise<string[]>;
  /** Makes the directory, for the journal's readers alone, and those above it; nothing when it is there. */
  mkdir: (path: string) => Promise<void>;
  /** Rejects unless files can be made in the directory. */
  access: (path: string) => Promise<void>;
  rename: (from: string, to: string) => Promise<void>;
  unlink: (path: string) => Promise<void>;
  /** Resolves when the directory's entries are on the disk. */
  syncDirectory: (path: string) => Promise<void>;
};

/** The machine's own file system, for a journal that these may read. */
export function fileSystem(readers: Readers): JournalFs {
  const { directory, file: mode } = MODES[readers];
  return {
    open: async (path, flags) => {
      if (flags === "r") return openFile(path, { links: false });
      const file = await fs.open(path, flags, mode);
      // A umask takes from the owner's mode nothing that matters; the group would miss what it takes.
      if (readers === "group") await file.chmod(mode);
      return file;
    },
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

/** The machine's own file system, for a journal that its owner alone may read. */
export const nodeFs: JournalFs = fileSystem("owner");

/** The errno of an error, `ENOSPC`; its message when it has none. */
export function errnoOf(error: unknown): string {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  return typeof code === "string" ? code : String(message ?? error);
}

/** The errno of an error for people to read, with the words that matter: `ENOSPC, the disk is full`. */
export function reasonOf(error: unknown): string {
  const errno = errnoOf(error);
  return errno === "ENOSPC" || errno === "EDQUOT" ? `${errno}, the disk is full` : errno;
}

/** Writes all of the bytes at `position`, however many calls that takes. */
export async function writeAll(file: JournalFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    if (bytesWritten === 0) throw new Error("the file takes no bytes");
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

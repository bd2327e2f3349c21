/** The file of the keys: only its owner may read it, and it is on the disk before anybody relies on it. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { QuotekeeperError } from "../../errors.ts";
import { openToOthers, readTextFileSync } from "../../plainFiles.ts";

export const KEY_FILE = "keys.json";

const storedKey = z.strictObject({
  label: z.string().nullable(),
  consumerKey: z.string(),
  token: z.string(),
  access: z.enum(["real-time", "delayed"]),
  /** Quote calls per window; null: the service's limit. */
  quoteLimit: z.number().int().positive().nullable(),
  /** ISO 8601, UTC. */
  addedAt: z.string(),
  consumerSecret: z.string(),
  tokenSecret: z.string(),
});

const keyFile = z.strictObject({ version: z.literal(2), keys: z.array(storedKey) });

/** The version whose secrets were encrypted. */
const sealedFile = z.object({ version: z.literal(1) });

export type StoredKey = z.infer<typeof storedKey>;

export type KeyFile = z.infer<typeof keyFile>;

/**
 * Reads the file of the keys.
 *
 * @param dir the directory of the keys
 * @returns null when there is none
 * @throws QuotekeeperError KEYS_UNREADABLE
 */
export function readKeyFile(dir: string): KeyFile | null {
  const path = join(dir, KEY_FILE);
  const unreadable = (detail: string, cause?: unknown): QuotekeeperError =>
    new QuotekeeperError("KEYS_UNREADABLE", `${path} ${detail}`, { cause });
  try {
    const { text, mode } = readTextFileSync(path, { links: false });
    if (openToOthers(mode, 0o077) !== 0)
      throw unreadable(`is open to other users (mode ${(mode & 0o777).toString(8)}, not 600)`);
    const content: unknown = JSON.parse(text);
    if (sealedFile.safeParse(content).success) throw unreadable("holds sealed keys of an earlier version");
    return keyFile.parse(content);
  } catch (cause) {
    if (cause instanceof QuotekeeperError) throw cause;
    const { code, name } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw unreadable(`is not a file of keys (${code ?? name})`, cause);
  }
}

/**
 * Writes a file that is not there yet, mode 0600.
 *
 * @throws the error of the file system, EEXIST when there is one of that name
 */
export function writeNew(path: string, text: string): void {
  const fd = openSync(path, "wx", 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Replaces a file in one step: a reader sees the old text or the new one. There must be one writer at a time. The
 * temporary file of a killed writer is removed.
 */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeNew(temporary, text);
  renameSync(temporary, path);
}

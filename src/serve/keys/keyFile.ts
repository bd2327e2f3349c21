/** The files of the keys: only their owner may read them, and they are on the disk before anybody relies on them. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { QuotekeeperError } from "../../errors.ts";
import { readTextFileSync } from "../../plainFiles.ts";

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
  /** Sealed, see `sealing.ts`. */
  consumerSecret: z.string(),
  tokenSecret: z.string(),
});

const keyFile = z.strictObject({
  version: z.literal(1),
  /** Salt of the sealing key, base64url. */
  salt: z.string(),
  keys: z.array(storedKey),
});

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
  try {
    return keyFile.parse(JSON.parse(readTextFileSync(path, { links: false }).text));
  } catch (cause) {
    const { code, name } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new QuotekeeperError("KEYS_UNREADABLE", `${path} is not a file of keys (${code ?? name})`, {
      cause,
    });
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

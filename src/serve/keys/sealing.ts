/** Where the secret comes from that seals the others: the setting, or else a file that only its owner may read. */
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { openToOthers, readTextFileSync } from "../../plainFiles.ts";
import { createCipheriv, createDecipheriv, scryptSync } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** The sealing secret, and how to name it to people. */
type SealingSecret = { secret: string; from: string };

/** The file's name in the directory of the keys. */
const SEAL_FILE = "seal.key";

/** What the secret is found with. */
export type SealingSource = {
  /** The directory of the keys. */
  dir: string;
  /** QUOTEKEEPER_SERVE_SEAL_KEY. */
  setting: string | undefined;
};

/**
 * Reads the secret.
 *
 * @throws QuotekeeperError KEYS_UNREADABLE when there is none, or others can read its file
 */
export function readSealingSecret({ dir, setting }: SealingSource): SealingSecret {
  if (setting !== undefined) return { secret: setting, from: "QUOTEKEEPER_SERVE_SEAL_KEY" };
  const path = join(dir, SEAL_FILE);
  try {
    const { text, mode } = readTextFileSync(path, { links: false });
    if (openToOthers(mode, 0o077) !== 0) {
      const octal = (mode & 0o777).toString(8);
      throw new QuotekeeperError(
        "KEYS_UNREADABLE",
        `${path} is open to other users (mode ${octal}, not 600)`,
      );
    }
    const secret = text.trim();
    if (secret === "") throw new QuotekeeperError("KEYS_UNREADABLE", `${path} is empty`);
    return { secret, from: `${path} (mode 0600)` };
  } catch (cause) {
    if (cause instanceof QuotekeeperError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new QuotekeeperError("KEYS_UNREADABLE", `${path} cannot be read (${code ?? message})`, { cause });
  }
}

/** Reads the secret, and makes its file when there is neither setting nor file. */
export function ensureSealingSecret(source: SealingSource, { random }: Pick<Clock, "random">): SealingSecret {
  if (source.setting === undefined) {
    try {
      writeNew(join(source.dir, SEAL_FILE), `${Buffer.from(random(32)).toString("base64url")}\n`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  return readSealingSecret(source);
}

/**
 * HMAC-SHA1 needs the secret itself to verify a signature, so secrets are not hashed: they are sealed with AES-256-GCM,
 * and open only with the sealing secret, and only for the names and rights they were sealed for.
 */
const ALGORITHM = "aes-256-gcm";

/** Bytes of the initialization vector that GCM wants. */
export const IV_LENGTH = 12;

/** Bytes of the salt. */
export const SALT_LENGTH = 16;

/** The key that seals, from a secret text of any kind. Takes tens of milliseconds, on purpose. */
export function sealingKey(secret: string, salt: Uint8Array): Buffer {
  return scryptSync(secret, salt, 32);
}

/**
 * Seals a text.
 *
 * @param boundTo what it belongs to; only with the same text can it be opened
 * @param iv `IV_LENGTH` random bytes, never used before with this key
 * @returns `1.<iv>.<sealed>.<tag>`, base64url
 */
export function seal(
  plain: string,
  key: Buffer,
  { boundTo, iv }: { boundTo: string; iv: Uint8Array },
): string {
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(boundTo));
  const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return [
    "1",
    ...[Buffer.from(iv), sealed, cipher.getAuthTag()].map((bytes) => bytes.toString("base64url")),
  ].join(".");
}

/** Opens what was sealed; null when the key is another one, or anything was changed. */
export function unseal(text: string, key: Buffer, boundTo: string): string | null {
  const [version, iv = "", sealed = "", tag = "", ...rest] = text.split(".");
  if (version !== "1" || rest.length > 0) return null;
  try {
    const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(iv, "base64url"), { authTagLength: 16 })
      .setAAD(Buffer.from(boundTo))
      .setAuthTag(Buffer.from(tag, "base64url"));
    return Buffer.concat([decipher.update(Buffer.from(sealed, "base64url")), decipher.final()]).toString(
      "utf8",
    );
  } catch {
    return null;
  }
}

// Files of a few kilobytes that only their owner may read, on the disk before anybody relies on them.

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
 * Replaces a file in one step: whoever reads it sees the old text or the new one. One writer at a time; what a kill left
 * of an earlier one is removed.
 */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeNew(temporary, text);
  renameSync(temporary, path);
}

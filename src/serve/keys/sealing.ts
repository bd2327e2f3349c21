/** Seals the secrets of keys. The sealing secret is a setting, or else a file that only its owner may read. */
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { openToOthers, readTextFileSync } from "../../plainFiles.ts";
import { createCipheriv, createDecipheriv, scryptSync } from "node:crypto";
import { writeNew } from "./keyFile.ts";

/** The sealing secret. `from`: where it comes from, in words. */
type SealingSecret = { secret: string; from: string };

const SEAL_FILE = "seal.key";

export type SealingSource = {
  dir: string;
  /** QUOTEKEEPER_SERVE_SEAL_KEY. */
  setting: string | undefined;
};

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

/** Reads the secret; makes a file if there is neither setting nor file. */
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
 * HMAC-SHA1 needs the secret itself to verify a signature, so secrets are sealed and not hashed. They open only with the
 * sealing secret, and only for the names and rights that they were sealed for.
 */
const ALGORITHM = "aes-256-gcm";

/** Bytes of the initialization vector of GCM. */
export const IV_LENGTH = 12;

export const SALT_LENGTH = 16;

/** The sealing key of a secret text. Takes tens of milliseconds, on purpose. */
export function sealingKey(secret: string, salt: Uint8Array): Buffer {
  return scryptSync(secret, salt, 32);
}

/**
 * Seals a text.
 *
 * @param boundTo opens only with the same text
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
  const parts = [Buffer.from(iv), sealed, cipher.getAuthTag()];
  return `1.${parts.map((bytes) => bytes.toString("base64url")).join(".")}`;
}

/** Opens a sealed text; null: another key, or a changed text. */
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

/** The file of the keys: names and rights in the clear, secrets sealed. */
import { join } from "node:path";
import { z } from "zod";
import { QuotekeeperError } from "../../errors.ts";
import { readTextFileSync } from "../../plainFiles.ts";

/** The file's name in the directory of the keys. */
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
  /** Of the key that seals, base64url. */
  salt: z.string(),
  keys: z.array(storedKey),
});

/** A key as it is kept. */
export type StoredKey = z.infer<typeof storedKey>;

/** The content of the file. */
export type KeyFile = z.infer<typeof keyFile>;

/**
 * Reads the file.
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

/** The file of the keys, which only its owner may read. */
import { join } from "node:path";
import { z } from "zod";
import { QuotekeeperError } from "../../ground/errors.ts";
import { openToOthers, readTextFileSync } from "../../ground/plainFiles.ts";

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

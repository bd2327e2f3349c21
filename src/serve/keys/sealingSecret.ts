/** Where the secret comes from that seals the others: the setting, or else a file that only its owner may read. */
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { openToOthers, readTextFileSync } from "../../plainFiles.ts";
import { writeNew } from "./writeDurably.ts";

/** The sealing secret, and how to name it to people. */
export type SealingSecret = { secret: string; from: string };

/** The file's name in the directory of the keys. */
export const SEAL_FILE = "seal.key";

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

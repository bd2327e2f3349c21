/** Adds, lists, revokes and opens the keys of a service, in a file that only its owner may read. */
import { unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Clock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { makeDataDir } from "../../journal/modes.ts";
import type { Credentials } from "../../services/oauth/signature.ts";
import type { AccessLevel, ServiceKey } from "./key.ts";
import { openToOthers, readTextFileSync } from "../../ground/plainFiles.ts";
import { replaceFile, writeNew } from "../../ground/ownerFile.ts";

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

type KeyFile = z.infer<typeof keyFile>;

/** Where the keys are. */
export type KeyPlace = { dir: string; clock: Clock };

/** A key to add; absent parts are made. */
export type NewKey = {
  label: string | null;
  access: AccessLevel;
  quoteLimit: number | null;
  consumerKey?: string;
  token?: string;
  /** Both or none. */
  secrets?: Pick<Credentials, "consumerSecret" | "accessTokenSecret">;
};

type AddedKey = { stored: StoredKey; credentials: Credentials; path: string };

const LOCK_FILE = "keys.lock";
const LOCK_TRIES = 50;
const LOCK_WAIT_MS = 100;

/**
 * Adds a key. A known consumer key keeps its secret and gets another token.
 *
 * @throws QuotekeeperError USAGE when label or token are taken, or the consumer key has another secret;
 *   KEYS_BUSY, KEYS_UNREADABLE, KEYS_UNWRITABLE
 */
export async function addKey(place: KeyPlace, asked: NewKey): Promise<AddedKey> {
  const { clock } = place;
  return changing(place, (file) => {
    // `serve keys revoke` would read a word with a leading dash as an option.
    const word = (): string => Buffer.from(clock.random(18)).toString("base64url").replace(/^-/, "_");
    const names = { consumerKey: asked.consumerKey ?? word(), accessToken: asked.token ?? word() };
    if (file.keys.some(({ token }) => token === names.accessToken))
      throw usage("a key has that token already");
    if (asked.label !== null && file.keys.some(({ label }) => label === asked.label))
      throw usage(`a key has the label ${asked.label} already`);
    const known = file.keys.find(({ consumerKey }) => consumerKey === names.consumerKey)?.consumerSecret;
    if (known !== undefined && asked.secrets && asked.secrets.consumerSecret !== known)
      throw usage("that consumer key is there already, with another secret");
    const credentials = {
      ...names,
      consumerSecret: asked.secrets?.consumerSecret ?? known ?? word(),
      accessTokenSecret: asked.secrets?.accessTokenSecret ?? word(),
    };
    const stored = {
      label: asked.label,
      consumerKey: names.consumerKey,
      token: names.accessToken,
      access: asked.access,
      quoteLimit: asked.quoteLimit,
      addedAt: clock.now().toISOString(),
      consumerSecret: credentials.consumerSecret,
      tokenSecret: credentials.accessTokenSecret,
    };
    return {
      next: { ...file, keys: [...file.keys, stored] },
      result: { stored, credentials, path: join(place.dir, KEY_FILE) },
    };
  });
}

/** The keys, oldest first. @throws QuotekeeperError KEYS_UNREADABLE */
export function listKeys({ dir }: Pick<KeyPlace, "dir">): readonly StoredKey[] {
  return readKeyFile(dir)?.keys ?? [];
}

/**
 * Removes a key; running services refuse it from the next call on.
 *
 * @param which its token or its label
 * @throws QuotekeeperError USAGE when no key has it; KEYS_BUSY, KEYS_UNREADABLE, KEYS_UNWRITABLE
 */
export async function revokeKey(place: KeyPlace, which: string): Promise<StoredKey> {
  return changing(place, (file) => {
    const revoked =
      file.keys.find(({ token }) => token === which) ?? file.keys.find(({ label }) => label === which);
    if (!revoked) throw usage("no key has that token or label; `quotekeeper serve keys list` names them");
    return { next: { ...file, keys: file.keys.filter((key) => key !== revoked) }, result: revoked };
  });
}

/**
 * The keys with their secrets, as a service verifies with them.
 *
 * @throws QuotekeeperError KEYS_UNREADABLE
 */
export function openKeys(place: Pick<KeyPlace, "dir">): readonly ServiceKey[] {
  return listKeys(place).map(toServiceKey);
}

function toServiceKey({ consumerKey, consumerSecret, access, quoteLimit, ...stored }: StoredKey): ServiceKey {
  return {
    consumerKey,
    consumerSecret,
    accessToken: stored.token,
    accessTokenSecret: stored.tokenSecret,
    access,
    ...(quoteLimit !== null && { quoteLimit }),
  };
}

/**
 * Reads the file of the keys.
 *
 * @param dir the directory of the keys
 * @returns null when there is none
 * @throws QuotekeeperError KEYS_UNREADABLE
 */
function readKeyFile(dir: string): KeyFile | null {
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

/** Changes the file in one step, one process at a time. */
async function changing<T>(
  { dir, clock }: KeyPlace,
  change: (file: KeyFile) => { next: KeyFile; result: T },
): Promise<T> {
  const lock = join(dir, LOCK_FILE);
  await acquireLock(dir, clock);
  try {
    const { next, result } = change(readKeyFile(dir) ?? { version: 2, keys: [] });
    replaceFile(join(dir, KEY_FILE), `${JSON.stringify(next, null, 2)}\n`);
    return result;
  } catch (error) {
    throw error instanceof QuotekeeperError ? error : unwritable(dir, error);
  } finally {
    unlinkSync(lock);
  }
}

async function acquireLock(dir: string, clock: Clock): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await makeDataDir(dirname(dir), "owner");
      await makeDirectories(dir, 0o700);
      return writeNew(join(dir, LOCK_FILE), "");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unwritable(dir, error);
      if (tries >= LOCK_TRIES)
        throw new QuotekeeperError(
          "KEYS_BUSY",
          `${join(dir, LOCK_FILE)} is there, so the keys are being changed`,
        );
      await clock.sleep(LOCK_WAIT_MS);
    }
  }
}

function unwritable(dir: string, cause: unknown): QuotekeeperError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new QuotekeeperError("KEYS_UNWRITABLE", `${dir} cannot be written (${code ?? message})`, { cause });
}

function usage(detail: string): QuotekeeperError {
  return new QuotekeeperError("USAGE", detail);
}

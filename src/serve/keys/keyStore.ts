/** The keys of a service: added, listed, revoked, and opened for the service itself. */
import { unlinkSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { makeDataDir } from "../../journal/modes.ts";
import type { Credentials } from "../../quotes-api/oauth/signature.ts";
import type { AccessLevel, ServiceKey } from "./key.ts";
import {
  ensureSealingSecret,
  IV_LENGTH,
  readSealingSecret,
  SALT_LENGTH,
  seal,
  sealingKey,
  type SealingSource,
  unseal,
  replaceFile,
  writeNew,
} from "./sealing.ts";
import { z } from "zod";
import { readTextFileSync } from "../../plainFiles.ts";

/** Where the keys are, and what seals them. */
export type KeyPlace = SealingSource & { clock: Clock };

/** A key to add. What is not given is made. */
export type NewKey = {
  label: string | null;
  access: AccessLevel;
  /** Quote calls per window; null: the service's limit. */
  quoteLimit: number | null;
  consumerKey?: string;
  token?: string;
  /** Both or none. */
  secrets?: Pick<Credentials, "consumerSecret" | "accessTokenSecret">;
};

/** A key that was added: the only time that its secrets are seen. */
type AddedKey = { stored: StoredKey; credentials: Credentials; sealedBy: string };

const LOCK_FILE = "keys.lock";
const LOCK_TRIES = 50;
const LOCK_WAIT_MS = 100;

/**
 * Adds a key. A consumer key that is there already keeps its secret, and gets another token.
 *
 * @throws QuotekeeperError USAGE when label or token are taken, or a secret contradicts the one that is kept;
 *   KEYS_BUSY, KEYS_UNREADABLE, KEYS_UNWRITABLE
 */
export async function addKey(place: KeyPlace, asked: NewKey): Promise<AddedKey> {
  const { clock } = place;
  return changing(place, (file) => {
    const { secret, from } = ensureSealingSecret(place, clock);
    // A dash at the front would be an option to `serve keys revoke`.
    const word = (): string => Buffer.from(clock.random(18)).toString("base64url").replace(/^-/, "_");
    const names = { consumerKey: asked.consumerKey ?? word(), accessToken: asked.token ?? word() };
    if (file.keys.some(({ token }) => token === names.accessToken))
      throw usage("a key has that token already");
    if (asked.label !== null && file.keys.some(({ label }) => label === asked.label))
      throw usage(`a key has the label ${asked.label} already`);
    const key = sealingKey(secret, Buffer.from(file.salt, "base64url"));
    const sibling = file.keys.find(({ consumerKey }) => consumerKey === names.consumerKey);
    const known = sibling && open(sibling, key, place).consumerSecret;
    if (known !== undefined && asked.secrets && asked.secrets.consumerSecret !== known)
      throw usage("that consumer key is there already, with another secret");
    const credentials = {
      ...names,
      consumerSecret: asked.secrets?.consumerSecret ?? known ?? word(),
      accessTokenSecret: asked.secrets?.accessTokenSecret ?? word(),
    };
    const stored = close(credentials, asked, { key, clock });
    return {
      next: { ...file, keys: [...file.keys, stored] },
      result: { stored, credentials, sealedBy: from },
    };
  });
}

/** The keys, oldest first, with their secrets sealed: no sealing secret is needed. */
export function listKeys({ dir }: Pick<KeyPlace, "dir">): readonly StoredKey[] {
  return readKeyFile(dir)?.keys ?? [];
}

/**
 * Takes a key away; services that run refuse it from the next call on.
 *
 * @param which its token or its label
 * @throws QuotekeeperError USAGE when there is none; KEYS_BUSY, KEYS_UNREADABLE, KEYS_UNWRITABLE
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
 * The keys with their secrets, for a service to verify with.
 *
 * @throws QuotekeeperError KEYS_UNREADABLE
 */
export function openKeys(place: SealingSource): readonly ServiceKey[] {
  const file = readKeyFile(place.dir);
  if (!file || file.keys.length === 0) return [];
  const key = sealingKey(readSealingSecret(place).secret, Buffer.from(file.salt, "base64url"));
  return file.keys.map((stored) => open(stored, key, place));
}

/** What a sealed secret belongs to: nobody can give a token another one's secret, or more rights. */
function boundTo(
  name: string,
  key: Pick<StoredKey, "consumerKey" | "token" | "access" | "quoteLimit">,
): string {
  return JSON.stringify([name, key.consumerKey, key.token, key.access, key.quoteLimit]);
}

function close(
  credentials: Credentials,
  { label, access, quoteLimit }: NewKey,
  { key, clock }: { key: Buffer; clock: Clock },
): StoredKey {
  const { consumerKey, accessToken: token } = credentials;
  const names = { consumerKey, token, access, quoteLimit };
  const sealed = (name: string, plain: string): string =>
    seal(plain, key, { boundTo: boundTo(name, names), iv: clock.random(IV_LENGTH) });
  return {
    label,
    ...names,
    addedAt: clock.now().toISOString(),
    consumerSecret: sealed("consumerSecret", credentials.consumerSecret),
    tokenSecret: sealed("tokenSecret", credentials.accessTokenSecret),
  };
}

function open(stored: StoredKey, key: Buffer, { dir }: SealingSource): ServiceKey {
  const consumerSecret = unseal(stored.consumerSecret, key, boundTo("consumerSecret", stored));
  const accessTokenSecret = unseal(stored.tokenSecret, key, boundTo("tokenSecret", stored));
  if (consumerSecret === null || accessTokenSecret === null) {
    throw new QuotekeeperError(
      "KEYS_UNREADABLE",
      `${join(dir, KEY_FILE)} was sealed with another secret, or was changed`,
    );
  }
  return {
    consumerKey: stored.consumerKey,
    consumerSecret,
    accessToken: stored.token,
    accessTokenSecret,
    access: stored.access,
    ...(stored.quoteLimit !== null && { quoteLimit: stored.quoteLimit }),
  };
}

/** One change at a time, whoever makes it; the file is replaced in one step. */
async function changing<T>(
  { dir, clock }: KeyPlace,
  change: (file: KeyFile) => { next: KeyFile; result: T },
): Promise<T> {
  const lock = join(dir, LOCK_FILE);
  await takeLock(dir, clock);
  try {
    const salt = Buffer.from(clock.random(SALT_LENGTH)).toString("base64url");
    const { next, result } = change(readKeyFile(dir) ?? { version: 1, salt, keys: [] });
    replaceFile(join(dir, KEY_FILE), `${JSON.stringify(next, null, 2)}\n`);
    return result;
  } catch (error) {
    throw error instanceof QuotekeeperError ? error : unwritable(dir, error);
  } finally {
    unlinkSync(lock);
  }
}

async function takeLock(dir: string, clock: Clock): Promise<void> {
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

// The file of the keys: names and rights in the clear, secrets sealed.

/** The file's name in the directory of the keys. */
const KEY_FILE = "keys.json";

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
type KeyFile = z.infer<typeof keyFile>;

/**
 * Reads the file.
 *
 * @param dir the directory of the keys
 * @returns null when there is none
 * @throws QuotekeeperError KEYS_UNREADABLE
 */
function readKeyFile(dir: string): KeyFile | null {
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

// The keys of a running service: those of the file as they are at each call, and those given for the run.

/**
 * Follows the file of keys. It is looked at on each call, so that a key that was revoked is refused at once; it is read
 * again only when it is another file than before, for each change replaces it.
 *
 * @param ofRun keys that are not in the file
 * @param onProblem called once for each state of the file that cannot be read; the keys from before stay
 * @throws QuotekeeperError KEYS_UNREADABLE when it cannot be read at the beginning
 */
export function followKeys(
  place: SealingSource,
  ofRun: readonly ServiceKey[],
  onProblem: (error: unknown) => void,
): () => readonly ServiceKey[] {
  const path = join(place.dir, KEY_FILE);
  let seen = versionOf(path);
  let keys = [...openKeys(place), ...ofRun];
  return () => {
    const version = versionOf(path);
    if (version === seen) return keys;
    seen = version;
    try {
      keys = [...openKeys(place), ...ofRun];
    } catch (error) {
      onProblem(error);
    }
    return keys;
  };
}

/** A text that differs from one file of this name to the next; empty when there is none. */
function versionOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}` : "";
}

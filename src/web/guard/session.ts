/**
 * Logins. A cookie holds nothing but chance and its end. What it stands for is a record that this side keeps: a login ends
 * when its record is removed, and it is bound to the token by an HMAC whose key is the cookie itself. So neither the
 * cookie nor the record alone tells whether a guess at the token is right.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { readTextFileSync } from "../../plainFiles.ts";

export const COOKIE = "quotekeeper_session";

/** How long a login lasts, ms. */
export const SESSION_MS = 30 * 86_400_000;

/** Most logins at a time. One more ends the login that would end first. */
const MOST_SESSIONS = 1_000;

const CHANCE_BYTES = 32;

/** Whether two texts are the same, in a time that tells nothing of where they differ. */
export function sameText(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/**
 * @param token every login ends when it becomes another
 * @param records where logins are kept; several processes may use the same
 */
export function createSessions(
  token: string,
  records: Records,
  { now, random }: Pick<Clock, "now" | "random">,
) {
  const proofOf = (value: string): string => createHmac("sha256", value).update(token).digest("hex");
  const lasts = (name: string): boolean => endOf(name) > now().getTime();
  return {
    /** Begins one. @returns the cookie's value */
    issue: (): string => {
      const names = records.names().sort();
      const room = MOST_SESSIONS - 1;
      const kept = names.filter(lasts).slice(-room);
      for (const name of names) if (!kept.includes(name)) records.remove(name);
      const value = `${now().getTime() + SESSION_MS}-${Buffer.from(random(CHANCE_BYTES)).toString("hex")}`;
      records.write(nameOf(value) ?? "", proofOf(value));
      return value;
    },
    /** Whether a value was issued under this token, by this process or another on the same records, and has not ended. */
    isGood: (value: string): boolean => {
      const name = nameOf(value);
      const proof = name !== null && lasts(name) ? records.read(name) : null;
      return proof !== null && sameText(proofOf(value), proof);
    },
    /** Ends one, for all processes on the same records. Does nothing for a value that was never issued. */
    end: (value: string): void => {
      const name = nameOf(value);
      if (name !== null) records.remove(name);
    },
  };
}

/** The name of a value's record, which does not tell the value; null for a text that is no value. */
export function nameOf(value: string): string | null {
  if (!/^\d{13}-[0-9a-f]{64}$/.test(value)) return null;
  return `${endOf(value)}-${createHash("sha256").update(value).digest("hex")}`;
}

const endOf = (name: string): number => Number(name.split("-")[0]);

/** Texts by name. A name begins with the time at which it ends, epoch ms. */
export type Records = {
  /** Null: there is none. */
  read: (name: string) => string | null;
  write: (name: string, text: string) => void;
  remove: (name: string) => void;
  names: () => string[];
};

/**
 * Records in files that only their owner may read. What cannot be kept there is kept in memory, and lives as long as the
 * process: where there is no data directory, or none that may be written to.
 *
 * @param dir directory below the data directory, made when it is needed; null: all of them are kept in memory
 */
export function createRecords(dir: string | null, log: Pick<Log, "warn">): Records {
  /** An empty text: its file could not be removed. */
  const unkept = new Map<string, string>();
  const keep = (name: string, text: string, error: unknown): void => {
    unkept.set(name, text);
    log.warn(
      { reason: (error as Error).message },
      `a login cannot be ${text === "" ? "ended" : "kept"} beyond this process`,
    );
  };
  return {
    read: (name) => unkept.get(name) ?? (dir === null ? null : readRecord(join(dir, name))),
    write: (name, text) => {
      if (dir === null) return void unkept.set(name, text);
      try {
        makeOwnDir(dir);
        writeFileSync(join(dir, name), text, { mode: 0o600, flag: "wx" });
      } catch (error) {
        keep(name, text, error);
      }
    },
    remove: (name) => {
      unkept.delete(name);
      if (dir === null) return;
      try {
        rmSync(join(dir, name), { force: true });
      } catch (error) {
        keep(name, "", error);
      }
    },
    names: () => [...unkept.keys(), ...(dir === null ? [] : namesIn(dir))],
  };
}

function readRecord(path: string): string | null {
  try {
    return readTextFileSync(path, { links: false, most: 1_000 }).text;
  } catch {
    return null;
  }
}

/** Files of other names are no records, and stay. */
function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => /^\d{13}-[0-9a-f]{64}$/.test(name));
  } catch {
    return [];
  }
}

/** @throws an error where there is no directory above it */
function makeOwnDir(dir: string): void {
  statSync(dirname(dir));
  mkdirSync(dir, { recursive: true, mode: 0o700 });
}

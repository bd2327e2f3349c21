/**
 * What signs the cookies of logins. It is made of the token, so that another token ends every login, and of chance that only this
 * machine has, so that a cookie does not tell whether a guess at the token is right.
 */
import { createHmac } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../ground/clock.ts";
import type { Log } from "../../ground/log.ts";
import { readTextFileSync } from "../../ground/plainFiles.ts";

const FILE = "key";

const CHANCE_BYTES = 32;

type KeyOptions = {
  token: string;
  /** Directory of the dashboard below the data directory, made when it is needed; null: logins last as long as this process. */
  dir: string | null;
  clock: Pick<Clock, "random">;
  log: Pick<Log, "warn">;
};

/** 64 hexadecimal digits; the same in every process with this directory and this token. Remove the file to end all logins. */
export function loginKey({ token, dir, clock, log }: KeyOptions): string {
  const makeChance = (): string => Buffer.from(clock.random(CHANCE_BYTES)).toString("hex");
  const chance = (dir !== null && (keptChance(dir) ?? keepChance(dir, makeChance(), log))) || makeChance();
  return createHmac("sha256", chance).update(token).digest("hex");
}

function keptChance(dir: string): string | null {
  try {
    const { text } = readTextFileSync(join(dir, FILE), { links: false, most: 1_000 });
    return /^[0-9a-f]{64}$/.test(text) ? text : null;
  } catch {
    return null;
  }
}

/** @returns what is kept: another process may have been first; null: nothing can be kept there */
function keepChance(dir: string, chance: string, log: Pick<Log, "warn">): string | null {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, FILE), chance, { mode: 0o600, flag: "wx" });
    return chance;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const kept = code === "EEXIST" ? keptChance(dir) : null;
    if (kept === null) log.warn({ reason: message }, "logins cannot be kept beyond this process");
    return kept;
  }
}

/** What is said of a lock that another process holds, or may hold. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";
import { exchangeTime } from "../../market/calendar/dates.ts";
import { cutText } from "../../ground/outsideText.ts";
import { inNewYork } from "../../market/durations.ts";
import type { Answer } from "./lockDoor.ts";

/** What one process alone may do on a data directory at a time. */
export type LockedWork = {
  /** The directory of the sockets, below the data directory; for its owner alone. */
  dir: string;
  code: "COLLECTOR_RUNNING" | "SERVE_RUNNING";
  /** Who does it, and what is done to the data directory, in words. */
  who: string;
  done: string;
  /** Whether it is a command's that polls once: it releases the lock as soon as a collector wants it. */
  once?: true;
};

/**
 * The name of a socket: process, run, kernel, and the beginning of the machine's name; `new-` until somebody listens. `once-` is a
 * command's.
 */
export const NAME = /^(?:new-)?(?:once-)?(\d{1,10})-([0-9a-f]{16})-([0-9a-f]{8})-([\w.-]{1,16})$/;

/** Whether a socket is a command's that polls once. */
export function isOnceFile(file: string): boolean {
  return /^(?:new-)?once-/.test(file);
}

export function alreadyRunning(
  dataDir: string,
  holder: Answer,
  { code, done }: LockedWork,
): QuotekeeperError {
  return new QuotekeeperError(code, `${dataDir} is ${done} by ${processInWords(holder)}`);
}

/** `process 4711 on quotes-1 since 2026-11-22 00:49 New York`. */
function processInWords({ pid, host, since }: Answer): string {
  return `process ${pid} on ${host} since ${minuteOf(since)} New York`;
}

/** `2026-11-22 00:49`, the exchange's time. What is no time, for anybody may answer, is shown as it is. */
function minuteOf(since: string): string {
  const at = new Date(since);
  return Number.isNaN(at.getTime())
    ? cutText(since, 40)
    : exchangeTime(at).slice(0, "2026-11-22 00:49".length);
}

export function standsStill(file: string): string {
  return `the command behind ${file} polls once, and does not answer: it may be stopped. What it polls is taken over, and it makes no more calls`;
}

export function mayRunElsewhere(file: string, { who }: LockedWork): string {
  return `${file} is of a ${who} on another machine, or of this one before it was started anew: whether that one still runs cannot be seen from here. See that it does not, and remove the file.`;
}

export async function notAnswering(
  dataDir: string,
  file: string,
  { dir, code, who }: LockedWork,
): Promise<QuotekeeperError> {
  const [, pid = "", , , host = ""] = NAME.exec(file) ?? [];
  const since = await stat(join(dataDir, dir, file)).then(
    ({ mtime }) => ` since ${inNewYork(mtime)}`,
    () => "",
  );
  return new QuotekeeperError(
    code,
    `${dataDir} is locked by process ${pid} on ${host}${since}, which does not answer: it may be stopped, or be no ${who} at all (${join(dataDir, dir, file)})`,
  );
}

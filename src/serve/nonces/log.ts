/**
 * What the calls of a service have used up, on disk: nonces, so that one that was used is refused after a restart as well,
 * and budgets, so that a restart gives none back.
 *
 * Each run writes files of its own and begins a new one every minute; nothing is ever written into a file that another
 * run began. A file's name says when it was begun, its first line the horizon: timestamps below it are in files that went,
 * and are never accepted again. A file goes some minutes after nothing in it can be accepted any more, and when a newer
 * one has a horizon above it. So the disk holds a few minutes, a line that a kill cut short stands at the end of its
 * file, and no order of kills lets a nonce in twice.
 *
 * The lines of calls that came together are written together, and are with the system before any of those calls is
 * answered: a kill of the process loses none. A machine that loses its power may lose some; after it has started again,
 * no timestamp from before that is accepted.
 *
 * A budget's line says how many calls of a token and class have been counted in a window; the last one counts. Each new
 * file begins with the windows that go on, so that it does not matter when older ones go. Versions that knew no budgets
 * pass over these lines.
 */
import { closeSync, openSync, readdirSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { readTextFileSync } from "../../plainFiles.ts";
import type { KeptWindow } from "../budgets.ts";
import type { CallClass } from "../limits.ts";
import type { UsedBy, UsedNonce } from "../../quotes-api/oauth/nonces.ts";

/** What earlier runs used up, and where this run writes. */
export type NonceLog = {
  remembered: readonly UsedNonce[];
  /** Timestamps below this one are never to be accepted, Unix seconds. */
  horizon: number;
  /** The windows of budgets that earlier runs had begun, each token and class once. */
  windows: readonly KeptWindow[];
  /** Notes a window that has changed; it is written with the next nonce. */
  note: (window: KeptWindow) => void;
  /** Notes a nonce that is to be written down. */
  append: (used: UsedNonce, of: Omit<UsedBy, "token">) => void;
  /**
   * Writes down what was noted since the last time; to be called before the calls of those nonces are answered.
   *
   * @throws QuotekeeperError NONCES_UNWRITABLE when the disk takes nothing; calls of these nonces are not to be accepted
   */
  write: () => void;
  /** Writes nothing more. */
  close: () => void;
};

/** What the log needs to know. */
export type NonceLogOptions = {
  /** The directory, which is there. */
  dir: string;
  clock: Pick<Clock, "now" | "random">;
  windowSeconds: number;
  /** How long the machine has been running, seconds. */
  uptimeSeconds: number;
  /** How long a window of a budget is, ms. */
  limitWindowMs: number;
};

/** How long a run writes into one file, seconds. */
const FILE_SECONDS = 60;

/**
 * Assumed: a horizon that lies further ahead than this, in seconds, was written while the clock was wrong. If it were
 * obeyed, every call would be refused until then.
 */
export const MAX_CLOCK_STEP_SECONDS = 900;

const HEADER = /^quotekeeper-nonces 1 (-?\d{1,15})$/;
const LINE = /^(\d{1,15}) ([\w-]{22})$/;
const WINDOW = /^budget (quotes|orders|other) ([\w-]{22}) (-?\d{1,16}) (\d{1,10})$/;

type NonceFile = {
  path: string;
  begunAt: number;
  horizon: number;
  used: UsedNonce[];
  windows: KeptWindow[];
};
type ClosedFile = { path: string; begunAt: number; newest: number };
type OpenFile = ClosedFile & { fd: number };

/** Lines that wait to be written, the newest timestamp in them, and the moment they are of. */
type Waiting = { lines: string; newest: number; nowSeconds: number; horizon: number };

/**
 * Opens the log, which reads what earlier runs left and begins a file.
 *
 * @throws QuotekeeperError NONCES_UNWRITABLE
 */
export function openNonceLog(options: NonceLogOptions): NonceLog {
  const { dir, clock, windowSeconds, uptimeSeconds, limitWindowMs } = options;
  const nowSeconds = Math.floor(clock.now().getTime() / 1000);
  const found = attempt(dir, () => readFiles(dir));
  // What was accepted before the machine started, and perhaps not kept by its disk, had at most this timestamp.
  const sinceBoot = Math.floor(nowSeconds - uptimeSeconds) + windowSeconds + 1;
  const kept = found.map((file) => file.horizon).filter((at) => at <= nowSeconds + MAX_CLOCK_STEP_SECONDS);
  let horizon = Math.max(sinceBoot, ...kept);
  let closed: ClosedFile[] = found.map(({ path, begunAt, used }) => ({
    path,
    begunAt,
    newest: newestOf(used),
  }));
  let current: OpenFile | null = null;
  let waiting: Waiting | null = null;
  const windows = new Map<string, KeptWindow>();
  for (const window of found.flatMap((file) => file.windows)) windows.set(nameOf(window), window);
  /** Those that have changed since they were last written. */
  const changed = new Map<string, KeptWindow>();

  function begin(at: number, above: number): OpenFile {
    const { fd, path } = openNew(join(dir, `${at}-${Buffer.from(clock.random(8)).toString("hex")}`));
    // Files that nobody writes into any more, and of which nothing could be accepted again.
    const isOver = (file: ClosedFile): boolean => file.newest < above && file.begunAt < at - 2 * FILE_SECONDS;
    const over = closed.filter(isOver);
    closed = closed.filter((file) => !isOver(file));
    horizon = Math.max(horizon, ...over.map(({ newest }) => newest + 1));
    for (const [name, { startMs }] of windows)
      if (startMs + limitWindowMs <= clock.now().getTime()) windows.delete(name);
    // The horizon and the windows are kept before the files go that they stand for.
    try {
      writeLines(fd, `quotekeeper-nonces 1 ${horizon}\n${linesOf(windows.values())}`);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    for (const { path: old } of over) remove(old);
    current = { fd, path, begunAt: at, newest: 0 };
    return current;
  }

  function end(): void {
    if (!current) return;
    const { fd, ...file } = current;
    current = null;
    closed.push(file);
    closeSync(fd);
  }

  function write({ lines, newest, nowSeconds: at, horizon: above }: Waiting): void {
    if (current && Math.abs(at - current.begunAt) >= FILE_SECONDS) end();
    const file = current ?? begin(at, above);
    file.newest = Math.max(file.newest, newest);
    try {
      writeLines(file.fd, lines + linesOf(changed.values()));
      changed.clear();
    } catch (error) {
      // A line that was written in part stands at the end of its file, and nothing behind it.
      end();
      throw error;
    }
  }

  attempt(dir, () => begin(nowSeconds, nowSeconds - windowSeconds));
  return {
    remembered: found.flatMap(({ used }) => used).filter(({ timestamp }) => timestamp >= horizon),
    horizon,
    windows: [...windows.values()],
    note: (window) => {
      const name = nameOf(window);
      windows.set(name, window);
      changed.set(name, window);
    },
    append: ({ timestamp, mark }, { nowSeconds: at, horizon: above }) => {
      const { lines, newest } = waiting ?? { lines: "", newest: timestamp };
      waiting = {
        lines: `${lines}${timestamp} ${mark}\n`,
        newest: Math.max(newest, timestamp),
        nowSeconds: at,
        horizon: above,
      };
    },
    write: () => {
      const noted = waiting;
      waiting = null;
      if (noted) attempt(dir, () => write(noted));
    },
    close: end,
  };
}

/** A file that was not there, of a name that begins as given. */
function openNew(start: string): { fd: number; path: string } {
  for (let tries = 0; ; tries++) {
    const path = `${start}${tries === 0 ? "" : `-${tries}`}.nonces`;
    try {
      return { fd: openSync(path, "ax", 0o600), path };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/** Every file, of any run, in the order in which they were begun. One whose header was cut short holds nothing; its name says when it was begun. */
function readFiles(dir: string): NonceFile[] {
  const files = readdirSync(dir).flatMap((name) => {
    const begunAt = Number(/^(\d{1,15})-.*\.nonces$/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(begunAt)) return [];
    const path = join(dir, name);
    const [first = "", ...lines] = readTextFileSync(path, { links: false, most: Infinity }).text.split("\n");
    const header = HEADER.exec(first);
    if (!header) return [{ path, begunAt, horizon: Number.NEGATIVE_INFINITY, used: [], windows: [] }];
    const used = lines.flatMap((line) => {
      const [, timestamp, mark = ""] = LINE.exec(line) ?? [];
      return timestamp === undefined ? [] : [{ timestamp: Number(timestamp), mark }];
    });
    const windows = lines.flatMap((line) => windowOf(line) ?? []);
    return [{ path, begunAt, horizon: Number(header[1]), used, windows }];
  });
  return files.sort((one, other) => one.begunAt - other.begunAt || (one.path < other.path ? -1 : 1));
}

function windowOf(line: string): KeptWindow | null {
  const [, callClass, tokenMark = "", startMs, used] = WINDOW.exec(line) ?? [];
  if (callClass === undefined) return null;
  return { callClass: callClass as CallClass, tokenMark, startMs: Number(startMs), used: Number(used) };
}

function linesOf(windows: Iterable<KeptWindow>): string {
  return [...windows]
    .map(({ callClass, tokenMark, startMs, used }) => `budget ${callClass} ${tokenMark} ${startMs} ${used}\n`)
    .join("");
}

function nameOf({ callClass, tokenMark }: KeptWindow): string {
  return `${callClass} ${tokenMark}`;
}

function newestOf(used: readonly UsedNonce[]): number {
  return used.reduce((newest, { timestamp }) => Math.max(newest, timestamp), 0);
}

/** @param lines ASCII */
function writeLines(fd: number, lines: string): void {
  const written = writeSync(fd, lines);
  if (written !== lines.length) throw Object.assign(new Error("the disk is full"), { code: "ENOSPC" });
}

/** Another run may have removed it already. */
function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function attempt<T>(dir: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new QuotekeeperError("NONCES_UNWRITABLE", `${dir} cannot be written (${code ?? message})`, {
      cause,
    });
  }
}

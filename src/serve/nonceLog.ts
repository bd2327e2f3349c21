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
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import { readTextFileSync } from "../plainFiles.ts";
import { type KeptWindow, type CallClass, ofEachClass } from "./limits.ts";
import type { UsedBy, UsedNonce } from "../quotes-api/oauth/nonces.ts";

/** What the log needs to know. */
type NonceLogOptions = {
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
const MAX_CLOCK_STEP_SECONDS = 900;

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

/** What earlier runs used up, and where this run writes. */
export class NonceLog {
  /** Nonces of earlier runs that might be used again. */
  readonly remembered: readonly UsedNonce[];
  /** Timestamps below this one are never to be accepted, Unix seconds. */
  readonly horizon: number;
  /** The windows of budgets that earlier runs had begun, each token and class once. */
  readonly windows: readonly KeptWindow[];
  readonly #options: NonceLogOptions;
  /** Stands in the header of each new file; it rises as older files go. */
  #horizon: number;
  #closed: ClosedFile[];
  #current: OpenFile | null = null;
  #waiting: Waiting | null = null;
  readonly #windows = ofEachClass<KeptWindow>();
  /** Those that have changed since they were last written. */
  readonly #changed = ofEachClass<KeptWindow>();

  /**
   * Reads what earlier runs left and begins a file.
   *
   * @throws QuotekeeperError NONCES_UNWRITABLE
   */
  constructor(options: NonceLogOptions) {
    this.#options = options;
    const { dir, clock, windowSeconds, uptimeSeconds } = options;
    const nowSeconds = Math.floor(clock.now().getTime() / 1000);
    const found = attempt(dir, () => readFiles(dir));
    // What was accepted before the machine started, and perhaps not kept by its disk, had at most this timestamp.
    const sinceBoot = Math.floor(nowSeconds - uptimeSeconds) + windowSeconds + 1;
    const kept = found.map((file) => file.horizon).filter((at) => at <= nowSeconds + MAX_CLOCK_STEP_SECONDS);
    this.#horizon = Math.max(sinceBoot, ...kept);
    this.#closed = found.map(({ path, begunAt, used }) => ({ path, begunAt, newest: newestOf(used) }));
    for (const window of found.flatMap((file) => file.windows))
      this.#windows[window.callClass].set(window.tokenMark, window);
    attempt(dir, () => this.#begin(nowSeconds, nowSeconds - windowSeconds));
    this.horizon = this.#horizon;
    this.remembered = found.flatMap(({ used }) => used).filter(({ timestamp }) => timestamp >= this.horizon);
    this.windows = allOf(this.#windows);
  }

  /** Notes a window that has changed; it is written with the next nonce. */
  note(window: KeptWindow): void {
    const { callClass, tokenMark } = window;
    this.#windows[callClass].set(tokenMark, window);
    this.#changed[callClass].set(tokenMark, window);
  }

  /** Notes a nonce that is to be written down. */
  append({ timestamp, mark }: UsedNonce, { nowSeconds, horizon }: Omit<UsedBy, "token">): void {
    const waiting = (this.#waiting ??= { lines: "", newest: timestamp, nowSeconds, horizon });
    waiting.lines += `${timestamp} ${mark}\n`;
    waiting.newest = Math.max(waiting.newest, timestamp);
    waiting.nowSeconds = nowSeconds;
    waiting.horizon = horizon;
  }

  /**
   * Writes down what was noted since the last time; to be called before the calls of those nonces are answered.
   *
   * @throws QuotekeeperError NONCES_UNWRITABLE when the disk takes nothing; calls of these nonces are not to be accepted
   */
  write(): void {
    const noted = this.#waiting;
    this.#waiting = null;
    if (noted) attempt(this.#options.dir, () => this.#write(noted));
  }

  /** Writes nothing more. */
  close(): void {
    if (!this.#current) return;
    const { fd, ...file } = this.#current;
    this.#current = null;
    this.#closed.push(file);
    closeSync(fd);
  }

  #begin(at: number, above: number): OpenFile {
    const { dir, clock, limitWindowMs } = this.#options;
    const { fd, path } = openNew(join(dir, `${at}-${Buffer.from(clock.random(8)).toString("hex")}`));
    // Files that nobody writes into any more, and of which nothing could be accepted again.
    const isOver = (file: ClosedFile): boolean => file.newest < above && file.begunAt < at - 2 * FILE_SECONDS;
    const over = this.#closed.filter(isOver);
    this.#closed = this.#closed.filter((file) => !isOver(file));
    this.#horizon = Math.max(this.#horizon, ...over.map(({ newest }) => newest + 1));
    for (const { callClass, tokenMark, startMs } of allOf(this.#windows))
      if (startMs + limitWindowMs <= clock.now().getTime()) this.#windows[callClass].delete(tokenMark);
    // The horizon and the windows are kept before the files go that they stand for.
    try {
      writeLines(fd, `quotekeeper-nonces 1 ${this.#horizon}\n${linesOf(this.#windows)}`);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    for (const { path: old } of over) remove(old);
    return (this.#current = { fd, path, begunAt: at, newest: 0 });
  }

  #write({ lines, newest, nowSeconds, horizon }: Waiting): void {
    if (this.#current && Math.abs(nowSeconds - this.#current.begunAt) >= FILE_SECONDS) this.close();
    const file = this.#current ?? this.#begin(nowSeconds, horizon);
    file.newest = Math.max(file.newest, newest);
    try {
      writeLines(file.fd, lines + linesOf(this.#changed));
      for (const changed of Object.values(this.#changed)) changed.clear();
    } catch (error) {
      // A line that was written in part stands at the end of its file, and nothing behind it.
      this.close();
      throw error;
    }
  }
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

type Windows = Record<CallClass, Map<string, KeptWindow>>;

function linesOf(windows: Windows): string {
  let lines = "";
  for (const ofClass of Object.values(windows))
    for (const { callClass, tokenMark, startMs, used } of ofClass.values())
      lines += `budget ${callClass} ${tokenMark} ${startMs} ${used}\n`;
  return lines;
}

function allOf(windows: Windows): KeptWindow[] {
  return Object.values(windows).flatMap((ofClass) => [...ofClass.values()]);
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

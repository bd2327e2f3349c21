/**
 * Used nonces and budgets of a service on disk, so that a restart neither accepts a used nonce nor resets a budget.
 *
 * Each run begins a new file every minute, and writes only into its own files. A file's name says when it was begun. Its
 * first line is the horizon: timestamps below it were in removed files, and are never accepted again. A file is removed
 * some minutes after nothing in it could be accepted any more, once a newer file has a horizon above it. So the disk holds
 * a few minutes, a truncated line stands at the end of its file, and no order of kills accepts a nonce twice.
 *
 * The lines of calls that came together are written together, before any of these calls is answered: a kill of the process
 * loses none. A machine that loses its power may lose some; after its start no earlier timestamp is accepted.
 *
 * A budget's line says how many calls of a token and class were counted in a window; the last line counts. Each new file
 * begins with the open windows, so older files can be removed at any time. Versions without budgets ignore these lines.
 */
import { closeSync, openSync, readdirSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { readTextFileSync } from "../ground/plainFiles.ts";
import { type CallClass } from "./limits.ts";
import { type KeptWindow, windowName } from "./budgets.ts";
import type { UsedBy, UsedNonce } from "../services/oauth/nonces.ts";

type NonceLogOptions = {
  dir: string;
  clock: Pick<Clock, "now" | "random">;
  windowSeconds: number;
  uptimeSeconds: number;
  /** Length of a budget's window, ms. */
  limitWindowMs: number;
};

/** How long a run writes to one file, seconds. */
const FILE_SECONDS = 60;

/**
 * Assumed: a horizon that lies further ahead than this, in seconds, was written while the clock was wrong. Obeying it would
 * refuse every call until then.
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

/** Lines to be written, their newest timestamp, and the moment of the call. */
type WaitingLines = { lines: string; newest: number; nowSeconds: number; horizon: number };

export class NonceLog {
  /** Nonces of earlier runs whose timestamps are still accepted. */
  readonly remembered: readonly UsedNonce[];
  /** Timestamps below this one must never be accepted, Unix seconds. */
  readonly horizon: number;
  /** Windows of earlier runs, one for each token and class. */
  readonly windows: readonly KeptWindow[];
  readonly #options: NonceLogOptions;
  /** Written to the header of each new file; rises as older files are removed. */
  #horizon: number;
  #closed: ClosedFile[];
  #current: OpenFile | null = null;
  #waiting: WaitingLines | null = null;
  readonly #windows: Windows = new Map();
  readonly #changed: Windows = new Map();

  /**
   * Reads the files of earlier runs and begins a file.
   *
   * @throws QuotekeeperError NONCES_UNWRITABLE
   */
  constructor(options: NonceLogOptions) {
    this.#options = options;
    const { dir, clock, windowSeconds, uptimeSeconds } = options;
    const nowSeconds = Math.floor(clock.now().getTime() / 1000);
    const found = attempt(dir, () => readFiles(dir));
    // The disk may have lost nonces from before the machine's start, which had at most this timestamp.
    const sinceBoot = Math.floor(nowSeconds - uptimeSeconds) + windowSeconds + 1;
    const kept = found.map((file) => file.horizon).filter((at) => at <= nowSeconds + MAX_CLOCK_STEP_SECONDS);
    this.#horizon = Math.max(sinceBoot, ...kept);
    this.#closed = found.map(({ path, begunAt, used }) => ({ path, begunAt, newest: newestOf(used) }));
    for (const window of found.flatMap((file) => file.windows)) this.#windows.set(windowName(window), window);
    attempt(dir, () => this.#begin(nowSeconds, nowSeconds - windowSeconds));
    this.horizon = this.#horizon;
    this.remembered = found.flatMap(({ used }) => used).filter(({ timestamp }) => timestamp >= this.horizon);
    this.windows = [...this.#windows.values()];
  }

  /** Notes a changed window, which is written with the next nonce. */
  note(window: KeptWindow): void {
    this.#windows.set(windowName(window), window);
    this.#changed.set(windowName(window), window);
  }

  /** Notes a nonce, which the next `write` writes. */
  append({ timestamp, mark }: UsedNonce, { nowSeconds, horizon }: Omit<UsedBy, "token">): void {
    const waiting = (this.#waiting ??= { lines: "", newest: timestamp, nowSeconds, horizon });
    waiting.lines += `${timestamp} ${mark}\n`;
    waiting.newest = Math.max(waiting.newest, timestamp);
    waiting.nowSeconds = nowSeconds;
    waiting.horizon = horizon;
  }

  /**
   * Writes what was noted since the last write. Must be called before the calls of these nonces are answered.
   *
   * @throws QuotekeeperError NONCES_UNWRITABLE when the disk refuses; calls of these nonces must not be accepted
   */
  write(): void {
    const noted = this.#waiting;
    this.#waiting = null;
    if (noted) attempt(this.#options.dir, () => this.#write(noted));
  }

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
    // Files that no run writes any more, and of which no nonce could be accepted again.
    const isOver = (file: ClosedFile): boolean => file.newest < above && file.begunAt < at - 2 * FILE_SECONDS;
    const over = this.#closed.filter(isOver);
    this.#closed = this.#closed.filter((file) => !isOver(file));
    this.#horizon = Math.max(this.#horizon, ...over.map(({ newest }) => newest + 1));
    for (const [name, { startMs }] of this.#windows)
      if (startMs + limitWindowMs <= clock.now().getTime()) this.#windows.delete(name);
    // The new header is written before the files are removed whose nonces it stands for.
    try {
      writeFileSync(fd, `quotekeeper-nonces 1 ${this.#horizon}\n${linesOf(this.#windows)}`);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    for (const { path: old } of over) remove(old);
    return (this.#current = { fd, path, begunAt: at, newest: 0 });
  }

  #write({ lines, newest, nowSeconds, horizon }: WaitingLines): void {
    if (this.#current && Math.abs(nowSeconds - this.#current.begunAt) >= FILE_SECONDS) this.close();
    const file = this.#current ?? this.#begin(nowSeconds, horizon);
    file.newest = Math.max(file.newest, newest);
    try {
      writeFileSync(file.fd, lines + linesOf(this.#changed));
      this.#changed.clear();
    } catch (error) {
      // A truncated line must stay the last line of its file.
      this.close();
      throw error;
    }
  }
}

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

/** The files of all runs, in the order of their beginnings. A file with a truncated header counts as empty. */
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

/** By `windowName`. */
type Windows = Map<string, KeptWindow>;

function linesOf(windows: Windows): string {
  let lines = "";
  for (const { callClass, tokenMark, startMs, used } of windows.values())
    lines += `budget ${callClass} ${tokenMark} ${startMs} ${used}\n`;
  return lines;
}

function newestOf(used: readonly UsedNonce[]): number {
  return used.reduce((newest, { timestamp }) => Math.max(newest, timestamp), 0);
}

/** Another run may have removed the file already. */
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

/**
 * The calls of the last moments, in files below the data directory: what a run must know of the one before that was
 * killed. The journal has answers alone, and their times by a clock that may have been moved since.
 *
 * Each process writes a file of its own for each account, `calls/<name>-<account>.log`: places of `PLACE_BYTES`, the first for how long nothing may
 * be sent, the others for calls, the newest in the place of the oldest. A call is written before it leaves and again
 * when it is over. Nothing is forced to the disk: a kill takes nothing from the system's memory. What a power failure
 * takes is not missed, for times are only believed of the boot that they were written in.
 *
 * Nothing here throws. What is torn or somebody else's is passed over; what cannot be written or read leaves the next
 * run with what the journal knows.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { type Clock, dateOf, type Instant } from "../ground/clock.ts";
import { readTextFileSync } from "../ground/plainFiles.ts";
import { CONCURRENCY } from "./dispatcher.ts";
import type { CallHistory, EarlierCall, GovernorConfig } from "./governor/state.ts";

export type CallLog = {
  /** A call leaves now. @returns to be called when it is over, answered or not */
  leaves: (requestId: string) => () => void;
  closed: (forMs: number) => void;
};

/** A log of calls that count nowhere: those to a service that ends with the process. */
export const NO_CALL_LOG: CallLog = { leaves: () => () => undefined, closed: () => undefined };

type NotedCalls = {
  calls: readonly EarlierCall[];
  requestIds: ReadonlySet<string>;
  certain: boolean;
  /** How long a run before still meant to send nothing, ms; 0 when it did not, or in another boot. */
  closedForMs: number;
  /** The present, by the wall clock as it was when the newest call was written: it may have been moved since. */
  thenNow: Date;
};

const DIRECTORY = "calls";
const SUFFIX = ".log";

/** Hexadecimal digits of an account's key in the name of a file; one without any, of an older version, counts for every account. */
const KEY_DIGITS = 16;

/** Bytes of a place; a page of memory holds whole ones, so that none is seen half written. */
const PLACE_BYTES = 256;

/** Calls that a file holds: two windows full, for as long as a governor looks back. */
const WINDOWS = 2;
const LEAST_PLACES = 256;

/** Assumed: no file is longer; a longer one is somebody else's. */
const MOST_BYTES = 64_000_000;

/** Assumed: uptime is given in hundredths of a second, so an age may be too large by this much, ms. */
const UPTIME_STEP_MS = 10;

/**
 * Assumed: a run of which not every call is noted was killed with as many under way as can be. Nothing of them is in the
 * journal, and the service may have counted them; a window with a few calls less is cheaper than a refusal.
 */
const UNANSWERED_AT_KILL = CONCURRENCY;

const WRITE = constants.O_WRONLY | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);

type Moment = { bootId: string | null; uptimeMs: number; wallMs: number };

/** What a place holds: a call, sent and over; or with an empty id until when nothing may be sent. */
type Place = { requestId: string; from: Moment; to: Moment | null };

type Line = [string, Moment["bootId"], number, number, number | null, number | null];

type CallLogOptions = {
  dataDir: string;
  /** The account's key (`accountKey`): other accounts' calls are none of it. */
  account: string;
  governor: Pick<GovernorConfig, "limit" | "windowMs">;
  clock: Clock;
  bootId: string | null;
  /** Told once when something cannot be written: the next run begins with care. */
  onProblem: (error: Error) => void;
};

export function openCallLog(options: CallLogOptions): CallLog {
  const { dataDir, account, governor, clock, onProblem } = options;
  const dir = join(dataDir, DIRECTORY);
  const name = Buffer.from(clock.random(12)).toString("hex");
  const path = join(dir, `${name}-${account.slice(0, KEY_DIGITS)}${SUFFIX}`);
  const places = Math.max(LEAST_PLACES, WINDOWS * governor.limit);
  let written = 0;
  let complained = false;
  const now = (): Moment => momentOf(options);
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!complained) onProblem(error as Error);
      complained = true;
    }
  };
  const write = (at: number, place: Place): void =>
    attempt(() => {
      try {
        writePlace(path, at, place);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
        // Somebody has removed the directory.
        prepare(dir, options);
        writePlace(path, at, place);
      }
    });
  attempt(() => prepare(dir, options));
  return {
    leaves: (requestId) => {
      const at = 1 + (written % places);
      written += 1;
      const from = now();
      write(at, { requestId, from, to: null });
      return () => write(at, { requestId, from, to: now() });
    },
    closed: (forMs) => {
      const from = now();
      write(0, { requestId: "", from, to: later(from, forMs) });
    },
  };
}

export function readCalls({
  dataDir,
  account,
  governor,
  ...present
}: Omit<CallLogOptions, "onProblem">): NotedCalls {
  const now = momentOf(present);
  const ours = `-${account.slice(0, KEY_DIGITS)}${SUFFIX}`;
  const names = namesIn(dataDir).filter((name) => name.endsWith(ours) || !name.includes("-"));
  const places = names.flatMap((name) => readPlaces(join(dataDir, DIRECTORY, name)));
  const calls = places.filter(({ requestId }) => requestId !== "");
  // One of the future counts: the wall clock was set back.
  const recent = calls.filter((call) => agesOf(call, now).fromMs < WINDOWS * governor.windowMs);
  const ofThisBoot = places.filter(({ from }) => sameBoot(from, now));
  const newest = ofThisBoot.reduce<Moment | null>(
    (last, { from }) => (last && last.uptimeMs >= from.uptimeMs ? last : from),
    null,
  );
  const closed = ofThisBoot.filter(({ requestId }) => requestId === "");
  return {
    calls: recent.map((call) => {
      const { fromMs, toMs } = agesOf(call, now);
      return { sentAgoMs: fromMs, answeredAgoMs: toMs };
    }),
    requestIds: new Set(calls.map(({ requestId }) => requestId)),
    certain: recent.every(({ from }) => sameBoot(from, now)),
    closedForMs: Math.max(0, ...closed.map((place) => -(agesOf(place, now).toMs ?? 0))),
    thenNow: new Date(newest ? newest.wallMs + (now.uptimeMs - newest.uptimeMs) : now.wallMs),
  };
}

function momentOf({ clock, bootId }: Pick<CallLogOptions, "clock" | "bootId">): Moment {
  return {
    bootId,
    uptimeMs: Math.round(clock.uptimeMs()),
    wallMs: clock.now().getTime(),
  };
}

function later({ bootId, uptimeMs, wallMs }: Moment, ms: number): Moment {
  return { bootId, uptimeMs: uptimeMs + ms, wallMs: wallMs + ms };
}

/** Whether an instant is of this boot, by a clock that says so. One that is ahead was the clock of another container. */
function sameBoot(at: Moment, now: Moment): boolean {
  return at.bootId !== null && at.bootId === now.bootId && at.uptimeMs <= now.uptimeMs;
}

/** How long ago, in ms: by the machine's clock where it is the same, else by the wall clock, which may have been moved. */
function agesOf({ from, to }: Place, now: Moment): { fromMs: number; toMs: number | null } {
  const ageMs = (at: Moment): number => {
    if (!sameBoot(from, now)) return now.wallMs - at.wallMs;
    const ms = now.uptimeMs - at.uptimeMs;
    return ms > 0 ? Math.max(0, ms - UPTIME_STEP_MS) : ms;
  };
  return { fromMs: ageMs(from), toMs: to && ageMs(to) };
}

function prepare(dir: string, { dataDir, governor, ...present }: CallLogOptions): void {
  try {
    mkdirSync(dir);
    // A umask may have taken more than it should, or less.
    chmodSync(dir, 0o700);
  } catch (error) {
    if (!statSync(dir).isDirectory()) throw error;
  }
  const now = momentOf(present);
  for (const name of namesIn(dataDir)) {
    const places = readPlaces(join(dir, name));
    const counts = places.some((place) => {
      const { fromMs, toMs } = agesOf(place, now);
      return (toMs ?? fromMs) <= WINDOWS * governor.windowMs;
    });
    if (places.length > 0 && !counts) rmSync(join(dir, name), { force: true });
  }
}

function namesIn(dataDir: string): string[] {
  try {
    return readdirSync(join(dataDir, DIRECTORY)).filter((name) => name.endsWith(SUFFIX));
  } catch {
    return [];
  }
}

function readPlaces(path: string): Place[] {
  try {
    const { text } = readTextFileSync(path, { links: false, most: MOST_BYTES });
    const places = Array.from({ length: text.length / PLACE_BYTES }, (_, at) =>
      placeIn(text.slice(at * PLACE_BYTES, (at + 1) * PLACE_BYTES)),
    );
    return places.filter((place) => place !== null);
  } catch {
    return [];
  }
}

/** Opened anew each time: another process may have removed it as too old. */
function writePlace(path: string, at: number, place: Place): void {
  const { requestId, from, to } = place;
  const { bootId, uptimeMs, wallMs } = from;
  const written: Line = [requestId, bootId, uptimeMs, wallMs, to && to.uptimeMs, to && to.wallMs];
  const json = JSON.stringify(written);
  const line = `${sumOf(json)} ${json}`.padEnd(PLACE_BYTES - 1);
  const fd = openSync(path, WRITE, 0o600);
  try {
    // A umask may have taken more than it should.
    fchmodSync(fd, 0o600);
    writeSync(fd, `${line}\n`, at * PLACE_BYTES);
  } finally {
    closeSync(fd);
  }
}

function placeIn(line: string): Place | null {
  const [, sum, json = ""] = /^([0-9a-f]{16}) (\[.*\]) *\n$/.exec(line) ?? [];
  if (sum !== sumOf(json)) return null;
  const [requestId, bootId, uptimeMs, wallMs, overUptimeMs, overWallMs] = JSON.parse(json) as Line;
  const over = overUptimeMs !== null && overWallMs !== null;
  return {
    requestId,
    from: { bootId, uptimeMs, wallMs },
    to: over ? { bootId, uptimeMs: overUptimeMs, wallMs: overWallMs } : null,
  };
}

function sumOf(json: string): string {
  return createHash("sha256").update(json).digest("hex").slice(0, 16);
}

/**
 * What is known of the calls that still count, so that counting survives a restart.
 *
 * @param noted what the runs before wrote down of their calls
 * @param answers arrival of the answers of the last window that the journal holds and that are not noted
 * @returns null when there were none
 */
export function recentCalls(
  noted: Pick<NotedCalls, "calls" | "certain" | "closedForMs" | "thenNow">,
  answers: readonly Instant[],
): CallHistory | null {
  const { calls, closedForMs } = noted;
  if (calls.length === 0 && answers.length === 0 && closedForMs === 0) return null;
  const certain = noted.certain && answers.length === 0;
  const known = answers
    .map((at) => noted.thenNow.getTime() - dateOf(at).getTime())
    .map((agoMs) => ({ sentAgoMs: agoMs, answeredAgoMs: agoMs }));
  const unknown = { length: certain ? 0 : UNANSWERED_AT_KILL };
  return {
    calls: [...calls, ...known, ...Array.from(unknown, () => ({ sentAgoMs: 0, answeredAgoMs: null }))],
    certain,
    closedForMs,
  };
}

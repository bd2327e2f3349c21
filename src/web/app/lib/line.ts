/**
 * What the page knows of its line to the server, by its own clock. Pure.
 *
 * `connecting` -> `live` at the first event. Both -> `stale` after 5 s without an event: the numbers are old. `stale` -> `away`
 * after 15 s without any sign of life; any state -> `away` 3 s after the stream broke. `away` lasts until the server is heard
 * again. An answer to a request is a sign of life (`away` -> `stale`) and says nothing of the numbers: only an event makes the
 * page live.
 *
 * The page sleeps with its machine, and its timers hardly run while nobody looks at it. So every look compares clocks: time
 * in which the page did not look makes the numbers old, and does not say that the server is away.
 */

export type Line = {
  sight: "connecting" | "live" | "stale" | "away";
  /** When the last event arrived; null: none has. */
  heardMs: number | null;
  /** The same, or when the page began to listen. */
  newsMs: number;
  /** When the server last gave any sign of life, or the page began to wait for one. */
  aliveMs: number;
  /** When the stream broke, with no event since; null: it did not. */
  brokeMs: number | null;
  /** When the stream is to be opened again unless something is heard before. */
  reopenMs: number;
  isEnded: boolean;
  /** Streams that were opened since the last event. */
  tries: number;
  lookedMs: number;
};

/** Without an event for so long the numbers are old, ms: the server sends one every second. */
const STALE_MS = 5_000;

/** Without a sign of life for so long the server is away, ms. */
const AWAY_MS = 15_000;

/** A stream that broke and brings nothing for so long says the same, ms: a server that ended is told within 5 s. */
const BROKEN_MS = 3_000;

/** A page that was asleep listens for so long before it says that the server is away, ms. */
const LISTEN_MS = 5_000;

/** So soon after its sleep the page opens the stream again, ms. */
const SOON_MS = 1_000;

/** How long the page waits before it opens a stream that broke, by the tries before, ms; the last one goes on. */
const AFTER_BREAK_MS = [1_000, 1_000, 2_000, 4_000];

const AFTER_END_MS = 60_000;

/** The same for a stream that is open, or opening, and silent. */
const AFTER_SILENCE_MS = [5_000, 10_000];

export function beginLine(nowMs: number): Line {
  return {
    sight: "connecting",
    heardMs: null,
    newsMs: nowMs,
    aliveMs: nowMs,
    brokeMs: null,
    isEnded: false,
    tries: 0,
    lookedMs: nowMs,
    reopenMs: nowMs + waitOf(AFTER_SILENCE_MS, 0),
  };
}

export function heard(line: Line, nowMs: number): Line {
  return { ...beginLine(nowMs), sight: "live", heardMs: nowMs, lookedMs: line.lookedMs };
}

/** The server answered, and sent no event: it is there. */
export function answered(line: Line, nowMs: number): Line {
  return { ...line, sight: line.sight === "away" ? "stale" : line.sight, aliveMs: nowMs };
}

/** The stream broke, or could not be opened. */
export function broke(line: Line, nowMs: number): Line {
  return { ...line, brokeMs: line.brokeMs ?? nowMs, reopenMs: nowMs + waitOf(AFTER_BREAK_MS, line.tries) };
}

/** The server ended the stream, or refused one after that: it has too many. */
export function ended(line: Line, nowMs: number): Line {
  return { ...answered(line, nowMs), sight: "stale", isEnded: true, reopenMs: nowMs + AFTER_END_MS };
}

export function opening(line: Line, nowMs: number): Line {
  return { ...line, tries: line.tries + 1, reopenMs: nowMs + waitOf(AFTER_SILENCE_MS, line.tries) };
}

/**
 * The page looks, as it does every second.
 *
 * @param woken whether somebody has just turned to the page: then a line that is not live is tried at once
 * @returns `reopen`: whether the stream is to be opened again now
 */
export function look(before: Line, nowMs: number, { woken = false } = {}): { line: Line; reopen: boolean } {
  const line = inTime(before, nowMs);
  const isBroken = line.brokeMs !== null && line.aliveMs <= line.brokeMs && nowMs - line.brokeMs >= BROKEN_MS;
  const quietMs = line.isEnded ? AFTER_END_MS + AWAY_MS : AWAY_MS;
  const isAway = line.sight === "away" || isBroken || nowMs - line.aliveMs >= quietMs;
  const sight = isAway ? "away" : nowMs - line.newsMs >= STALE_MS ? "stale" : line.sight;
  const isWell = sight === "live" && line.brokeMs === null;
  // A page that has just begun to listen, or was sent away, does not try again because somebody looks.
  const triesAtOnce = woken && !line.isEnded && sight !== "connecting";
  return { line: { ...line, sight }, reopen: !isWell && (triesAtOnce || nowMs >= line.reopenMs) };
}

/** The same line at a clock that was set back, or after time in which the page did not look. */
function inTime(line: Line, nowMs: number): Line {
  const passed = nowMs - line.lookedMs;
  if (passed < 0) {
    const back = (ms: number): number => ms + passed;
    return {
      ...line,
      newsMs: back(line.newsMs),
      aliveMs: back(line.aliveMs),
      reopenMs: back(line.reopenMs),
      heardMs: line.heardMs && back(line.heardMs),
      brokeMs: line.brokeMs && back(line.brokeMs),
      lookedMs: nowMs,
    };
  }
  if (passed < STALE_MS) return { ...line, lookedMs: nowMs };
  // As if the last sign of life came just late enough to be listened for once more; what has arrived meanwhile comes first.
  const aliveMs = Math.max(line.aliveMs, nowMs - AWAY_MS + LISTEN_MS);
  const brokeMs = line.brokeMs && nowMs;
  return { ...line, aliveMs, brokeMs, reopenMs: nowMs + SOON_MS, lookedMs: nowMs };
}

function waitOf(waits: readonly number[], tries: number): number {
  return waits[Math.min(tries, waits.length - 1)] ?? 0;
}

/**
 * What the page knows of its line to the server, by its own clock. The page asks for the Now view every 2 s; pure.
 *
 * `connecting` -> `live` at the first answer. Both -> `stale` after 5 s without one: the numbers are old. `stale` -> `away` after 15 s
 * without any sign of life; any state -> `away` 3 s after a question could not be sent. `away` lasts until the server is heard again.
 * An answer to another question is a sign of life (`away` -> `stale`) and says nothing of the numbers.
 *
 * The page sleeps with its machine, and its timers hardly run while nobody looks at it. So every look compares clocks: time in which
 * the page did not look makes the numbers old, and does not say that the server is away.
 */

export type Line = {
  sight: "connecting" | "live" | "stale" | "away";
  /** When the Now view last came; null: it has not. */
  heardMs: number | null;
  /** The same, or when the page began to ask. */
  newsMs: number;
  /** When the server last gave any sign of life, or the page began to wait for one. */
  aliveMs: number;
  /** When a question could not be sent, with nothing heard since; null: all could. */
  brokeMs: number | null;
  lookedMs: number;
};

/** Without the Now view for so long the numbers are old, ms. */
const STALE_MS = 5_000;

/** Without a sign of life for so long the server is away, ms. */
const AWAY_MS = 15_000;

/** A question that could not be sent, and nothing heard for so long, says the same, ms. */
const BROKEN_MS = 3_000;

/** A page that was asleep listens for so long before it says that the server is away, ms. */
const LISTEN_MS = 5_000;

export function beginLine(nowMs: number): Line {
  return {
    sight: "connecting",
    heardMs: null,
    newsMs: nowMs,
    aliveMs: nowMs,
    brokeMs: null,
    lookedMs: nowMs,
  };
}

export function heard(line: Line, nowMs: number): Line {
  return { ...beginLine(nowMs), sight: "live", heardMs: nowMs, lookedMs: line.lookedMs };
}

/** The server answered another question: it is there. */
export function answered(line: Line, nowMs: number): Line {
  return { ...line, sight: line.sight === "away" ? "stale" : line.sight, aliveMs: nowMs };
}

/** A question could not be sent. */
export function broke(line: Line, nowMs: number): Line {
  return { ...line, brokeMs: line.brokeMs ?? nowMs };
}

/** The page looks, as it does every second. */
export function look(before: Line, nowMs: number): Line {
  const line = inTime(before, nowMs);
  const isBroken = line.brokeMs !== null && line.aliveMs <= line.brokeMs && nowMs - line.brokeMs >= BROKEN_MS;
  const isAway = line.sight === "away" || isBroken || nowMs - line.aliveMs >= AWAY_MS;
  const sight = isAway ? "away" : nowMs - line.newsMs >= STALE_MS ? "stale" : line.sight;
  return { ...line, sight };
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
      heardMs: line.heardMs && back(line.heardMs),
      brokeMs: line.brokeMs && back(line.brokeMs),
      lookedMs: nowMs,
    };
  }
  if (passed < STALE_MS) return { ...line, lookedMs: nowMs };
  // As if the last sign of life came just late enough to be listened for once more; what has arrived meanwhile comes first.
  const aliveMs = Math.max(line.aliveMs, nowMs - AWAY_MS + LISTEN_MS);
  return { ...line, aliveMs, brokeMs: line.brokeMs && nowMs, lookedMs: nowMs };
}

/**
 * The service's side of the limit, in five ways of counting that all deserve the name "60 calls a
 * minute". Times are true time, in ms.
 */

/** What the service says of one call. */
export type Verdict = {
  accepted: boolean;
  /** Calls counted, at most the limit. */
  usedCount: number;
  /** When the limit expires by the service's idea, ms of true time. */
  expiresAtMs: number;
};

/**
 * A way of counting: takes one call at its arrival, with the limit in force then, and counts it or not. Arrivals come in
 * order of time.
 */
export type CountingRule = (arrivedAtMs: number, limit: number) => Verdict;

/** The ways of counting by name. */
export const COUNTING_RULES = {
  "clock minute": (windowMs: number) => fixedWindow(windowMs, true),
  "first call": (windowMs: number) => fixedWindow(windowMs, false),
  sliding: (windowMs: number) => slidingWindow(windowMs, false),
  "sliding, refused count": (windowMs: number) => slidingWindow(windowMs, true),
  "token bucket": tokenBucket,
} as const;

/** The name of a way of counting. */
export type RuleName = keyof typeof COUNTING_RULES;

function fixedWindow(windowMs: number, onTheClock: boolean): CountingRule {
  let endsAtMs = -Infinity;
  let count = 0;
  return (atMs, limit) => {
    if (atMs >= endsAtMs) {
      count = 0;
      endsAtMs = (onTheClock ? Math.floor(atMs / windowMs) * windowMs : atMs) + windowMs;
    }
    const accepted = count < limit;
    if (accepted) count += 1;
    return { accepted, usedCount: Math.min(limit, count), expiresAtMs: endsAtMs };
  };
}

function slidingWindow(windowMs: number, refusedCount: boolean): CountingRule {
  const counted: number[] = [];
  return (atMs, limit) => {
    while (counted[0] !== undefined && counted[0] <= atMs - windowMs) counted.shift();
    const accepted = counted.length < limit;
    if (accepted || refusedCount) counted.push(atMs);
    return {
      accepted,
      usedCount: Math.min(limit, counted.length),
      expiresAtMs: (counted[0] ?? atMs) + windowMs,
    };
  };
}

function tokenBucket(windowMs: number): CountingRule {
  let tokens = Infinity;
  let countedAtMs = 0;
  return (atMs, limit) => {
    tokens = Math.min(limit, tokens + ((atMs - countedAtMs) * limit) / windowMs);
    countedAtMs = atMs;
    const accepted = tokens >= 1;
    if (accepted) tokens -= 1;
    return {
      accepted,
      usedCount: limit - Math.floor(tokens),
      expiresAtMs: atMs + ((limit - tokens) * windowMs) / limit,
    };
  };
}

/** The longest a penalty locks out, in windows. */
const LONGEST_PENALTY_WINDOWS = 60;

/**
 * The same rule with a penalty: a refused call locks everybody out for a window, and each call refused meanwhile begins
 * the lock-out anew, twice as long. A call that passes ends the matter.
 */
export function withPenalty(rule: CountingRule, windowMs: number): CountingRule {
  let lockedUntilMs = -Infinity;
  let lockedWindows = 0;
  return (atMs, limit) => {
    const locked = atMs < lockedUntilMs;
    const verdict = locked ? { accepted: false, usedCount: limit, expiresAtMs: 0 } : rule(atMs, limit);
    lockedWindows = verdict.accepted ? 0 : Math.min(LONGEST_PENALTY_WINDOWS, Math.max(1, 2 * lockedWindows));
    if (verdict.accepted) return verdict;
    lockedUntilMs = atMs + lockedWindows * windowMs;
    return { ...verdict, expiresAtMs: lockedUntilMs };
  };
}

/** How the `X-RateLimit-Expire` header differs from the truth. */
export const EXPIRE_SKEWS = {
  "0": (atMs: number) => String(Math.ceil(atMs / 1_000)),
  "-164 s": (atMs: number) => String(Math.ceil(atMs / 1_000) - 164),
  "+60 s": (atMs: number) => String(Math.ceil(atMs / 1_000) + 60),
  "+6 h": (atMs: number) => String(Math.ceil(atMs / 1_000) + 21_600),
  absent: (_atMs: number) => undefined,
  garbage: (atMs: number) =>
    ["", "soon", "-1", "NaN", String(atMs / 1_000), "99999999999999"][Math.floor(atMs) % 6],
} as const;

/** The name of a skew. */
export type SkewName = keyof typeof EXPIRE_SKEWS;

/**
 * E*TRADE's limits of calls of the Market module, for each consumer key: 4 in a second and 14,000 in an hour (the page of
 * version 0; no page of version 1 has a number). No header tells a count, and a refusal does not say which of the two it was.
 */

export type LimitOptions = {
  /** Calls in any second. */
  perSecond: number;
  /** Calls in an hour. */
  perHour: number;
  /**
   * The hour is a fixed interval, and the service told when it began anew (version 0).
   *
   * Assumed: it begins with the clock's. Ms behind the clock's hour, default 0.
   */
  hourBeginsMs: number;
};

export const LIMITS: Readonly<LimitOptions> = { perSecond: 4, perHour: 14_000, hourBeginsMs: 0 };

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

type Counted = { lastMs: readonly number[]; hour: number; inHour: number };

/**
 * Counts calls. Assumed: a refused call is not counted; calls of OAuth are not either.
 *
 * @returns whether a call at an instant, epoch ms, is answered
 */
export function createLimit(limits: LimitOptions): (consumerKey: string, atMs: number) => boolean {
  const counted = new Map<string, Counted>();
  return (consumerKey, atMs) => {
    const hour = Math.floor((atMs - limits.hourBeginsMs) / HOUR_MS);
    const before = counted.get(consumerKey) ?? { lastMs: [], hour, inHour: 0 };
    const lastMs = before.lastMs.filter((ms) => ms > atMs - SECOND_MS && ms <= atMs);
    const inHour = before.hour === hour ? before.inHour : 0;
    const isAnswered = lastMs.length < limits.perSecond && inHour < limits.perHour;
    counted.set(consumerKey, {
      lastMs: isAnswered ? [...lastMs, atMs] : lastMs,
      hour,
      inHour: inHour + (isAnswered ? 1 : 0),
    });
    return isAnswered;
  };
}

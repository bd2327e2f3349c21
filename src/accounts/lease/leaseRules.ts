/** The rules of leases: how long one holds, when it is free, and how many each collector is to have. Pure. */

/** How often a holder renews its leases and says that it is there, in ms; and how often one looks that wants more. */
export const ROUND_EVERY_MS = 2_000;
export const LOOK_EVERY_MS = 1_000;

/** How long a lease holds in the database, and how long a contender must have seen it without a renewal, in ms. */
export const LEASE_MS = 7_000;

/** For how long a holder trusts its last round, in ms: less than others wait. */
export const TRUSTED_MS = 5_000;

/** An instant by two clocks: one of them stops while the machine sleeps, and the other one can be moved. */
export type Moment = { monotonicMs: number; wallMs: number };

/** Time since, in ms, by the clock that says more. */
export function elapsedMs(since: Moment, now: Moment): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

/** What somebody tells again and again, counting: a holder of its lease, a collector of itself. */
type Beat = { fence: number | string; beat: number };

/** Since when each beat was seen as it is, on a clock of our own: no clock of another machine decides who is dead. */
export class BeatWatch {
  readonly #seen = new Map<string, Beat & { sinceMs: number }>();

  /** Takes in what was seen. What was there once and is no more is forgotten. */
  saw(beats: ReadonlyMap<string, Beat>, nowMs: number): void {
    for (const name of this.#seen.keys()) if (!beats.has(name)) this.#seen.delete(name);
    for (const [name, { fence, beat }] of beats) {
      const before = this.#seen.get(name);
      if (before?.fence !== fence || before.beat !== beat)
        this.#seen.set(name, { fence, beat, sinceMs: nowMs });
    }
  }

  /** Nothing could be seen: what happened meanwhile is not known, and all waits begin anew. */
  blind(): void {
    this.#seen.clear();
  }

  /** For how long it has not moved, in ms. */
  stillMs(name: string, nowMs: number): number {
    const seen = this.#seen.get(name);
    return seen ? nowMs - seen.sinceMs : 0;
  }
}

/** How far a clock is ahead of the database's, in ms: not less than `leastMs` and not more than `mostMs`. */
type OffsetBounds = { leastMs: number; mostMs: number };

const BOUNDS_REMEMBERED = 10;

/** What the last rounds say of a clock. The database read its own clock at an instant between question and answer. */
export class ClockOffset {
  #bounds: OffsetBounds[] = [];

  /** @param databaseMs the database's clock; sent and answered by the clock in question, all epoch ms UTC */
  saw({ sentMs, answeredMs, databaseMs }: { sentMs: number; answeredMs: number; databaseMs: number }): void {
    const leastMs = sentMs - databaseMs;
    // The database rounds down to a millisecond.
    const mostMs = Math.max(leastMs, answeredMs - databaseMs);
    // Where two bounds exclude each other, a clock was set in between: what was known before is no longer true.
    const agrees = (one: OffsetBounds): boolean => one.leastMs <= mostMs && leastMs <= one.mostMs;
    const before = this.#bounds.every(agrees) ? this.#bounds : [];
    this.#bounds = [...before, { leastMs, mostMs }].slice(-BOUNDS_REMEMBERED);
  }

  /** The value that is nearest to 0 within the bounds of the fastest round: a clock that may be right is taken for right. */
  get ms(): number {
    const width = ({ leastMs, mostMs }: OffsetBounds): number => mostMs - leastMs;
    const [fastest] = [...this.#bounds].sort((one, other) => width(one) - width(other));
    if (!fastest) return 0;
    return Math.max(fastest.leastMs, Math.min(0, fastest.mostMs));
  }
}

/** A new epoch is in force after so long, in ms: by then every collector has seen it, or its leases are another's. */
const EPOCH_LEAD_MS = 2 * LEASE_MS;

/** The clock of another collector moves an epoch by at most so much, in ms: a clock that is farther off needs a person. */
const MOST_AHEAD_MS = 60_000;

/**
 * When an epoch that is proposed now begins, epoch ms UTC: at a half second, so that no slot lies on the border. Slots bear the
 * times of each collector's own clock. So the epoch begins when the clock that is most ahead has yet to come to it.
 *
 * @param nowMs the proposer's clock
 * @param aheadMs how far the clocks of the others are ahead of the proposer's; null: there are no others, and it begins at once
 */
export function epochFromMs(nowMs: number, aheadMs: readonly number[] | null): number {
  if (aheadMs === null) return Math.floor((nowMs + 500) / 1_000) * 1_000 - 500;
  const mostMs = Math.min(MOST_AHEAD_MS, Math.max(0, ...aheadMs));
  return Math.floor((nowMs + mostMs + EPOCH_LEAD_MS + 500) / 1_000) * 1_000 + 500;
}

/**
 * How many of the accounts each collector is to have: as many as the others, and those that are left over go to the first ones.
 *
 * @param collectors those that are alive, by number
 */
export function quotas(
  collectors: readonly { id: string; number: number }[],
  accounts: number,
): Map<string, number> {
  const inOrder = [...collectors].sort((a, b) => a.number - b.number);
  const each = Math.floor(accounts / inOrder.length);
  return new Map(inOrder.map(({ id }, place) => [id, each + (place < accounts % inOrder.length ? 1 : 0)]));
}

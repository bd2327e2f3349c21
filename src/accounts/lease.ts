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
type Beating = { fence: number | string; beat: number };

/** Since when each beat was seen as it is, on a clock of our own: no clock of another machine decides who is dead. */
export class BeatWatch {
  readonly #seen = new Map<string, Beating & { sinceMs: number }>();

  /** Takes in what was seen. What was there once and is no more is forgotten. */
  saw(beats: ReadonlyMap<string, Beating>, nowMs: number): void {
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

/**
 * How the service stands, by what came of a sweep's calls so far: in order, in doubt, or out of order. Pure: time and
 * chance come in as numbers.
 */

/** Failures in a row after which nothing at all is asked for a while. */
const PAUSE_AFTER = 3;

/** Assumed: after so many failures in a row without an answer, the service is at fault and not what is asked for. */
const DOUBT_AFTER = 6;

/** Assumed: a service that has answered nothing for this long, in ms, needs a person. */
const OUTAGE_MS = 15 * 60_000;

/** The wait after a failure, in ms; it doubles with each one in a row, with jitter, which doubles it once more at most. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export class ServiceHealth {
  #failuresInRow = 0;
  /** Calls that brought quotes. */
  answered = 0;
  #answeredAtMs: number;
  #pausedUntilMs = -Infinity;

  constructor(startedAtMs: number) {
    this.#answeredAtMs = startedAtMs;
  }

  succeeded(nowMs: number): void {
    this.#failuresInRow = 0;
    this.answered += 1;
    this.#answeredAtMs = nowMs;
    this.#pausedUntilMs = -Infinity;
  }

  /** A call brought none, and not for the quota. @param chance from 0 to 1 */
  failed(nowMs: number, chance: number): void {
    this.#failuresInRow += 1;
    if (this.#failuresInRow < PAUSE_AFTER) return;
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (this.#failuresInRow - 1), LONGEST_WAIT_MS) * (1 + chance);
    this.#pausedUntilMs = nowMs + waitMs;
  }

  /** Whether it may be the service that fails, and not what is asked. */
  get inDoubt(): boolean {
    return this.#failuresInRow >= DOUBT_AFTER;
  }

  /**
   * Calls that may be under way at once. Until one was answered nobody knows how long a list may be, nor whether the
   * credentials are right.
   *
   * @param most while it is in order
   */
  atOnce(nowMs: number, most: number): number {
    if (nowMs < this.#pausedUntilMs) return 0;
    return this.answered === 0 || this.#failuresInRow >= PAUSE_AFTER ? 1 : most;
  }

  /** Whether it needs a person: it has never answered, or not for long. */
  isOutOfOrder(nowMs: number): boolean {
    return this.inDoubt && (this.answered === 0 || nowMs - this.#answeredAtMs > OUTAGE_MS);
  }
}

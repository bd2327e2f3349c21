/**
 * How the service stands, by what came of the calls so far: in order, in doubt, or out of order. Pure: time and chance
 * come in as numbers.
 */
import type { Piece } from "./queue.ts";
import { sizeOf } from "./halves.ts";

/** Attempts at a call that fails while others are answered. */
export const ATTEMPTS = 3;

/** Assumed: after so many failures in a row without an answer it is the service that fails, not what is asked. */
export const DOUBT_AFTER = 6;

/** Assumed: a service that has answered nothing for so long, in ms, needs a person. */
export const OUTAGE_MS = 15 * 60_000;

/** The wait after a failure, in ms; it doubles with each one in a row, with jitter, which doubles it once more at most. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export class ServiceHealth {
  #failuresInRow = 0;
  #answered = 0;
  #answeredAtMs: number;

  constructor(startedAtMs: number) {
    this.#answeredAtMs = startedAtMs;
  }

  /** A call brought quotes. */
  succeeded(nowMs: number): void {
    this.#failuresInRow = 0;
    this.#answered += 1;
    this.#answeredAtMs = nowMs;
  }

  /** A call brought none, and not for the quota. */
  failed(): void {
    this.#failuresInRow += 1;
  }

  /** Calls that brought quotes so far. */
  get answered(): number {
    return this.#answered;
  }

  /** Whether it may be the service that fails, and not what is asked. */
  get inDoubt(): boolean {
    return this.#failuresInRow >= DOUBT_AFTER;
  }

  /** Whether so many have failed in a row that nothing at all is asked for a while. */
  get pauses(): boolean {
    return this.#failuresInRow >= ATTEMPTS;
  }

  /** Whether it needs a person: it has never answered, or not for long. */
  isOutOfOrder(nowMs: number): boolean {
    return this.inDoubt && (this.#answered === 0 || nowMs - this.#answeredAtMs > OUTAGE_MS);
  }

  /** How long to wait after a failure, in ms. @param chance from 0 to 1 */
  waitMs(chance: number): number {
    return Math.min(FIRST_WAIT_MS * 2 ** (this.#failuresInRow - 1), LONGEST_WAIT_MS) * (1 + chance);
  }

  /**
   * Whether a call that has just failed is not made again as it is: a list is tried in halves, and what fails alone has
   * failed.
   */
  isToBeParted({ call, setback, failures, answeredBefore }: Piece): boolean {
    const othersAnswered = this.#answered > (answeredBefore ?? this.#answered);
    const isList = sizeOf(call) > 1;
    if (setback === "refused" || setback === "malformed")
      return othersAnswered || (!this.inDoubt && (this.#answered > 0 || isList));
    // Nothing else may be left that could show whether the service is in order: then a half may.
    const mayPart = setback === "server_error" && isList && !this.inDoubt;
    return failures >= ATTEMPTS && (othersAnswered || mayPart);
  }
}

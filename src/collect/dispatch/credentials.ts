/**
 * Whether the service accepts an account's credentials. A refusal may also come from a clock that is off: then the call is made
 * once more. Once the credentials are refused, one call a slot asks whether they still are, later one a minute. Pure.
 */
import { PROBED_EVERY_MS, REFUSED_FOR_MS } from "../../accounts/shares.ts";
import type { Instant } from "../../ground/clock.ts";
import type { Answer } from "../../quotes/answer.ts";
import { type DatedAnswer, mayBeRefusedForTheClock } from "../../services/clockSkew.ts";

export class Credentials {
  /** Whether the wall clock was set, and no second attempt has shown since whether calls are signed by the right time. */
  #clockInDoubt = false;
  /** Since when the service refuses them, and the last call that asked; null: it does not. Times on the monotonic clock. */
  #refused: { sinceMs: number; triedMs: number; slotAt: Instant | null } | null = null;

  get areRefused(): boolean {
    return this.#refused !== null;
  }

  clockSet(): void {
    this.#clockInDoubt = true;
  }

  /**
   * Takes an answer's outcome in.
   *
   * @returns whether it is a refusal for which the clock may be to blame: the refusal has shown how far the machine's clock is
   *   off, and the next attempt is signed by the service's
   */
  answered(outcome: Answer["outcome"], seen: DatedAnswer, attempt: number): boolean {
    if (outcome === "quotes") this.#refused = null;
    const mayBeTheClock = this.#clockInDoubt || mayBeRefusedForTheClock(seen);
    // A second attempt shows it: answered, the time is right; refused, it was not the clock.
    if (attempt > 1) this.#clockInDoubt = false;
    return outcome === "unauthorized" && attempt === 1 && mayBeTheClock;
  }

  refused(slotAt: Instant | null, nowMs: number): void {
    this.#refused = { sinceMs: this.#refused?.sinceMs ?? nowMs, triedMs: nowMs, slotAt };
  }

  /** Whether a call of that slot may ask if the credentials are still refused. */
  mayTry(slotAt: Instant | null, nowMs: number): boolean {
    if (this.#refused === null) return true;
    const { sinceMs, triedMs, slotAt: triedFor } = this.#refused;
    return slotAt !== triedFor && (nowMs - sinceMs < REFUSED_FOR_MS || nowMs - triedMs >= PROBED_EVERY_MS);
  }
}

/**
 * Whether an account has a session, and whether the service accepts its credentials. A refusal may also come from a clock that is off: then the call is made
 * once more. Once the credentials are refused, one call a slot asks whether they still are, later one a minute. Pure.
 */
import { PROBED_EVERY_MS, REFUSED_FOR_MS } from "../../accounts/shares.ts";
import type { Instant } from "../../ground/clock.ts";
import type { Log } from "../../ground/log.ts";
import type { Answer } from "../../quotes/answer.ts";
import { type DatedAnswer, mayBeRefusedForTheClock } from "../../services/clockSkew.ts";

export type CredentialsOptions = {
  /** Whether the account has a session, where its service wants a login. Default: it wants none. */
  hasSession?: () => boolean;
  log: Log;
};

export class Credentials {
  readonly #options: CredentialsOptions;
  #hadSession = true;
  /** Whether the wall clock was set, and no second attempt has shown since whether calls are signed by the right time. */
  #clockInDoubt = false;
  /** Since when the service refuses them, and the last call that asked; null: it does not. Times on the monotonic clock. */
  #refused: { sinceMs: number; triedMs: number; slotAt: Instant | null } | null = null;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** Whether there is a session. Logs once that there is none any more, and once that there is one again. */
  lookAtSession(): boolean {
    const { hasSession, log } = this.#options;
    const has = hasSession?.() ?? true;
    if (has && !this.#hadSession) log.info({}, "there is a login again: calls go on");
    if (!has && this.#hadSession)
      log.error({}, "nobody has logged in: no call leaves until `quotekeeper login`");
    this.#hadSession = has;
    return has;
  }

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

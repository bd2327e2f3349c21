/**
 * The memory of nonces: none is accepted twice for the same timestamp and token (RFC 5849 section 3.3).
 *
 * Only timestamps inside the window are ever accepted, so nonces of older ones are forgotten. The horizon of
 * what was forgotten never moves back, so a clock set back does not open the way for a replay.
 */

/** What became of a nonce. `full`: no room until older ones lapse; nothing was remembered. */
export type NonceVerdict = "fresh" | "repeated" | "stale" | "full";

/** Bounds of the memory. */
export type NonceMemoryOptions = {
  /** How far a timestamp may be from the clock, seconds; older nonces are forgotten. */
  windowSeconds: number;
  /** The most nonces kept. Beyond it calls are refused, for forgetting one early would allow a replay. */
  maxNonces: number;
};

/** Remembers nonces by timestamp. */
export class NonceMemory {
  readonly #options: NonceMemoryOptions;
  readonly #byTimestamp = new Map<number, Set<string>>();
  #count = 0;
  /** Timestamps below this one have been forgotten, Unix seconds. */
  #horizon = Number.NEGATIVE_INFINITY;

  constructor(options: NonceMemoryOptions) {
    this.#options = options;
  }

  /** How many nonces are remembered. */
  get size(): number {
    return this.#count;
  }

  /**
   * Remembers a nonce unless it was used before. To be called for correctly signed requests only, or
   * anybody could use up a nonce of somebody else.
   *
   * @param timestamp of the request, Unix seconds
   * @param nowSeconds the clock, Unix seconds
   */
  use(token: string, timestamp: number, nonce: string, nowSeconds: number): NonceVerdict {
    this.#forgetBefore(nowSeconds - this.#options.windowSeconds);
    if (timestamp < this.#horizon) return "stale";
    const nonces = this.#byTimestamp.get(timestamp) ?? new Set<string>();
    const entry = JSON.stringify([token, nonce]);
    if (nonces.has(entry)) return "repeated";
    if (this.#count >= this.#options.maxNonces) return "full";
    this.#byTimestamp.set(timestamp, nonces.add(entry));
    this.#count += 1;
    return "fresh";
  }

  #forgetBefore(horizon: number): void {
    if (horizon <= this.#horizon) return;
    this.#horizon = horizon;
    for (const [timestamp, nonces] of this.#byTimestamp) {
      if (timestamp >= horizon) continue;
      this.#byTimestamp.delete(timestamp);
      this.#count -= nonces.size;
    }
  }
}

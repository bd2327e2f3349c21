/**
 * The memory of nonces: none is accepted twice for the same timestamp and token (RFC 5849 section 3.3).
 *
 * Only timestamps inside the window are ever accepted, so nonces of older ones are forgotten. The horizon of what was
 * forgotten never moves back, so a clock set back does not open the way for a replay. A run can write its nonces down
 * (`onFresh`), and the next run remembers them (`remembered`, `horizon`).
 */
import { createHash } from "node:crypto";

/** `full`: no room until older ones lapse; nothing was remembered. */
type NonceVerdict = "fresh" | "repeated" | "stale" | "full";

/** A used nonce, in a form of fixed length that reveals neither token nor nonce. */
export type UsedNonce = {
  /** Of its request, Unix seconds. */
  timestamp: number;
  /** 128 bits of the SHA-256 of token and nonce, 22 characters of base64url. */
  mark: string;
};

export type UsedBy = {
  token: string;
  /** The clock, Unix seconds. */
  nowSeconds: number;
  /** Timestamps below this one are forgotten, Unix seconds. */
  horizon: number;
};

type NonceMemoryOptions = {
  /** How far a timestamp may be from the clock, seconds; older nonces are forgotten. */
  windowSeconds: number;
  /** Beyond it calls are refused, because forgetting a nonce early would allow a replay. */
  maxNonces: number;
  /** Of one token, so that one caller cannot use up what all share. Default: `maxNonces`. */
  maxPerToken?: number;
  remembered?: Iterable<UsedNonce>;
  /** Of an earlier run, Unix seconds. */
  horizon?: number;
  /** Called for each fresh nonce before it is accepted; when it throws, the nonce counts as unused. */
  onFresh?: (used: UsedNonce, of: UsedBy) => void;
};

type Second = { marks: Set<string>; perToken: Map<string, number> };

export class NonceMemory {
  readonly #options: NonceMemoryOptions;
  readonly #byTimestamp = new Map<number, Second>();
  readonly #perToken = new Map<string, number>();
  #count = 0;
  /** Timestamps below this one have been forgotten, Unix seconds. */
  #horizon: number;

  constructor(options: NonceMemoryOptions) {
    this.#options = options;
    this.#horizon = options.horizon ?? Number.NEGATIVE_INFINITY;
    for (const { timestamp, mark } of options.remembered ?? []) {
      if (timestamp < this.#horizon) continue;
      const { marks } = this.#second(timestamp);
      this.#count += marks.has(mark) ? 0 : 1;
      marks.add(mark);
    }
  }

  get size(): number {
    return this.#count;
  }

  /**
   * Remembers a nonce unless it was used before. Only for correctly signed requests: else anybody could use up
   * another's nonce.
   *
   * @param timestamp of the request, Unix seconds
   * @param nowSeconds the clock, Unix seconds
   * @throws whatever `onFresh` throws
   */
  // eslint-disable-next-line max-params -- once for each signed call: an object would cost more than it says
  use(token: string, timestamp: number, nonce: string, nowSeconds: number): NonceVerdict {
    const { windowSeconds, maxNonces, maxPerToken = maxNonces, onFresh } = this.#options;
    this.#forgetBefore(nowSeconds - windowSeconds);
    if (timestamp < this.#horizon) return "stale";
    const mark = markOf(token, nonce);
    const { marks, perToken } = this.#second(timestamp);
    const ofToken = this.#perToken.get(token) ?? 0;
    const isFull = this.#count >= maxNonces || ofToken >= maxPerToken;
    if (isFull) return marks.has(mark) ? "repeated" : "full";
    // Added first: to look for it before would be a second search for each call.
    const before = marks.size;
    if (marks.add(mark).size === before) return "repeated";
    try {
      onFresh?.({ timestamp, mark }, { token, nowSeconds, horizon: this.#horizon });
    } catch (error) {
      marks.delete(mark);
      throw error;
    }
    perToken.set(token, (perToken.get(token) ?? 0) + 1);
    this.#perToken.set(token, ofToken + 1);
    this.#count += 1;
    return "fresh";
  }

  #second(timestamp: number): Second {
    const known = this.#byTimestamp.get(timestamp);
    if (known) return known;
    const second: Second = { marks: new Set(), perToken: new Map() };
    this.#byTimestamp.set(timestamp, second);
    return second;
  }

  #forgetBefore(horizon: number): void {
    if (horizon <= this.#horizon) return;
    this.#horizon = horizon;
    for (const [timestamp, { marks, perToken }] of this.#byTimestamp) {
      if (timestamp >= horizon) continue;
      this.#byTimestamp.delete(timestamp);
      this.#count -= marks.size;
      for (const [token, count] of perToken) this.#takeFrom(token, count);
    }
  }

  #takeFrom(token: string, count: number): void {
    const left = (this.#perToken.get(token) ?? 0) - count;
    if (left > 0) this.#perToken.set(token, left);
    else this.#perToken.delete(token);
  }
}

/** Of fixed length, because a caller chooses the length of its nonces, and memory is to be bounded in bytes. */
function markOf(token: string, nonce: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([token, nonce]))
    .digest();
  return hash.toString("base64url", 0, 16);
}

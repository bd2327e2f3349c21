/**
 * How fast tokens can be tried. Each source has a few tries at once; then they are looked at one by one, with a pause
 * between, before anybody knows whether they are right. A right one is not counted, so it always gets in, at the latest
 * when it has its turn, and nobody is held up by the wrong ones of another source.
 */
import { isIPv6 } from "node:net";
import type { Clock } from "../../ground/clock.ts";

/** Wrong tries of a source that are looked at at once. */
const AT_ONCE = 10;

/** After how long a source may have one more, ms. */
const PAUSE_MS = 1_000;

/** Most tries of a source that wait for their turn: each holds a connection. */
const MOST_WAITING = 30;

/** Most sources that are told apart; those beyond share their turns. */
const MOST_SOURCES = 10_000;

/** What became of a try. `full`: nobody looked at it, for too many wait already, or whoever made it has gone. */
export type TryResult = "right" | "wrong" | "full";

export class Tries {
  readonly #clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** When a source has paid for its tries, ms of the monotonic clock; no entry: it owes nothing. */
  readonly #paidAtMs = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs" | "sleep">) {
    this.#clock = clock;
  }

  /**
   * Waits for the turn of a source, then looks.
   *
   * @param ip address of the source
   * @param gone aborted when whoever made the try has gone
   */
  async take(ip: string, isRight: () => boolean, gone: AbortSignal): Promise<TryResult> {
    const source = this.#sourceOf(ip);
    const nowMs = this.#clock.monotonicMs();
    const paidAtMs = Math.max(this.#paidAtMs.get(source) ?? 0, nowMs) + PAUSE_MS;
    const waitMs = paidAtMs - nowMs - AT_ONCE * PAUSE_MS;
    if (waitMs > MOST_WAITING * PAUSE_MS) return "full";
    this.#paidAtMs.set(source, paidAtMs);
    try {
      if (waitMs > 0) await this.#clock.sleep(waitMs, gone);
    } catch {
      this.#giveBack(source);
      return "full";
    }
    if (!isRight()) return "wrong";
    this.#giveBack(source);
    return "right";
  }

  #giveBack(source: string): void {
    const paidAtMs = this.#paidAtMs.get(source);
    if (paidAtMs !== undefined) this.#paidAtMs.set(source, paidAtMs - PAUSE_MS);
  }

  #sourceOf(ip: string): string {
    const source = networkOf(ip);
    if (this.#paidAtMs.size < MOST_SOURCES || this.#paidAtMs.has(source)) return source;
    const nowMs = this.#clock.monotonicMs();
    for (const [each, paidAtMs] of this.#paidAtMs) if (paidAtMs <= nowMs) this.#paidAtMs.delete(each);
    return this.#paidAtMs.size < MOST_SOURCES ? source : "";
  }
}

/** The address; of IPv6 the first 64 bits, within which one machine can have as many addresses as it likes. */
export function networkOf(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const [address = ""] = ip.toLowerCase().split("%");
  const v4 = /^::ffff:([\d.]+)$/.exec(address)?.[1];
  if (v4 !== undefined) return v4;
  const [head = [], tail = []] = address.split("::").map((part) => part.split(":").filter((group) => group));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}

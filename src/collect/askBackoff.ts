/**
 * Instruments that the service does not know, or that make a whole call fail, are retried less and less often:
 * after 1 slot, 2, 4 ... until it is once a day. A symbol that is listed tomorrow is found tomorrow.
 */
import type { MissReason } from "../journal/ledger.ts";

/** `failures` is 0 for a suspect that has been answered since. */
type Setback = { failures: number; askAgainAtMs: number; suspect: boolean; reason: MissReason };

type VainAttempt = {
  slotAtMs: number;
  /** Time between two slots of the job that asks most often; Infinity when no other one comes. */
  slotMs: number;
  reason: MissReason;
  suspect?: boolean;
};

const DAY_MS = 86_400_000;

export class AskBackoff {
  readonly #setbacks = new Map<string, Setback>();

  get holds(): boolean {
    return this.#setbacks.size > 0;
  }

  /** Why it is not to be asked at `atMs`; null when it is. */
  rests(name: string, atMs: number): MissReason | null {
    const setback = this.#setbacks.get(name);
    return setback !== undefined && atMs < setback.askAgainAtMs ? setback.reason : null;
  }

  isSuspect(name: string): boolean {
    return this.#setbacks.get(name)?.suspect === true;
  }

  failed(name: string, { slotAtMs, reason, suspect = false, ...slot }: VainAttempt): void {
    const slotMs = Math.min(slot.slotMs, DAY_MS);
    const before = this.#setbacks.get(name);
    const failures = (before?.failures ?? 0) + 1;
    // The halves put the end of the rest between two slots: 1 slot is let pass, then 2; and a day is a day's slots.
    const waitMs = Math.min(slotMs * (2 ** (failures - 1) + 0.5), DAY_MS - slotMs / 2);
    this.#setbacks.set(name, {
      failures,
      askAgainAtMs: slotAtMs + waitMs,
      suspect: suspect || before?.suspect === true,
      reason,
    });
  }

  /** It has a quote: it is asked at every slot again; a suspect goes on alone until the day is over. */
  succeeded(name: string): void {
    const before = this.#setbacks.get(name);
    if (!before) return;
    if (before.suspect) this.#setbacks.set(name, { ...before, failures: 0, askAgainAtMs: -Infinity });
    else this.#setbacks.delete(name);
  }

  /** The wall clock was moved by so many ms: a rest lasts as long as it was to. */
  moveTimes(byMs: number): void {
    for (const [name, setback] of this.#setbacks)
      this.#setbacks.set(name, { ...setback, askAgainAtMs: setback.askAgainAtMs + byMs });
  }

  forgive(): void {
    for (const [name, { failures }] of this.#setbacks) if (failures === 0) this.#setbacks.delete(name);
  }

  names(): string[] {
    return [...this.#setbacks].flatMap(([name, { failures }]) => (failures > 0 ? [name] : [])).sort();
  }
}

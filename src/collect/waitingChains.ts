/** Slots whose chains wait for a price or a list that is being asked for, and what they are called in the ledger meanwhile. */
import type { MissReason } from "../journal/ledger.ts";
import { type Chain, needsList, needsPrice } from "../market/optionChain.ts";
import { expirationsName, underlyingOfExpirations } from "../quotes/call.ts";
import type { DueJob } from "./asks.ts";

/** A slot of a job that polls something, without saying what. */
type DueSlot = Omit<DueJob, "symbols" | "contracts">;

export type ChainsOfSlot = { due: DueSlot; chains: Chain[] };

/** `answered`: names of what an answer has brought for the slot. */
type WaitingChain = ChainsOfSlot & { answered: Set<string> };

type SlotOfJob = { job: string; slotAt: string };

type MissedChains = { due: DueSlot; names: string[]; reason: MissReason };

export class WaitingChains {
  #waiting: WaitingChain[] = [];

  get any(): boolean {
    return this.#waiting.length > 0;
  }

  add({ due, chains }: ChainsOfSlot): void {
    if (chains.length > 0) this.#waiting.push({ due, chains, answered: new Set() });
  }

  /**
   * The slots that are over, for which something never came: they wait no longer. A price that is missing though its underlying was
   * answered was absent; any other answer is late.
   */
  expire(nowMs: number): MissedChains[] {
    const over = this.#waiting.filter(({ due }) => due.deadlineMs <= nowMs);
    this.#waiting = this.#waiting.filter((waiting) => !over.includes(waiting));
    return over.flatMap(({ due, chains, answered }) => {
      const isAbsent = (chain: Chain): boolean => needsPrice(chain) && answered.has(chain.underlying);
      const late = chains.filter((chain) => !isAbsent(chain));
      return [
        { due, names: namesOf(chains.filter(isAbsent)), reason: "absent_from_answer" as const },
        { due, names: namesOf(late), reason: "overrun" as const },
      ].filter(({ names }) => names.length > 0);
    });
  }

  /** Something that was asked for has come for slots. */
  answered(slots: readonly SlotOfJob[], names: readonly string[]): void {
    for (const waiting of this.#waiting)
      if (slots.some((slot) => isOf(waiting, slot))) for (const name of names) waiting.answered.add(name);
  }

  /**
   * What was asked for in their stead does not come for a slot: chains that hang on it wait no longer.
   *
   * @param names of underlyings, and of lists of expirations
   * @returns names in the ledger of chains that no longer wait
   */
  stop(slot: SlotOfJob, names: readonly string[]): string[] {
    if (!this.any) return [];
    const hangsOn = (chain: Chain): boolean =>
      (needsPrice(chain) && names.includes(chain.underlying)) ||
      (needsList(chain) && names.includes(expirationsName(chain.underlying)));
    const stopped: Chain[] = [];
    this.#waiting = this.#waiting.flatMap((waiting) => {
      if (!isOf(waiting, slot)) return [waiting];
      stopped.push(...waiting.chains.filter(hangsOn));
      const chains = waiting.chains.filter((chain) => !hangsOn(chain));
      return chains.length > 0 ? [{ ...waiting, chains }] : [];
    });
    return namesOf(stopped);
  }

  /** Removes the chains that need to wait no longer. @returns they, by their slots */
  take(isKnown: (chain: Chain) => boolean): ChainsOfSlot[] {
    const taken: ChainsOfSlot[] = [];
    this.#waiting = this.#waiting.flatMap((waiting) => {
      const known = waiting.chains.filter(isKnown);
      if (known.length === 0) return [waiting];
      taken.push({ due: waiting.due, chains: known });
      const chains = waiting.chains.filter((chain) => !known.includes(chain));
      return chains.length > 0 ? [{ ...waiting, chains }] : [];
    });
    return taken;
  }
}

function isOf({ due }: ChainsOfSlot, { job, slotAt }: SlotOfJob): boolean {
  return due.job.name === job && due.slotAt === slotAt;
}

export function namesOf(chains: readonly Chain[]): string[] {
  return [...new Set(chains.map(pendingChain))];
}

const PENDING = "chain of ";

/**
 * Stands in a slot for chains that cannot be expanded yet; withdrawn when they can. Those of one name wait for the same:
 * `chain of SPX` for the price, `chain of SPX as listed` for the expirations, `chain of SPX as listed by price` for both.
 */
export function pendingChain(chain: Chain): string {
  const listed = needsList(chain) ? ` as listed${needsPrice(chain) ? " by price" : ""}` : "";
  return `${PENDING}${chain.underlying}${listed}`;
}

/** Whether a name stands for chains that cannot be expanded yet. */
export function isPendingChain(name: string): boolean {
  return name.startsWith(PENDING);
}

/** The underlying of chains that wait, or of a list of expirations; null: it is another name. */
export function underlyingBehind(name: string): string | null {
  const waiting = isPendingChain(name) ? name.slice(PENDING.length).split(" ", 1)[0] : undefined;
  return waiting ?? underlyingOfExpirations(name);
}

/** Which contracts each chain stands for today, by its underlying's last price, which answers bring. */
import type { Job } from "../schedule/readJobs.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { type Chain, expandChain } from "../market/optionChain.ts";
import { contractDate, isExpired } from "../market/expirations.ts";
import { inCapitals, type OptionContract } from "../market/instrument.ts";
import type { ReadDocument } from "../quotes/document.ts";
import type { DueJob } from "./asks.ts";

/** A slot of a job that polls something, without saying what. */
type DueSlot = Omit<DueJob, "symbols" | "contracts">;

type Waiting = { due: DueSlot; chains: readonly Chain[] };

/** A slot of a job, and underlyings whose chains are part of it. */
type ChainsOfSlot = { due: DueSlot; underlyings: string[] };

type Expansion = {
  contracts: readonly OptionContract[];
  /** Underlyings whose price must be asked first. */
  priceless: string[];
  /** Underlyings whose chains stand for too much, or whose price is no price. */
  broken: string[];
};

type Expanded = OptionContract[] | "priceless" | "broken";

/** The prices that all collectors expand chains by on an exchange date, decimal text by symbol. */
export type AgreedPrices = { date: string; of: Readonly<Record<string, string>> };

/** Last prices by symbol, and what each chain was expanded to. A broken chain is reported once a day. */
export class ChainBook {
  readonly #onBroken: (problem: Error) => void;
  #calendar: Calendar;
  /** Last price by symbol, decimal text. */
  readonly #prices = new Map<string, string>();
  /** Contracts by exchange date and chain: a chain keeps its strikes through the session, whatever is reloaded. */
  readonly #expanded = new Map<string, OptionContract[] | "broken">();
  #waiting: Waiting[] = [];
  /** Null: nothing is agreed on, because there is one collector. */
  #agreed: AgreedPrices | null = null;
  /** The prices that chains were expanded by. */
  #used: AgreedPrices = { date: "", of: {} };

  /** @param onBroken called once a day for a chain that cannot be expanded */
  constructor(calendar: Calendar, onBroken: (problem: Error) => void) {
    this.#calendar = calendar;
    this.#onBroken = onBroken;
  }

  useCalendar(calendar: Calendar): void {
    this.#calendar = calendar;
  }

  /** The date that counts as today for contracts at an instant, `YYYY-MM-DD`. */
  contractDate(at: Date): string {
    return contractDate(at, this.#calendar);
  }

  /** The prices that all collectors expand chains by from now on. */
  useAgreedPrices(prices: AgreedPrices | null): void {
    this.#agreed = prices;
  }

  /** The prices that chains stand by on an exchange date, for all collectors to agree on; null: on none. */
  used(today: string): AgreedPrices | null {
    return this.#used.date === today ? this.#used : null;
  }

  /**
   * What a job's own contracts and its chains are on an exchange date, without expired ones.
   *
   * @param onlyAgreed without those that only this collector knows the price of
   */
  expand({ options, chains }: Pick<Job, "options" | "chains">, today: string, onlyAgreed = false): Expansion {
    const live = options.filter((contract) => !isExpired(contract, today));
    // The job's own list where it is all, as for its symbols.
    if (chains.length === 0)
      return { contracts: live.length === options.length ? options : live, priceless: [], broken: [] };
    const lacking = { priceless: new Set<string>(), broken: new Set<string>() };
    for (const chain of chains) {
      const expanded = this.#contractsOf(chain, today, onlyAgreed);
      if (typeof expanded === "string") lacking[expanded].add(chain.underlying);
      else live.push(...expanded);
    }
    return { contracts: live, priceless: [...lacking.priceless], broken: [...lacking.broken] };
  }

  /** Notes a slot whose chains wait for prices that are being asked. */
  await(due: DueSlot, chains: readonly Chain[], priceless: readonly string[]): void {
    const waiting = chains.filter(({ underlying }) => priceless.includes(underlying));
    if (waiting.length > 0) this.#waiting.push({ due, chains: waiting });
  }

  /** Records last prices, decimal text by symbol. */
  price(prices: Iterable<readonly [symbol: string, last: string]>): void {
    // A price of 0 is none: it would expand to no strike at all, for the whole session.
    for (const [symbol, last] of prices) if (Number(last) > 0) this.#prices.set(symbol, last);
  }

  /** The slots that are over, whose prices never came: they wait no longer. */
  expire(nowMs: number): ChainsOfSlot[] {
    const over = this.#waiting.filter(({ due }) => due.deadlineMs <= nowMs);
    this.#waiting = this.#waiting.filter((waiting) => !over.includes(waiting));
    return over.map(({ due, chains }) => ({ due, underlyings: underlyingsOf(chains) }));
  }

  /** The prices of underlyings do not come for a slot: their chains wait no longer. */
  stopWaiting({ job, slotAt }: { job: string; slotAt: string }, underlyings: readonly string[]): void {
    if (!this.waits) return;
    this.#waiting = this.#waiting.flatMap((waiting) => {
      if (waiting.due.job.name !== job || waiting.due.slotAt !== slotAt) return [waiting];
      const chains = waiting.chains.filter((chain) => !underlyings.includes(chain.underlying));
      return chains.length > 0 ? [{ ...waiting, chains }] : [];
    });
  }

  recordAnswer({ items }: ReadDocument): void {
    for (const read of items) {
      if (!read.ok || read.item.unknownSymbol) continue;
      const { instrument, quote, underlying, underlyingQuote } = read.item;
      if (instrument.optionType === null && quote.last)
        this.price([[inCapitals(instrument.symbol), quote.last]]);
      if (underlying && underlyingQuote?.last)
        this.price([[inCapitals(underlying.symbol), underlyingQuote.last]]);
    }
  }

  /** Whether any chain waits for a price. */
  get waits(): boolean {
    return this.#waiting.length > 0;
  }

  /** The chains that waited for a price and have it now: jobs that are due, and the underlyings. */
  expandPriced(today: string): { due: DueJob; priced: string[]; broken: string[] }[] {
    const ready: { due: DueJob; priced: string[]; broken: string[] }[] = [];
    this.#waiting = this.#waiting.flatMap((waiting) => {
      const priced = waiting.chains.filter(({ underlying }) => this.#prices.has(underlying));
      if (priced.length === 0) return [waiting];
      const { due } = waiting;
      const { contracts, broken } = this.expand({ options: [], chains: priced }, today);
      ready.push({
        due: { ...due, job: { ...due.job, watchlist: null }, symbols: [], contracts },
        priced: underlyingsOf(priced),
        broken,
      });
      const chains = waiting.chains.filter((chain) => !priced.includes(chain));
      return chains.length > 0 ? [{ ...waiting, chains }] : [];
    });
    return ready;
  }

  #contractsOf(chain: Chain, today: string, onlyAgreed: boolean): Expanded {
    const { underlying } = chain;
    const needsPrice = !Array.isArray(chain.strikes);
    const agreed = needsPrice && this.#agreed?.date === today ? this.#agreed.of[underlying] : undefined;
    if (needsPrice && onlyAgreed && agreed === undefined) return "priceless";
    const key = `${today} ${agreed ?? ""} ${JSON.stringify(chain)}`;
    const kept = this.#expanded.get(key);
    if (kept) return kept;
    const price = needsPrice ? (agreed ?? this.#prices.get(underlying)) : "0";
    if (price === undefined) return "priceless";
    if (needsPrice) {
      const before = this.#used.date === today ? this.#used.of : {};
      this.#used = { date: today, of: { ...before, [underlying]: price } };
    }
    for (const old of this.#expanded.keys()) if (old < today) this.#expanded.delete(old);
    const expanded = this.#tryToExpand(chain, price, today);
    this.#expanded.set(key, expanded);
    return expanded;
  }

  #tryToExpand(chain: Chain, price: string, today: string): OptionContract[] | "broken" {
    try {
      return expandChain(chain, price, { today, calendar: this.#calendar });
    } catch (error) {
      this.#onBroken(error as Error);
      return "broken";
    }
  }
}

/** Symbols whose prices chains hang on, each once. */
export function underlyingsOf(chains: readonly Chain[]): string[] {
  return [...new Set(chains.map(({ underlying }) => underlying))];
}

/** Stands in a slot for the contracts of a chain whose underlying has no price yet; withdrawn when it has. */
export function pendingChain(underlying: string): string {
  return `${PENDING}${underlying}`;
}

/** The other way; null: it is another name. */
export function underlyingOfPending(name: string): string | null {
  return name.startsWith(PENDING) ? name.slice(PENDING.length) : null;
}

const PENDING = "chain of ";

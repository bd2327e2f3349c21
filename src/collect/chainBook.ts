/** What each chain stands for today, by its underlying's last price and listed expirations, which answers bring. */
import type { ChainFacts } from "../accounts/lease/leaseStore.ts";
import type { Job } from "../schedule/readJobs.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import {
  type Chain,
  expandChain,
  type ExpirationList,
  expirationList,
  type KnownOfChains,
  needsList,
  needsPrice,
  type OptionAsk,
} from "../market/optionChain.ts";
import { contractDate, isExpired } from "../market/expirations.ts";
import { inCapitals } from "../market/instrument.ts";
import type { ReadDocument } from "../quotes/document.ts";
import type { DueJob } from "./asks.ts";
import { type ChainsOfSlot, namesOf, pendingChain, WaitingChains } from "./waitingChains.ts";

type Expansion = {
  contracts: readonly OptionAsk[];
  pending: string[];
  priceless: string[];
  /** Those whose expirations must be. */
  unlisted: ExpirationList[];
  /** Names in the ledger of chains that stand for too much, or whose price is no price. */
  broken: string[];
};

/** What a chain is expanded by. `agreed`: in words, what of it all collectors have agreed on. */
type Facts = { last: string | null; listed: readonly string[] | null; agreed: string };

/** Prices and listed expirations by symbol, and what each chain was expanded to. A broken chain is reported once a day. */
export class ChainBook {
  readonly #onBroken: (problem: Error) => void;
  #calendar: Calendar;
  readonly #prices = new Map<string, string>();
  /** Listed expirations by underlying, and the exchange date that they hold on; null: on any. */
  readonly #listed = new Map<string, { date: string | null; expirations: readonly string[] }>();
  /** Contracts by exchange date and chain: a chain keeps its strikes through the session, whatever is reloaded. */
  readonly #expanded = new Map<string, OptionAsk[] | "broken">();
  readonly waiting = new WaitingChains();
  /** Null: nothing is agreed on, because there is one collector. */
  #agreed: ChainFacts | null = null;
  #used: ChainFacts = { date: "", of: {} };

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

  useAgreed(facts: ChainFacts | null): void {
    this.#agreed = facts;
  }

  /** What chains stand by on an exchange date, for all collectors to agree on; null: by nothing. */
  used(today: string): ChainFacts | null {
    return this.#used.date === today ? this.#used : null;
  }

  /**
   * What a job's own contracts and its chains are on an exchange date, without expired ones.
   *
   * @param onlyAgreed without those that only this collector knows the price of
   */
  expand(
    { options, chains }: { options: readonly OptionAsk[]; chains: readonly Chain[] },
    today: string,
    onlyAgreed = false,
  ): Expansion {
    const live: OptionAsk[] = options.filter(
      (asked) => !("expiration" in asked && isExpired(asked, today, this.#calendar)),
    );
    const lacking = { pending: [], priceless: [], unlisted: [], broken: [] };
    // The job's own list where it is all, as for its symbols.
    if (chains.length === 0)
      return { contracts: live.length === options.length ? options : live, ...lacking };
    const broken = new Set<string>();
    const pending: Chain[] = [];
    for (const chain of chains) {
      const facts = this.#factsOf(chain, today, onlyAgreed);
      const expanded = facts && this.#expandBy(chain, facts, today);
      if (expanded === null) pending.push(chain);
      else if (expanded === "broken") broken.add(pendingChain(chain));
      else live.push(...expanded);
    }
    if (pending.length === 0) return { contracts: live, ...lacking, broken: [...broken] };
    const lacksPrice = (chain: Chain): boolean => this.#lastOf(chain, today, onlyAgreed) === undefined;
    const lacksList = (chain: Chain): boolean => this.#listOf(chain, today, onlyAgreed) === undefined;
    return {
      contracts: live,
      pending: namesOf(pending),
      priceless: underlyingsOf(pending.filter(lacksPrice)),
      unlisted: underlyingsOf(pending.filter(lacksList)).map(expirationList),
      broken: [...broken],
    };
  }

  /** What a job asks for on an exchange date, in place of chains that cannot be expanded what they hang on. */
  asked(
    job: Pick<Job, "symbols" | "options" | "chains">,
    today: string,
  ): Pick<DueJob, "symbols" | "contracts"> {
    const { contracts, priceless, unlisted } = this.expand(job, today);
    return {
      symbols: [...new Set([...job.symbols, ...priceless])],
      contracts: [...contracts, ...unlisted],
    };
  }

  /** Notes a slot whose chains wait for what is being asked. @param pending names in the ledger */
  await({ due, chains }: ChainsOfSlot, pending: readonly string[], today: string): void {
    if (pending.length === 0) return;
    const waiting = chains.filter(
      (chain) => pending.includes(pendingChain(chain)) && this.#factsOf(chain, today, false) === null,
    );
    this.waiting.add({ due, chains: waiting });
  }

  price(prices: Iterable<readonly [symbol: string, last: string]>): void {
    // A price of 0 is none: it would expand to no strike at all, for the whole session.
    for (const [symbol, last] of prices) if (Number(last) > 0) this.#prices.set(symbol, last);
  }

  /** Records which expirations the service lists. @param date on which the list holds; null: on any */
  list(underlying: string, expirations: readonly string[], date: string | null): void {
    this.#listed.set(inCapitals(underlying), { date, expirations });
  }

  /** Takes what the archive knows, to count chains by it. */
  know({ prices, expirations }: KnownOfChains): void {
    this.price(prices);
    for (const [underlying, dates] of expirations) this.list(underlying, dates, null);
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

  /** The chains that waited and can be expanded now: jobs that are due, and the names in the ledger that stood for them. */
  expandWaiting(today: string): { due: DueJob; expanded: string[]; broken: string[] }[] {
    const known = this.waiting.take((chain) => this.#factsOf(chain, today, false) !== null);
    return known.map(({ due, chains }) => {
      const { contracts, broken } = this.expand({ options: [], chains }, today);
      return {
        due: { ...due, job: { ...due.job, watchlist: null }, symbols: [], contracts },
        expanded: namesOf(chains),
        broken,
      };
    });
  }

  /** Null: not known yet. */
  #factsOf(chain: Chain, today: string, onlyAgreed: boolean): Facts | null {
    const last = this.#lastOf(chain, today, onlyAgreed);
    const listed = this.#listOf(chain, today, onlyAgreed);
    if (last === undefined || listed === undefined) return null;
    const agreed = this.#agreedOn(today);
    const { underlying } = chain;
    const said = [last !== null && agreed?.of[underlying], listed !== null && agreed?.listed?.[underlying]];
    return { last, listed, agreed: said.map((fact) => String(fact || "")).join(" ") };
  }

  /** Null: it needs no price; undefined: it has none yet. */
  #lastOf(chain: Chain, today: string, onlyAgreed: boolean): string | null | undefined {
    if (!needsPrice(chain)) return null;
    const agreed = this.#agreedOn(today)?.of[chain.underlying];
    return agreed ?? (onlyAgreed ? undefined : this.#prices.get(chain.underlying));
  }

  #listOf(chain: Chain, today: string, onlyAgreed: boolean): readonly string[] | null | undefined {
    if (!needsList(chain)) return null;
    const agreed = this.#agreedOn(today)?.listed?.[chain.underlying];
    if (agreed !== undefined || onlyAgreed) return agreed;
    const known = this.#listed.get(chain.underlying);
    return known && (known.date ?? today) === today ? known.expirations : undefined;
  }

  #agreedOn(today: string): ChainFacts | null {
    return this.#agreed?.date === today ? this.#agreed : null;
  }

  #expandBy(chain: Chain, { agreed, ...facts }: Facts, today: string): OptionAsk[] | "broken" {
    const key = `${today} ${agreed} ${JSON.stringify(chain)}`;
    const kept = this.#expanded.get(key);
    if (kept) return kept;
    this.#use(chain.underlying, facts, today);
    for (const old of this.#expanded.keys()) if (old < today) this.#expanded.delete(old);
    const expanded = this.#tryToExpand(chain, facts, today);
    this.#expanded.set(key, expanded);
    return expanded;
  }

  #use(underlying: string, { last, listed }: Omit<Facts, "agreed">, today: string): void {
    const before = this.#used.date === today ? this.#used : { date: today, of: {} };
    this.#used = {
      ...before,
      ...(last !== null && { of: { ...before.of, [underlying]: last } }),
      ...(listed !== null && { listed: { ...before.listed, [underlying]: listed } }),
    };
  }

  #tryToExpand(chain: Chain, facts: Omit<Facts, "agreed">, today: string): OptionAsk[] | "broken" {
    try {
      return expandChain(chain, { ...facts, today, calendar: this.#calendar });
    } catch (error) {
      this.#onBroken(error as Error);
      return "broken";
    }
  }
}

export function underlyingsOf(chains: readonly Chain[]): string[] {
  return [...new Set(chains.map(({ underlying }) => underlying))];
}

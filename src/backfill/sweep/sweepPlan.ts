/**
 * What a sweep polls, and what became of each. It learns from answers alone, whether they came just now or stand in the
 * journal, so a run that was killed goes on from the journal. Pure.
 */
import type { Calendar } from "../../market/calendar/tradingCalendar.ts";
import {
  type Chain,
  expandChain,
  expirationList,
  type KnownOfChains,
  needsList,
  needsPrice,
  type OptionAsk,
} from "../../market/optionChain.ts";
import { isExpired } from "../../market/expirations.ts";
import { type DueJob, namesOf, optionCall } from "../../collect/asks.ts";
import type { Answer } from "../../quotes/answer.ts";
import { matchCall } from "../../quotes/match.ts";
import { askedInstruments, type QuoteCall, underlyingOfExpirations } from "../../quotes/call.ts";
import type { SweepAsk } from "./ask.ts";

/** One instrument, a whole chain or a list of expirations: its name, and the call that asks for it alone. */
type Wanted = { name: string; call: QuoteCall };

/**
 * What became of an instrument for good: it has a quote, or the service does not know it, or left it out, or its part
 * could not be read; `failed`: the service refuses it alone while it answers others; `expired`: it is not asked.
 */
export type SweepFate = "stored" | "unknown" | "absent" | "dead" | "failed" | "expired";

/** The exchange's dates that count for contracts. */
type SweepDates = {
  /** When the sweep began: chains are expanded as they were then. */
  begun: string;
  /** What expired before it is not asked any more. */
  today: string;
  calendar: Calendar;
  /** As jobs have it (schedule/jobSchema.ts). */
  optionsInList?: true;
};

/** The instruments of a sweep in the order they were wanted, and the fate of each. */
export class SweepPlan {
  readonly #delayed: boolean;
  readonly #dates: SweepDates;
  readonly #wanted = new Map<string, Wanted>();
  readonly #fates = new Map<string, SweepFate>();
  /** What answers have said of underlyings; null: nothing, and nothing will. */
  readonly #prices = new Map<string, string | null>();
  readonly #listed = new Map<string, readonly string[] | null>();
  /** Chains that stand for nothing, in words. */
  readonly problems: string[] = [];
  /** Chains whose contracts are not known yet. */
  waiting: readonly Chain[];

  constructor({ symbols, contracts, chains }: SweepAsk, delayed: boolean, dates: SweepDates) {
    this.#delayed = delayed;
    this.#dates = dates;
    this.waiting = chains;
    // What chains hang on comes first.
    for (const chain of chains) {
      if (needsPrice(chain)) this.#wantSymbol(chain.underlying);
      if (needsList(chain)) this.#wantOption(expirationList(chain.underlying));
    }
    symbols.forEach((symbol) => this.#wantSymbol(symbol));
    contracts.forEach((contract) => this.#wantOption(contract));
    this.#expand();
  }

  /** Takes an answer in; one that holds no quotes leaves what it asked for as it is. */
  take(call: QuoteCall, answer: Answer): void {
    if (answer.outcome !== "quotes") return;
    const matched = matchCall(call, answer.document.items);
    if (call.form === "expirations") {
      const { expirations = [] } = answer.document;
      this.#settle(call, expirations.length > 0 ? "stored" : "unknown");
      this.#listed.set(call.underlying, expirations.length > 0 ? expirations : null);
    } else if (askedInstruments(call) === null)
      this.#settle(call, matched.some(({ fate }) => fate === "stored") ? "stored" : "absent");
    else
      for (const match of matched) {
        if (match.name === null || !this.#wanted.has(match.name) || this.#fates.has(match.name)) continue;
        this.#fates.set(match.name, match.fate);
        this.#priced(match.name, match.fate === "stored" ? match.item.quote.last : null);
      }
    this.#expand();
  }

  /** It fails for good, alone. */
  fail(name: string): void {
    if (!this.#wanted.has(name) || this.#fates.has(name)) return;
    this.#fates.set(name, "failed");
    this.#priced(name, null);
    const underlying = underlyingOfExpirations(name);
    if (underlying !== null) this.#listed.set(underlying, null);
    this.#expand();
  }

  /** What is still to be polled, in order. */
  get left(): Wanted[] {
    return [...this.#wanted.values()].filter(({ name }) => !this.#fates.has(name));
  }

  /** What is still to be polled, as what a job of this name is due to poll. */
  dueOf(name: string): Pick<DueJob, "job" | "symbols" | "contracts"> {
    const calls = this.left.map(({ call }) => call);
    const inList = this.#dates.optionsInList && { optionsInList: true as const };
    return {
      job: { name, delayed: this.#delayed, priority: 0, watchlist: null, ...inList },
      symbols: calls.flatMap((call) => (call.form === "symbols" ? call.symbols : [])),
      contracts: calls.flatMap(optionAsks),
    };
  }

  /** All instruments; more when a chain's price has come. */
  get size(): number {
    return this.#wanted.size;
  }

  namesOf(fate: SweepFate): string[] {
    return [...this.#fates].flatMap(([name, its]) => (its === fate ? [name] : []));
  }

  /** Expands chains by what the archive knows; for a forecast. */
  know({ prices, expirations }: KnownOfChains): void {
    for (const [symbol, last] of prices) this.#priced(symbol, last);
    for (const [underlying, dates] of expirations) this.#listed.set(underlying, dates);
    this.#expand();
  }

  #wantSymbol(symbol: string): void {
    const call: QuoteCall = { form: "symbols", symbols: [symbol], delayed: this.#delayed };
    const [name = symbol] = namesOf(call);
    if (!this.#wanted.has(name)) this.#wanted.set(name, { name, call });
  }

  #wantOption(asked: OptionAsk): void {
    const call = optionCall(asked, { delayed: this.#delayed });
    const [name = ""] = namesOf(call);
    if (this.#wanted.has(name)) return;
    this.#wanted.set(name, { name, call });
    const { today, calendar } = this.#dates;
    if ("expiration" in asked && isExpired(asked, today, calendar)) this.#fates.set(name, "expired");
  }

  #settle(call: QuoteCall, fate: SweepFate): void {
    for (const name of namesOf(call))
      if (this.#wanted.has(name) && !this.#fates.has(name)) this.#fates.set(name, fate);
  }

  /** @param last null: no price will come. A price of 0 is none: it would expand to no strike at all. */
  #priced(symbol: string, last: string | null): void {
    this.#prices.set(symbol, last !== null && Number(last) > 0 ? last : null);
  }

  /** Expands the chains that can be. */
  #expand(): void {
    const { begun: today, calendar } = this.#dates;
    this.waiting = this.waiting.filter((chain) => {
      const { underlying } = chain;
      const last = needsPrice(chain) ? this.#prices.get(underlying) : NOT_NEEDED;
      const listed = needsList(chain) ? this.#listed.get(underlying) : NOT_NEEDED;
      if (last === undefined || listed === undefined) return true;
      if (last === null || listed === null) {
        const lacks =
          last === null ? `no last price of ${underlying} came` : `no expirations of ${underlying} came`;
        this.problems.push(`the chain of ${underlying} stands for nothing: ${lacks}`);
        return false;
      }
      try {
        const asked = expandChain(chain, { last, listed: [...listed], today, calendar });
        if (asked.length === 0) this.problems.push(`the chain of ${underlying} stands for no contract`);
        asked.forEach((one) => this.#wantOption(one));
      } catch (error) {
        this.problems.push((error as Error).message);
      }
      return false;
    });
  }
}

/** In place of a price or a list that a chain does not hang on. */
const NOT_NEEDED = "";

function optionAsks(call: QuoteCall): OptionAsk[] {
  if (call.form === "option") return [call.contract];
  if (call.form === "expirations") return [expirationList(call.underlying)];
  if (call.form !== "chain") return [];
  return [{ underlying: call.underlying, expiration: call.expiration, strikes: "all" }];
}

/**
 * What a sweep polls, and what became of each. It learns from answers alone, whether they came just now or stand in the
 * journal, so a run that was killed goes on from the journal. Pure.
 */
import type { Calendar } from "../../market/calendar/tradingCalendar.ts";
import { type Chain, expandChain } from "../../market/optionChain.ts";
import { isExpired } from "../../market/expirations.ts";
import { instrumentName, type OptionContract, option } from "../../market/instrument.ts";
import { type DueJob, namesOf } from "../../collect/asks.ts";
import type { Answer } from "../../quotes/answer.ts";
import { matchAnswer } from "../../quotes/match.ts";
import { askedInstruments, type QuoteCall } from "../../quotes/call.ts";
import type { SweepAsk } from "./ask.ts";

/** One instrument: its name as the ledger has it, and the call that asks for it alone. */
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
  /** Chains that stand for nothing, in words. */
  readonly problems: string[] = [];
  /** Chains whose contracts are not known yet. */
  waiting: readonly Chain[];

  constructor({ symbols, contracts, chains }: SweepAsk, delayed: boolean, dates: SweepDates) {
    this.#delayed = delayed;
    this.#dates = dates;
    this.waiting = chains.filter(({ strikes }) => !Array.isArray(strikes));
    // The prices that chains hang on come first.
    for (const { underlying } of this.waiting) this.#wantSymbol(underlying);
    symbols.forEach((symbol) => this.#wantSymbol(symbol));
    contracts.forEach((contract) => this.#wantContract(contract));
    for (const chain of chains) if (Array.isArray(chain.strikes)) this.#expand(chain, "0");
  }

  /** Takes an answer in; one that holds no quotes leaves what it asked for as it is. */
  take(call: QuoteCall, answer: Answer): void {
    if (answer.outcome !== "quotes") return;
    for (const match of matchAnswer(askedInstruments(call), answer.document.items)) {
      if (match.name === null || !this.#wanted.has(match.name) || this.#fates.has(match.name)) continue;
      this.#fates.set(match.name, match.fate);
      this.#priced(match.name, match.fate === "stored" ? match.item.quote.last : null);
    }
  }

  /** It fails for good, alone. */
  fail(name: string): void {
    if (!this.#wanted.has(name) || this.#fates.has(name)) return;
    this.#fates.set(name, "failed");
    this.#priced(name, null);
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
      contracts: calls.flatMap((call) => (call.form === "option" ? [call.contract] : [])),
    };
  }

  /** All instruments; more when a chain's price has come. */
  get size(): number {
    return this.#wanted.size;
  }

  namesOf(fate: SweepFate): string[] {
    return [...this.#fates].flatMap(([name, its]) => (its === fate ? [name] : []));
  }

  /** Expands chains by prices from elsewhere; for a forecast. */
  price(prices: ReadonlyMap<string, string>): void {
    for (const [symbol, last] of prices) if (Number(last) > 0) this.#priced(symbol, last);
  }

  #wantSymbol(symbol: string): void {
    const call: QuoteCall = { form: "symbols", symbols: [symbol], delayed: this.#delayed };
    const [name = symbol] = namesOf(call);
    if (!this.#wanted.has(name)) this.#wanted.set(name, { name, call });
  }

  #wantContract(contract: OptionContract): void {
    const name = instrumentName(option(contract));
    if (this.#wanted.has(name)) return;
    this.#wanted.set(name, { name, call: { form: "option", contract, delayed: this.#delayed } });
    if (isExpired(contract, this.#dates.today)) this.#fates.set(name, "expired");
  }

  /** @param last null: no price will come */
  #priced(symbol: string, last: string | null): void {
    const chains = this.waiting.filter(({ underlying }) => underlying === symbol);
    if (chains.length === 0) return;
    this.waiting = this.waiting.filter((chain) => !chains.includes(chain));
    for (const chain of chains) {
      // A price of 0 is none: it would expand to no strike at all.
      if (last !== null && Number(last) > 0) this.#expand(chain, last);
      else this.problems.push(`the chain of ${symbol} stands for nothing: no last price of ${symbol} came`);
    }
  }

  #expand(chain: Chain, last: string): void {
    const { begun, calendar } = this.#dates;
    try {
      const contracts = expandChain(chain, last, { today: begun, calendar });
      if (contracts.length === 0)
        this.problems.push(`the chain of ${chain.underlying} stands for no contract`);
      contracts.forEach((contract) => this.#wantContract(contract));
    } catch (error) {
      this.problems.push((error as Error).message);
    }
  }
}

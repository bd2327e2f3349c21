/**
 * The simulated market: quotes as a pure function of (seed, instrument, instant). What it remembers only spares
 * it repeating itself.
 */
import type { InstrumentQuote } from "../../quotes-api/document.ts";
import type { InstrumentKey } from "../../market/instrument.ts";
import { unknownQuote } from "../source.ts";
import { companyOf } from "./companies.ts";
import { listedContract, type ListedContract } from "./contracts.ts";
import { equityQuote, listingOf, yearRangesOf, type Listing, type YearRange } from "./equity.ts";
import { contractText, optionQuote, rangeBefore, type ContractRange } from "./option.ts";
import { remembered } from "./remembered.ts";
import { sessionAt } from "./session.ts";

/** A `QuoteSource` that never closes and never waits, see `session.ts`. */
export type SimulatedMarket = {
  readonly name: "simulated";
  /** The quote at an instant; `unknownSymbol` is true for whatever is not listed. */
  quote: (key: InstrumentKey, at: Date) => InstrumentQuote;
  /** The symbols of a watchlist; null when there is none of that id. */
  watchlist: (id: string) => readonly string[] | null;
};

const WATCHLISTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["DEFAULT", ["AAPL", "GE", "IBM", "KO", "SIRI"]],
  ["my_watchlist", ["MSFT", "NVDA", "TSLA"]],
  ["watchlist-18516", ["BRK.B", "F", "JPM", "PFE", "SPY", "XOM"]],
]);

/** How many companies and contracts are remembered; a made-up universe has ten thousand symbols. */
const MOST_LISTINGS = 12_000;
const MOST_RANGES = 20_000;

/** @param options.seed any number: another seed is another course of prices of the same companies */
export function createSimulatedMarket({ seed }: { seed: number }): SimulatedMarket {
  const listings = remembered(
    MOST_LISTINGS,
    (symbol: string): { listing: Listing; yearRange: (day: number) => YearRange } | false => {
      const company = companyOf(symbol);
      if (!company) return false;
      const listing = listingOf(company, seed);
      return { listing, yearRange: yearRangesOf(listing) };
    },
  );
  const pastRanges = new Map<string, { day: number; range: ContractRange }>();

  function rangeOf(contract: ListedContract, listing: Listing, day: number): ContractRange {
    const text = contractText(contract);
    const known = pastRanges.get(text);
    if (known?.day === day) return known.range;
    if (pastRanges.size >= MOST_RANGES) pastRanges.clear();
    const range = rangeBefore(contract, listing, day);
    pastRanges.set(text, { day, range });
    return range;
  }

  return {
    name: "simulated",
    watchlist: (id) => WATCHLISTS.get(id) ?? null,
    quote(key, at) {
      const atMs = at.getTime();
      const known = listings(key.kind === "option" ? key.underlying : key.symbol);
      if (!known) return unknownQuote(key);
      const { listing, yearRange } = known;
      if (key.kind === "security") return equityQuote(listing, yearRange, atMs);
      const contract = listedContract(key, listing.baseCents, atMs);
      if (!contract) return unknownQuote(key);
      const past = rangeOf(contract, listing, sessionAt(atMs).day);
      return optionQuote(contract, listing, equityQuote(listing, yearRange, atMs), past, atMs);
    },
  };
}

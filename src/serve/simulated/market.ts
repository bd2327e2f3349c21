/**
 * The simulated market: quotes as a pure function of (seed, instrument, instant). Its memory only saves time.
 */
import { type InstrumentQuote, unknownQuote } from "../../quotes/document.ts";
import { inCapitals, type InstrumentKey } from "../../market/instrument.ts";
import { DELAY_MS, type QuoteSource } from "../source.ts";
import { companyOf } from "./companies.ts";
import { listedContract, type ListedContract } from "./contracts.ts";
import { equityQuote, type Listing, listingOf, yearRangesOf } from "./equity.ts";
import { type ContractRange, contractText, optionQuote, rangeBefore } from "./option.ts";
import { positionAt } from "./pricePath.ts";
import { remembered } from "../../remembered.ts";
import { sessionAt } from "./marketDay.ts";
import { dateOf } from "../../clock.ts";
import { DELAYED_DEFAULT } from "../../services/reference/parseRequest.ts";
import { type Playback, playedAt } from "../playback.ts";

/** A `QuoteSource` that never closes and never waits. */
type SimulatedMarket = {
  readonly name: "simulated";
  /** The quote at an instant; `unknownSymbol` is true for instruments that are not listed. */
  quote: (key: InstrumentKey, at: Date) => InstrumentQuote;
  /** The symbols of a watchlist; null when there is none of that id. */
  watchlist: (id: string) => readonly string[] | null;
};

const WATCHLISTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["DEFAULT", ["AAPL", "GE", "IBM", "KO", "SIRI"]],
  ["my_watchlist", ["MSFT", "NVDA", "TSLA"]],
  ["watchlist-18516", ["BRK.B", "F", "JPM", "PFE", "SPY", "XOM"]],
]);

/** Most companies and contracts that are remembered; the made-up companies are ten thousand. */
const MOST_LISTINGS = 12_000;
const MOST_RANGES = 20_000;

/** Steps of an instrument that are remembered: real-time and delayed ones, and the steps before them. */
const STEPS_KEPT = 4;

/** @param options.seed any number: another seed is another course of prices of the same companies */
export function createSimulatedMarket({ seed }: { seed: number }): SimulatedMarket {
  const listings = remembered(
    MOST_LISTINGS,
    (symbol: string): { listing: Listing; quoteAt: (stepMs: number) => InstrumentQuote } | false => {
      const company = companyOf(symbol);
      if (!company) return false;
      const listing = listingOf(company, seed);
      const yearRange = yearRangesOf(listing);
      return { listing, quoteAt: recent(STEPS_KEPT, (stepMs) => equityQuote(listing, yearRange, stepMs)) };
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

  const optionQuotes = new Map<string, (stepMs: number) => InstrumentQuote>();

  /** The quotes of a contract, with a memory for its last steps; all memories are cleared when there are too many. */
  function quotesOf(
    contract: ListedContract,
    listing: Listing,
    underlying: (stepMs: number) => InstrumentQuote,
  ): (stepMs: number) => InstrumentQuote {
    const text = contractText(contract);
    const known = optionQuotes.get(text);
    if (known) return known;
    if (optionQuotes.size >= MOST_RANGES) optionQuotes.clear();
    const quoteAt = recent(STEPS_KEPT, (stepMs) => {
      const past = rangeOf(contract, listing, sessionAt(stepMs).day);
      return optionQuote(contract, listing, { underlying: underlying(stepMs), past, atMs: stepMs });
    });
    optionQuotes.set(text, quoteAt);
    return quoteAt;
  }

  return {
    name: "simulated",
    watchlist: (id) => WATCHLISTS.get(id) ?? null,
    quote(asked, at) {
      const key = withCapitals(asked);
      const atMs = at.getTime();
      const known = listings(key.kind === "option" ? key.underlying : key.symbol);
      if (!known) return unknownQuote(key);
      const { listing, quoteAt } = known;
      // The market stands still within a step, so a quote is that of the step's beginning.
      const stepMs = Math.ceil(positionAt(sessionAt(atMs), atMs).stepMs);
      if (key.kind === "security") return quoteAt(stepMs);
      const contract = listedContract(key, listing.baseCents, atMs);
      return contract ? quotesOf(contract, listing, quoteAt)(stepMs) : unknownQuote(key);
    },
  };
}

/** The market's own symbols are in capitals. */
function withCapitals(key: InstrumentKey): InstrumentKey {
  return key.kind === "option"
    ? { ...key, underlying: inCapitals(key.underlying) }
    : { ...key, symbol: inCapitals(key.symbol) };
}

function recent<Value>(most: number, answer: (key: number) => Value): (key: number) => Value {
  const keys: number[] = [];
  const values: Value[] = [];
  let next = 0;
  return (key) => {
    const place = keys.indexOf(key);
    if (place >= 0) return values[place] as Value;
    const value = answer(key);
    keys[next] = key;
    values[next] = value;
    next = (next + 1) % most;
    return value;
  };
}

/** Delayed quotes are 15 minutes old in played time. */
export function simulatedSource(market: SimulatedMarket, playback: Playback | null): QuoteSource {
  return {
    ...market,
    quotes: (keys, { now, delayed }) => {
      const playedMs = playback ? dateOf(playedAt(playback, now)).getTime() : now.getTime();
      const at = new Date(playedMs - ((delayed ?? DELAYED_DEFAULT) ? DELAY_MS : 0));
      return keys.map((key) => market.quote(key, at));
    },
  };
}

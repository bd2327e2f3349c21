/**
 * The simulated market: quotes as a pure function of (seed, instrument, instant). Its memory only saves time.
 */
import { type InstrumentQuote, unknownQuote } from "../../quotes/document.ts";
import { inCapitals, type InstrumentKey } from "../../market/instrument.ts";
import { DELAY_MS, type QuoteSource } from "../source.ts";
import { companyOf } from "./companies.ts";
import { listedContract, type ListedContract } from "./contracts.ts";
import { equityQuote, type Listing, listingOf, type YearRange, yearRangesOf } from "./equity.ts";
import { type ContractRange, contractText, optionQuote, rangeBefore } from "./option.ts";
import { positionAt } from "./pricePath.ts";
import { remembered } from "../../ground/remembered.ts";
import { sessionAt } from "./marketDay.ts";
import { dateOf } from "../../ground/clock.ts";
import { DELAYED_DEFAULT } from "../../services/reference/parseRequest.ts";
import { type Playback, playedAt } from "../playback.ts";

/** A source that never closes and never waits. */
type SimulatedMarket = Omit<QuoteSource, "watchlist"> & {
  watchlist: (id: string) => readonly string[] | null;
  /** The quote at an instant; `unknownSymbol` is true for instruments that are not listed. */
  quote: (key: InstrumentKey, at: Date) => InstrumentQuote;
};

const WATCHLISTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["DEFAULT", ["AAPL", "GE", "IBM", "KO", "SIRI"]],
  ["my_watchlist", ["MSFT", "NVDA", "TSLA"]],
  ["watchlist-18516", ["BRK.B", "F", "JPM", "PFE", "SPY", "XOM"]],
]);

/** Most companies and contracts that are remembered; the made-up companies are ten thousand. */
const MOST_LISTINGS = 12_000;
const MOST_RANGES = 20_000;

/**
 * Most quotes that are remembered, of all instruments and steps together. Who asks for a few hundred instruments again and again has
 * them made once a step. Who asks for thousands once a minute finds none of them again, and they would only take room.
 */
const MOST_QUOTES = 1_000;

/** A company that is listed, and what is remembered of its past. */
type Known = { listing: Listing; yearRange: (day: number) => YearRange };

type MarketOptions = {
  /** Any number: another seed is another course of prices of the same companies. */
  seed: number;
  /** Null: the present. */
  playback?: Playback | null;
};

export function createSimulatedMarket({ seed, playback = null }: MarketOptions): SimulatedMarket {
  const listings = remembered(MOST_LISTINGS, (symbol: string): Known | false => {
    const company = companyOf(symbol);
    if (!company) return false;
    const listing = listingOf(company, seed);
    return { listing, yearRange: yearRangesOf(listing) };
  });
  const rememberQuote = quoteMemory(MOST_QUOTES);
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

  function securityQuote({ listing, yearRange }: Known, stepMs: number): InstrumentQuote {
    return rememberQuote(stepMs, listing.symbol, () => equityQuote(listing, yearRange, stepMs));
  }

  function contractQuote(contract: ListedContract, known: Known, stepMs: number): InstrumentQuote {
    return rememberQuote(stepMs, contractText(contract), () => {
      const past = rangeOf(contract, known.listing, sessionAt(stepMs).day);
      return optionQuote(contract, known.listing, {
        underlying: securityQuote(known, stepMs),
        past,
        atMs: stepMs,
      });
    });
  }

  function quote(asked: InstrumentKey, at: Date): InstrumentQuote {
    const key = withCapitals(asked);
    const atMs = at.getTime();
    const known = listings(key.kind === "option" ? key.underlying : key.symbol);
    if (!known) return unknownQuote(key);
    // The market stands still within a step, so a quote is that of the step's beginning.
    const stepMs = Math.ceil(positionAt(sessionAt(atMs), atMs).stepMs);
    if (key.kind === "security") return securityQuote(known, stepMs);
    const contract = listedContract(key, known.listing.baseCents, atMs);
    return contract ? contractQuote(contract, known, stepMs) : unknownQuote(key);
  }

  return {
    name: "simulated",
    watchlist: (id) => WATCHLISTS.get(id) ?? null,
    quote,
    // Delayed quotes are 15 minutes old in played time.
    quotes: (keys, { now, delayed }) => {
      const playedMs = playback ? dateOf(playedAt(playback, now)).getTime() : now.getTime();
      const at = new Date(playedMs - ((delayed ?? DELAYED_DEFAULT) ? DELAY_MS : 0));
      return keys.map((key) => quote(key, at));
    },
  };
}

function withCapitals(key: InstrumentKey): InstrumentKey {
  return key.kind === "option"
    ? { ...key, underlying: inCapitals(key.underlying) }
    : { ...key, symbol: inCapitals(key.symbol) };
}

/** Remembers quotes by their step and their instrument's name. It is emptied when it holds `most`. */
function quoteMemory(most: number) {
  const steps = new Map<number, Map<string, InstrumentQuote>>();
  let count = 0;
  return (stepMs: number, name: string, make: () => InstrumentQuote): InstrumentQuote => {
    const known = steps.get(stepMs)?.get(name);
    if (known !== undefined) return known;
    const quote = make();
    if (count >= most) steps.clear();
    count = count >= most ? 1 : count + 1;
    const ofStep = steps.get(stepMs) ?? new Map<string, InstrumentQuote>();
    steps.set(stepMs, ofStep.set(name, quote));
    return quote;
  };
}

/**
 * The quote of an option contract on the simulated market: Black-Scholes on the underlying's price at the same
 * instant. Bid, ask and delta move with every step; a trade happens at the start of every block, so `last` may lie
 * outside bid and ask, as it does for real options.
 */
import { type ExtendedQuote, type InstrumentQuote, NO_QUOTE } from "../../quotes/document.ts";
import { optionValue, type OptionValue } from "./blackScholes.ts";
import type { ListedContract } from "./contracts.ts";
import { centsText, decimalText } from "./decimalText.ts";
import { pricesOf, type Listing } from "./equity.ts";
import { chance, fork, seedOf } from "./hash.ts";
import {
  barOfDay,
  blockPrices,
  BLOCKS,
  closeOf,
  daily,
  positionAt,
  sessionSoFar,
  STEPS,
  volumeShare,
  type Position,
} from "./pricePath.ts";
import { DAY_MS, sessionAt, sessionBefore, type Session } from "./marketDay.ts";

export const RATE = 0.04;

const YEAR_MS = 365 * DAY_MS;

/** Units of the underlying in one contract. */
const CONTRACT_SIZE = "100";

/** The highest and lowest trade of a contract before a session, cents; null before its first one. */
export type ContractRange = { high: number; low: number } | null;

/** The quote at an instant (epoch ms), around the underlying's quote at the same instant. */
export function optionQuote(
  contract: ListedContract,
  listing: Listing,
  { underlying, past, atMs }: { underlying: InstrumentQuote; past: ContractRange; atMs: number },
): InstrumentQuote {
  const session = sessionAt(atMs);
  const position = positionAt(session, atMs);
  const { open, high, low, last } = tradesSoFar(trades(contract, listing, session), position.block);
  const previousClose = trades(contract, listing, sessionBefore(session))(BLOCKS - 1);
  const spot = sessionSoFar(listing, session.day, position).last;
  const now = valuing(contract, listing)(spot, position.stepMs);
  const seed = fork(fork(seedOf(contractText(contract)), listing.seed), session.day);
  const book = optionBook(now.value, fork(seed, position.block * STEPS + position.step));
  const delta = deltaText(contract, now.delta);
  const extended: ExtendedQuote = {
    ...NO_QUOTE.extended,
    askSize: String(book.askSize),
    bidSize: String(book.bidSize),
    high: centsText(high),
    low: centsText(low),
    open: centsText(open),
    previousClose: centsText(previousClose),
    volume: String(optionVolume(contract, listing, { ...position, day: session.day })),
    contractHigh: centsText(Math.max(high, past?.high ?? high)),
    contractLow: centsText(Math.min(low, past?.low ?? low)),
    contractSize: CONTRACT_SIZE,
    delta,
  };
  const { description, exchange, symbol } = underlying.instrument;
  return {
    instrument: {
      description: descriptionOf(contract),
      exchange: "CMP",
      securityType: "OPT",
      symbol: contract.underlying,
      expiration: contract.expiration,
      optionType: contract.optionType,
      strike: decimalText(contract.strikePrice, 2),
    },
    quote: { ...pricesOf({ ...book, last, previousClose }), extended },
    greeksDelta: delta,
    underlying: { description, exchange, symbol },
    underlyingQuote: underlying.quote,
    unknownSymbol: false,
  };
}

/**
 * The contract's range from its listing to the session before `day`. Each past session adds the extremes that the
 * underlying's bar allows, so the range holds every trade shown, and never narrows.
 */
export function rangeBefore(contract: ListedContract, listing: Listing, day: number): ContractRange {
  if (day <= contract.firstDay) return null;
  const valueAt = valuing(contract, listing);
  let [high, low] = [1, Number.POSITIVE_INFINITY];
  let previousClose = closeOf(listing, contract.firstDay - 1);
  for (let past = contract.firstDay; past < day; past++) {
    const bar = barOfDay(listing, past, previousClose);
    previousClose = bar.close;
    // A session begins 4 or 5 hours after midnight UTC and ends a day later.
    const [begin, end] = [past * DAY_MS + 4 * 3_600_000, (past + 1) * DAY_MS + 5 * 3_600_000];
    for (const spot of [bar.high, bar.low])
      for (const at of [begin, end]) {
        const cents = tradeCents(valueAt(spot, at).value);
        high = Math.max(high, cents);
        // Between the two times a put can be worth a trace less than at both.
        low = Math.min(low, Math.max(1, cents - 1));
      }
  }
  return { high, low };
}

/** One text per contract, for seeds and memories. */
export function contractText({ underlying, expiration, optionType, strikePrice }: ListedContract): string {
  return `${underlying}:${expiration}:${optionType}:${strikePrice}`;
}

/** The trade at the start of each block of a session, cents. */
function trades(contract: ListedContract, listing: Listing, session: Session): (block: number) => number {
  const priceAt = blockPrices(listing, session.day, barOfDay(listing, session.day));
  const blockMs = (session.endMs - session.startMs) / BLOCKS;
  const valueAt = valuing(contract, listing);
  return (block) => tradeCents(valueAt(priceAt(block), session.startMs + block * blockMs).value);
}

/** The session's trades up to and including that of a block: first, highest, lowest, last. */
function tradesSoFar(tradeAt: (block: number) => number, block: number) {
  const open = tradeAt(0);
  let { high, low, last } = { high: open, low: open, last: open };
  for (let index = 1; index <= block; index++) {
    last = tradeAt(index);
    high = Math.max(high, last);
    low = Math.min(low, last);
  }
  return { open, high, low, last };
}

/** The value of a contract on a spot price in cents, at an instant (epoch ms). */
function valuing(
  contract: ListedContract,
  listing: Listing,
): (spotCents: number, atMs: number) => OptionValue {
  const { optionType, strikePrice: strike, expiresMs } = contract;
  // The same at every instant: a year's range asks for it a thousand times.
  const volatility = volatilityOf(contract, listing);
  return (spotCents, atMs) =>
    optionValue({
      optionType,
      spot: spotCents / 100,
      strike,
      years: (expiresMs - atMs) / YEAR_MS,
      volatility,
      rate: RATE,
    });
}

/**
 * Implied volatility per year: the walk's own, a little more for far strikes and for low ones. It depends on the strike
 * and not on the spot, so that values rise and fall with the spot.
 */
function volatilityOf({ strikePrice }: ListedContract, { baseCents, dailyVolatility }: Listing): number {
  const distance = Math.min(2, Math.max(-2, Math.log((100 * strikePrice) / baseCents)));
  return dailyVolatility * Math.sqrt(365) * (1 + 0.1 * distance ** 2 - 0.08 * distance);
}

function tradeCents(value: number): number {
  return Math.max(1, Math.round(value * 100));
}

/** Bid and ask in cents around a value in dollars. The bid of a worthless option is 0. */
function optionBook(value: number, seed: number) {
  const half = Math.min(1, Math.max(0.01, 0.01 * value)) * (0.6 + 0.8 * chance(seed, 0));
  const bid = Math.max(0, Math.floor((value - half) * 100));
  return {
    bid,
    ask: Math.max(bid + 1, Math.ceil((value + half) * 100)),
    bidSize: bid === 0 ? 0 : 1 + Math.floor(200 * chance(seed, 1) ** 2),
    askSize: 1 + Math.floor(200 * chance(seed, 2) ** 2),
  };
}

/** Delta to six decimals, never 0: a call's is positive, a put's negative. */
function deltaText({ optionType }: ListedContract, delta: number): string {
  const size = Math.max(1e-6, Math.abs(delta));
  return decimalText(optionType === "CALL" ? size : -size, 6);
}

function optionVolume(
  contract: ListedContract,
  listing: Listing,
  { day, ...position }: Position & { day: number },
): number {
  const seed = fork(seedOf(contractText(contract)), listing.seed);
  const distance = Math.abs(Math.log((100 * contract.strikePrice) / listing.baseCents));
  const average = (listing.averageVolume / 20_000) * Math.exp(-6 * distance);
  return Math.floor(average * daily(seed, day, 1) * volumeShare(seed, day, position));
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

function descriptionOf({ underlying, expiration, strikePrice, optionType }: ListedContract): string {
  const [year = "", month = "1", day = ""] = expiration.split("-");
  const side = optionType === "CALL" ? "Call" : "Put";
  return `${underlying} ${MONTHS[Number(month) - 1]} ${day} ${year} ${strikePrice.toFixed(2)} ${side}`;
}

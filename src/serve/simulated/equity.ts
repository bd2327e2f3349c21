/** The quote of a company or fund on the simulated market. */
import { type DividendData, type InstrumentQuote, type Quote, NO_QUOTE } from "../../quotes/document.ts";
import type { Company } from "./companies.ts";
import { centsText, decimalText } from "./decimalText.ts";
import { chance, fork, seedOf } from "./hash.ts";
import {
  barOfDay,
  closeOf,
  daily,
  type Position,
  positionAt,
  sessionSoFar,
  STEPS,
  volumeShare,
  type Walker,
} from "./pricePath.ts";
import { remembered } from "../../ground/remembered.ts";
import { dateOfDay, DAY_MS, sessionAt } from "./marketDay.ts";

/** A company together with its place in one market. */
export type Listing = Company & Walker;

/** The highest and lowest price of the year before a session, cents. */
export type YearRange = { high: number; low: number };

/** Days before today that the 52-week range looks back. */
const YEAR_DAYS = 364;

/** Purposes of seeds, see `fork`; those below 10 belong to the price path. */
const VOLUME = 10;
const BOOK = 11;
const EARNINGS = 12;

export function listingOf(company: Company, marketSeed: number): Listing {
  return { ...company, seed: seedOf(`${marketSeed}/${company.symbol}`) };
}

/** The 52-week ranges of a listing by session (epoch day), remembered: each takes a year of bars. */
export function yearRangesOf(listing: Listing): (day: number) => YearRange {
  return remembered(8, (day) => rangeOfDays(listing, day - YEAR_DAYS, day - 1));
}

/** The quote at an instant (epoch ms). */
export function equityQuote(
  listing: Listing,
  yearRange: (day: number) => YearRange,
  atMs: number,
): InstrumentQuote {
  const session = sessionAt(atMs);
  const { day } = session;
  const position = positionAt(session, atMs);
  const { open, high, low, last } = sessionSoFar(listing, day, position);
  const previousClose = closeOf(listing, day - 1);
  const year = yearRange(day);
  const volume = volumeAt(listing, day, position);
  const book = bookAround(last, listing, { ...position, day });
  const earnings = earningsPerShare(listing, day);
  return {
    instrument: {
      description: listing.description,
      exchange: listing.exchange,
      securityType: "CS",
      symbol: listing.symbol,
      expiration: null,
      optionType: null,
      strike: null,
    },
    quote: {
      ...pricesOf({ ...book, last, previousClose }),
      extended: {
        ...NO_QUOTE.extended,
        askSize: String(book.askSize),
        bidSize: String(book.bidSize),
        high: centsText(high),
        low: centsText(low),
        open: centsText(open),
        previousClose: centsText(previousClose),
        volume: String(volume),
        // A little of the volume is traded outside the session proper, as the service's own samples show.
        sessionVolume: String(Math.floor(volume * 0.97)),
        dividend: dividendOf(listing, dateOfDay(day), previousClose),
        earningsPerShare: decimalText(earnings, 2),
        // A loss has no price to earnings ratio; the service writes 0.0.
        peRatio: earnings > 0 ? decimalText(last / 100 / earnings, 2) : "0.0",
        high52Week: centsText(Math.max(year.high, high)),
        low52Week: centsText(Math.min(year.low, low)),
      },
    },
    greeksDelta: null,
    underlying: null,
    underlyingQuote: null,
    unknownSymbol: false,
  };
}

export function pricesOf(price: {
  bid: number;
  ask: number;
  last: number;
  previousClose: number;
}): Omit<Quote, "extended"> {
  const change = price.last - price.previousClose;
  return {
    ask: centsText(price.ask),
    bid: centsText(price.bid),
    change: centsText(change),
    last: centsText(price.last),
    pctChange: decimalText((100 * change) / price.previousClose, 2),
    quotedAt: null,
    tradedAt: null,
  };
}

/** The highest and lowest price from one session (epoch day) to another, both included. */
function rangeOfDays(listing: Listing, from: number, to: number): YearRange {
  let previousClose = closeOf(listing, from - 1);
  const range = { high: 0, low: Number.POSITIVE_INFINITY };
  for (let day = from; day <= to; day++) {
    const bar = barOfDay(listing, day, previousClose);
    range.high = Math.max(range.high, bar.high);
    range.low = Math.min(range.low, bar.low);
    previousClose = bar.close;
  }
  return range;
}

function volumeAt(listing: Listing, day: number, position: Position): number {
  const seed = fork(listing.seed, VOLUME);
  const ofDay = listing.averageVolume * daily(seed, day, 0.5);
  return Math.floor(ofDay * volumeShare(seed, day, position));
}

/** Bid and ask around the last price; about once in thirty steps the last trade lies a tick outside. */
function bookAround(last: number, listing: Listing, { day, block, step }: Position & { day: number }) {
  const seed = fork(fork(fork(listing.seed, BOOK), day), block * STEPS + step);
  const spread = Math.max(1, Math.round(last * 0.0002 * (0.5 + 1.5 * chance(seed, 0))));
  const outside = chance(seed, 1) < 1 / 30 ? 1 : 0;
  const below = chance(seed, 2) < 0.5;
  const shift = outside ? (below ? spread + 1 : -1) : Math.floor(chance(seed, 3) * (spread + 1));
  const bid = Math.max(1, last - shift);
  return {
    bid,
    ask: bid + spread,
    bidSize: 1 + Math.floor(60 * chance(seed, 4) ** 3),
    askSize: 1 + Math.floor(60 * chance(seed, 5) ** 3),
  };
}

/** Earnings per share, restated every 91 days by up to a tenth. */
function earningsPerShare(listing: Listing, day: number): number {
  const swing = 0.9 + 0.2 * chance(fork(listing.seed, EARNINGS), Math.floor(day / 91));
  return Math.round(listing.earningsPerShare * swing * 100) / 100;
}

/** How the service writes the yield of an equity without a dividend: Java's smallest double (field notes). */
const NO_YIELD = "4.9E-324";

/**
 * The latest dividend with an ex-date on or before a date. A company that pays none has the amount `0.0`, an
 * ex-date years past and the yield `4.9E-324`, as the service does.
 *
 * @param date `YYYY-MM-DD`
 * @param previousClose cents; the yield is that of the close, so it changes once a session
 */
function dividendOf(company: Company, date: string, previousClose: number): DividendData {
  const seed = seedOf(`dividend/${company.symbol}`);
  if (company.quarterlyDividend === 0) {
    const year = 2001 + Math.floor(6 * chance(seed, 0));
    return {
      amount: "0.0",
      exDate: exDate(seed, year * 12 + Math.floor(12 * chance(seed, 1))),
      yield: NO_YIELD,
    };
  }
  return {
    amount: decimalText(company.quarterlyDividend, 4),
    exDate: latestExDate(seed, date),
    yield: decimalText((400 * company.quarterlyDividend) / (previousClose / 100), 2),
  };
}

/** Companies go ex in every third month, each in its own. */
function latestExDate(seed: number, date: string): string {
  const [year = 0, month = 1] = date.split("-").map(Number);
  const offset = Math.floor(3 * chance(seed, 2));
  let index = year * 12 + month - 1;
  while (index % 3 !== offset || exDate(seed, index) > date) index -= 1;
  return exDate(seed, index);
}

/** The company's weekday in a month, months counted from year 0. */
function exDate(seed: number, monthIndex: number): string {
  const day = 8 + Math.floor(14 * chance(seed, 3));
  const time = Date.UTC(Math.floor(monthIndex / 12), monthIndex % 12, day);
  const weekday = new Date(time).getUTCDay();
  const toWeekday = weekday === 6 ? 2 : weekday === 0 ? 1 : 0;
  return new Date(time + toWeekday * DAY_MS).toISOString().slice(0, 10);
}

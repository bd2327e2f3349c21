/**
 * A stock's quote as E*TRADE writes it, from the simulated market's (a recorded answer of 2024; another of 2018 has the
 * same members).
 */
import { addDays, exchangeDate } from "../../../src/market/calendar/dates.ts";
import type { InstrumentQuote } from "../../../src/quotes/document.ts";
import { decimalText } from "../../../src/serve/simulated/decimalText.ts";
import { chance, fork, seedOf } from "../../../src/serve/simulated/hash.ts";
import type { Underlying } from "../listing.ts";
import { bookMs, stockTradeMs } from "../trading.ts";
import { number, type Value } from "../wire.ts";
import { ABSENT } from "./absent.ts";
import { clockText, dayAtTimeOf, type Instant, type QuoteStatus, seconds } from "./times.ts";
import { fixed, price } from "./wire.ts";

type Quote = InstrumentQuote["quote"];

/** One in ten: its quote is of the evening before. */
const STALE = 0.1;

const DAY_MS = 86_400_000;
const YEAR_DAYS = 364;

/**
 * A stock, fund or index with `All`. Bid and ask go on after the close, and then `ExtendedHourQuoteDetail` has them with a
 * last price of its own.
 *
 * Assumed: a fund is EQ, and an index has what a stock has.
 *
 * @param quotes of two instants: the last trade's of the session, and the newest bid and ask
 */
export function writtenStock(
  { symbol, company, type }: Underlying,
  { traded, book }: { traded: Quote; book: Quote },
  instant: Instant,
): Value {
  const { asked, moment, status, extended } = instant;
  const seed = seedOf(symbol);
  // Seen: a quote whose time lies a day before the last trade, asked for when trading was over.
  const isStale = extended === "EH_CLOSED" && chance(seed, 30) < STALE;
  const quotedAt = new Date(bookMs(moment.quotedAt, seed, 4) - (isStale ? DAY_MS : 0));
  return {
    ...headOf(quotedAt, status, extended !== null),
    hasMiniOptions: false,
    All: {
      ...ABSENT,
      ask: price(book.ask),
      askSize: shares(book.extended.askSize),
      askTime: clockText(quotedAt),
      bid: price(book.bid),
      bidSize: shares(book.extended.bidSize),
      bidTime: clockText(quotedAt),
      ...pricesOfStock(traded, instant),
      ...companyOf(traded, { company, asked, seed }),
      timeOfLastTrade: number(seconds(new Date(stockTradeMs(moment, seed)))),
      averageVolume: number(company.averageVolume),
      ExtendedHourQuoteDetail:
        extended === null
          ? undefined
          : {
              lastPrice: price(book.last),
              change: price(book.change),
              percentChange: price(book.pctChange),
              bid: price(book.bid),
              bidSize: shares(book.extended.bidSize),
              ask: price(book.ask),
              askSize: shares(book.extended.askSize),
              volume: number(traded.extended.volume ?? "0"),
              timeOfLastTrade: number(seconds(quotedAt)),
              timeZone: "EST",
              quoteStatus: extended,
            },
    },
    Product: { symbol, securityType: type === "index" ? "INDX" : "EQ" },
  };
}

/** `ahFlag` is a text, the flags of `All` are none. A contract has it, too, when its quote is CLOSING. */
export function headOf(quotedAt: Date, status: QuoteStatus, isAfterHours: boolean): Record<string, Value> {
  return {
    dateTime: clockText(quotedAt),
    dateTimeUTC: number(seconds(quotedAt)),
    quoteStatus: status,
    ahFlag: String(isAfterHours),
  };
}

/** Sizes of stocks are in shares: the simulated market's are taken for hundreds. */
function shares(size: string | null): Value {
  return number(100 * Number(size ?? 0));
}

/** Open, high, low and volume are 0 before the open. After the close the last trade stays the session's. */
function pricesOfStock(
  { last, change, pctChange, extended }: Quote,
  { moment }: Instant,
): Record<string, Value> {
  const isPriced = moment.state !== "before";
  return {
    changeClose: price(change),
    changeClosePercentage: price(pctChange),
    lastTrade: price(last),
    open: price(isPriced ? extended.open : null),
    high: price(isPriced ? extended.high : null),
    low: price(isPriced ? extended.low : null),
    previousClose: price(extended.previousClose),
    totalVolume: number(isPriced ? (extended.volume ?? "0") : "0"),
    dirLast: Number(change) < 0 ? "2" : "1",
    high52: price(extended.high52Week),
    low52: price(extended.low52Week),
  };
}

/** What is of the company and not of its trades. */
function companyOf(
  { last, extended }: Quote,
  { company, asked, seed }: { company: Underlying["company"]; asked: Date; seed: number },
): Record<string, Value> {
  const { dividend, earningsPerShare, peRatio } = extended;
  const isPaying = company.quarterlyDividend > 0;
  const issued = 1_000 * Math.round((company.averageVolume * (50 + 100 * chance(seed, 31))) / 1_000);
  const exDate = dividend?.exDate ?? null;
  return {
    companyName: company.description,
    dividend: price(isPaying ? (dividend?.amount ?? null) : null),
    eps: price(earningsPerShare),
    estEarnings: price(decimalText(company.earningsPerShare * 1.07, 3)),
    exDividendDate: number(exDate === null ? 0 : dayAtTimeOf(exDate, asked)),
    previousDayVolume: number(volumeBefore(company.averageVolume, asked, seed)),
    primaryExchange: exchangeOf(company),
    symbolDescription: company.description,
    marketCap: fixed(issued * Number(last), 2),
    sharesOutstanding: number(issued),
    beta: price(decimalText(0.5 + chance(seed, 32), 2)),
    // The simulated market writes the reference's smallest number where there is no yield.
    yield: price(isPaying ? (dividend?.yield ?? null) : null),
    declaredDividend: price(isPaying ? (dividend?.amount ?? null) : null),
    dividendPayableDate: number(exDate === null ? 0 : dayAtTimeOf(addDays(exDate, 14), asked)),
    pe: price(peRatio),
    week52LowDate: number(dayAtTimeOf(dayWithinYear(asked, fork(seed, 33)), asked)),
    week52HiDate: number(dayAtTimeOf(dayWithinYear(asked, fork(seed, 34)), asked)),
  };
}

export function exchangeOf({ exchange }: Underlying["company"]): string {
  return exchange === "NSD" ? "NSDQ" : "NYSE";
}

function volumeBefore(average: number, asked: Date, seed: number): number {
  const day = Math.floor(Date.parse(exchangeDate(asked)) / DAY_MS);
  return Math.floor(average * (0.7 + 0.6 * chance(fork(seed, 35), day)));
}

/** A day of the last year, the same one until a year has passed. */
function dayWithinYear(asked: Date, seed: number): string {
  const day = Math.floor(Date.parse(exchangeDate(asked)) / DAY_MS);
  const ago = (day + Math.floor(YEAR_DAYS * chance(seed, 0))) % YEAR_DAYS;
  return addDays(exchangeDate(asked), -ago);
}

/**
 * Snapshots of stocks and of option contracts as Alpaca writes them, with the simulated market's prices. Shapes are those of
 * market-data-api.json; what stands for nothing is what published probes saw.
 */
import { addDays, exchangeDate, exchangeInstant } from "../../../src/market/calendar/dates.ts";
import { type Calendar, createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { expiresAt } from "../../../src/market/expirations.ts";
import { option, security } from "../../../src/market/instrument.ts";
import type { InstrumentQuote } from "../../../src/quotes/document.ts";
import { decimalText } from "../../../src/serve/simulated/decimalText.ts";
import { chance, seedOf } from "../../../src/serve/simulated/hash.ts";
import type { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { DELAY_MS } from "../../../src/serve/source.ts";
import { greeksOf, volatilityOf } from "../greeks.ts";
import { type Moment, momentOf } from "../hours.ts";
import type { Contract, Underlying } from "../listing.ts";
import { bookMs, contractTradeMs, stockTradeMs, type Trading, tradingByChance } from "../trading.ts";
import { number, type Value } from "../wire.ts";

export type StockFeed = "iex" | "delayed_sip" | "sip";
export type OptionFeed = "indicative" | "opra";

export type SnapshotOptions = {
  market: ReturnType<typeof createSimulatedMarket>;
  /** The hours in which prices move. */
  calendar: Calendar;
  /** How a contract trades, by its OCC symbol; null: by chance. */
  trading: (symbol: string) => Trading | null;
  /** The last trade of these stocks was canceled. */
  canceled: ReadonlySet<string>;
};

/** Greeks and expirations go by the exchange's hours, whatever the hours in which prices move. */
const exchange = createCalendar();

/** IEX is one exchange, with 1 to 3 percent of the volume (FAQ). */
const PART_OF_IEX = 0.02;

type Prices = InstrumentQuote["quote"];

export type Snapshots = {
  stock: (underlying: Underlying, feed: StockFeed, at: Date) => Value;
  contract: (contract: Contract, feed: OptionFeed, at: Date) => Value;
};

export function createSnapshots({ market, calendar, trading, canceled }: SnapshotOptions): Snapshots {
  /** Of the last session that has begun, up to an instant, and of the one before it. */
  const dailyBars = (
    quoteAt: (at: Date) => Prices,
    { tradedAt }: Moment,
    part: number,
  ): Record<string, Value> => {
    const date = exchangeDate(tradedAt);
    const before = sessionBefore(date, calendar);
    return {
      dailyBar: dailyBar(quoteAt(tradedAt), date, part),
      prevDailyBar: dailyBar(quoteAt(before.close), before.date, part),
    };
  };

  return {
    stock: (underlying, feed, asked) => {
      const at = feed === "delayed_sip" ? new Date(asked.getTime() - DELAY_MS) : asked;
      const moment = momentOf(at, calendar);
      const { symbol, company } = underlying;
      const quoteAt = (when: Date): Prices => market.quote(security(company.symbol), when).quote;
      const part = feed === "iex" ? PART_OF_IEX : 1;
      const seed = seedOf(symbol);
      const tape = company.exchange === "NSD" ? "C" : "A";
      const last = quoteAt(moment.tradedAt).last;
      const tradeMs = stockTradeMs(moment, seed);
      return {
        ...dailyBars(quoteAt, moment, part),
        latestQuote: stockBook(quoteAt(moment.quotedAt), { feed, moment, seed, tape }),
        latestTrade: {
          c: moment.state === "open" ? ["@"] : [" ", "T"],
          i: number(1 + Math.floor(1e6 * chance(seed, 31))),
          p: plain(last),
          s: number(1 + Math.floor(400 * chance(seed, 1) ** 3)),
          t: time(tradeMs, seed),
          u: canceled.has(symbol) ? "canceled" : undefined,
          x: feed === "iex" ? "V" : "D",
          z: tape,
        },
        minuteBar: minuteBar(last, tradeMs, 100 * part),
      };
    },

    contract: (contract, feed, at) => {
      const moment = momentOf(at, calendar);
      const how = trading(contract.symbol) ?? tradingByChance(contract.symbol);
      const quoteAt = (when: Date): InstrumentQuote => market.quote(option(contract.priced), when);
      const { quote } = quoteAt(moment.tradedAt);
      const seed = seedOf(contract.symbol);
      const bookedMs = bookMs(moment.tradedAt, seed, 4);
      const late = new Date(moment.tradedAt.getTime() - (feed === "indicative" ? DELAY_MS : 0));
      const traded = { ...moment, tradedAt: late };
      const tradeMs = contractTradeMs(traded, how, seed);
      const book = { bp: plain(quote.bid), ap: plain(quote.ask) };
      const hasBid = Number(quote.bid) > 0;
      const written: Record<string, Value | undefined> = {
        latestQuote: {
          ap: book.ap,
          as: number(quote.extended.askSize),
          ax: "X",
          bp: book.bp,
          bs: number(hasBid ? quote.extended.bidSize : "0"),
          bx: hasBid ? "Q" : " ",
          c: " ",
          t: time(bookedMs, seed),
        },
        ...greeksAndVolatility(contract, { quoteAt, moment, hasBid }),
      };
      if (how === "never") return written;
      // A contract that is quiet traded on another day: its bar is of that day, and so is the one that is called today's.
      const bars = dailyBars((when) => quoteAt(when).quote, { ...traded, tradedAt: new Date(tradeMs) }, 1);
      return {
        ...bars,
        latestTrade: {
          c: "a",
          p: plain(quoteAt(late).quote.last),
          s: number(1 + Math.floor(50 * chance(seed, 1) ** 3)),
          t: time(tradeMs, seed),
          x: "I",
        },
        minuteBar: minuteBar(quoteAt(late).quote.last, tradeMs, 5),
        ...written,
      };
    },
  };
}

type BookOptions = { feed: StockFeed; moment: Moment; seed: number; tape: string };

/**
 * Sizes are shares (since 2025-11-03). IEX has no ask now and then before the open, and leaves stub quotes when trading is over:
 * 11 percent wide is what a probe saw.
 */
function stockBook(book: Prices, { feed, moment, seed, tape }: BookOptions): Value {
  const isStub = feed === "iex" && moment.state === "closed";
  const hasAsk = !(feed === "iex" && moment.state === "before");
  const at = isStub ? 0.945 : 1;
  const bid = Number(book.bid) * at;
  const ask = Number(book.ask) * (isStub ? 1.055 : 1);
  const exchangeCode = feed === "iex" ? "V" : "P";
  return {
    ap: hasAsk ? number(decimalText(ask, 2)) : number(0),
    as: number(hasAsk ? 40 * Number(book.extended.askSize) : 0),
    ax: hasAsk ? exchangeCode : " ",
    bp: number(decimalText(bid, 2)),
    bs: number(40 * Number(book.extended.bidSize)),
    bx: exchangeCode,
    c: ["R"],
    t: time(bookMs(moment.quotedAt, seed, 4), seed),
    z: tape,
  };
}

/** Digits as they stand in JSON: no zeros at their end. */
function plain(decimal: string | null): Value {
  return number(String(Number(decimal ?? 0)));
}

/** The left edge of a daily bar is midnight in New York. */
function dailyBar({ last, extended }: Prices, date: string, part: number): Value {
  const volume = Math.max(1, Math.floor(Number(extended.volume ?? 0) * part));
  return {
    c: plain(last),
    h: plain(extended.high),
    l: plain(extended.low),
    n: number(Math.ceil(volume / 90)),
    o: plain(extended.open),
    t: secondsText(exchangeInstant(date, "00:00").getTime()),
    v: number(volume),
    vw: plain(last),
  };
}

function minuteBar(last: string | null, tradeMs: number, volume: number): Value {
  const price = plain(last);
  const t = secondsText(Math.floor(tradeMs / 60_000) * 60_000);
  return { c: price, h: price, l: price, n: number(1), o: price, t, v: number(Math.ceil(volume)), vw: price };
}

/** All greeks or none; an expiring contract has five zeros, and no volatility beside them (seen 2026-09-03). */
function greeksAndVolatility(
  contract: Contract,
  { quoteAt, moment, hasBid }: { quoteAt: (at: Date) => InstrumentQuote; moment: Moment; hasBid: boolean },
): Record<string, Value> {
  const { underlying, expiration, priced, strike, optionType } = contract;
  // Index options have none: their underlying has no trade (guess).
  if (!hasBid || underlying.type === "index") return {};
  if (expiration.date <= exchangeDate(moment.tradedAt)) {
    const none = number(0);
    return { greeks: { delta: none, gamma: none, rho: none, theta: none, vega: none } };
  }
  const { greeksDelta, underlyingQuote } = quoteAt(moment.tradedAt);
  const spot = underlyingQuote?.last;
  if (!spot || greeksDelta === null) return {};
  const greeks = greeksOf({
    company: underlying.company,
    optionType,
    strike,
    expiresAt: expiresAt(priced, exchange),
    madeAt: moment.tradedAt,
    spot,
  });
  const written = (value: number): Value => number(decimalText(value, 4));
  const apart = 0.98 + 0.04 * chance(seedOf(contract.symbol), 21);
  return {
    greeks: {
      delta: written(Number(greeksDelta)),
      gamma: written(greeks.gamma),
      rho: written(greeks.rho),
      theta: written(greeks.theta),
      vega: written(greeks.vega),
    },
    impliedVolatility: written(volatilityOf(underlying.company) * apart),
  };
}

function sessionBefore(date: string, calendar: Calendar): { date: string; close: Date } {
  for (let before = addDays(date, -1); ; before = addDays(before, -1)) {
    const session = calendar.session(before);
    if (session) return { date: before, close: session.close };
  }
}

function secondsText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** With digits down to the nanosecond, none at the end that is 0. */
function time(ms: number, seed: number): string {
  const below = String(Math.floor(1e6 * chance(seed, 33))).padStart(6, "0");
  const digits = `${String(ms % 1_000).padStart(3, "0")}${below}`.replace(/0+$/, "");
  return `${new Date(ms).toISOString().slice(0, 19)}${digits === "" ? "" : `.${digits}`}Z`;
}

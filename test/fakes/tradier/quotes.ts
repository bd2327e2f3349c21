/**
 * One quote as Tradier writes it, from the simulated market's. Names, their order and what stands for nothing are those of
 * recorded answers (OpenBB's cassettes of 2024; the documentation's sample of 2019 for a contract that never traded).
 */
import type { InstrumentQuote } from "../../../src/quotes/document.ts";
import { chance, seedOf } from "../../../src/serve/simulated/hash.ts";
import type { Moment } from "../hours.ts";
import type { Contract, Underlying } from "../listing.ts";
import { bookMs, contractTradeMs, ODD_VOLUME, openInterest, stockTradeMs, type Trading } from "../trading.ts";
import { number, type Value } from "../wire.ts";
import { twoDecimals } from "./wire.ts";

const EXCHANGES = ["A", "B", "C", "K", "N", "P", "Q", "W", "X", "Z"] as const;

type Quote = InstrumentQuote["quote"];

/** Class shares have a slash at Tradier: `BRK/B` (QuantConnect, TradierSymbolMapper). */
export function tradierSymbol(symbol: string): string {
  return symbol.replace(".", "/");
}

/**
 * A stock, fund or index. Sizes are shares: the simulated market's are taken for round lots, which feeds send in shares since
 * 2025-11-03, whatever the documentation says.
 *
 * @param quotes of two instants: bid and ask go on when trading is over
 */
export function writtenStock(
  { symbol, company, type, roots }: Underlying,
  { traded, book }: { traded: Quote; book: Quote },
  moment: Moment,
): Value {
  const seed = seedOf(symbol);
  return {
    symbol: tradierSymbol(symbol),
    description: type === "index" ? `${symbol} Index` : company.description,
    exch: company.exchange === "NSD" ? "Q" : "N",
    type,
    ...tradesOf(traded, moment, "usual"),
    bid: number(book.bid),
    ask: number(book.ask),
    ...changeOf(traded, "usual"),
    average_volume: number(company.averageVolume),
    last_volume: number(1 + Math.floor(400 * chance(seed, 1) ** 3)),
    trade_date: number(stockTradeMs(moment, seed)),
    prevclose: number(traded.extended.previousClose),
    week_52_high: number(traded.extended.high52Week),
    week_52_low: number(traded.extended.low52Week),
    ...bookOf(book, moment.quotedAt, { seed, unit: roundLot(Number(traded.last ?? 0)) }),
    root_symbols: roots.join(","),
  };
}

/** Sizes of options are in contracts. Week highs and lows are 0.0 on every option, and the average volume is 0. */
export function writtenOption(written: {
  contract: Contract;
  quote: InstrumentQuote;
  moment: Moment;
  trading: Trading;
  /** undefined: not asked for. Assumed: then the member is missing. */
  greeks: Value | undefined;
}): Value {
  const { contract, moment, trading, greeks } = written;
  const { quote } = written.quote;
  const { root, date, type } = contract.expiration;
  const seed = seedOf(contract.symbol);
  return {
    symbol: contract.symbol,
    description: descriptionOf(contract),
    exch: "Z",
    type: "option",
    ...tradesOf(quote, moment, trading),
    bid: number(quote.bid),
    ask: number(quote.ask),
    underlying: tradierSymbol(contract.underlying.symbol),
    strike: priceOfStrike(contract.strike),
    greeks,
    ...changeOf(quote, trading),
    average_volume: number(0),
    last_volume: number(trading === "never" ? 0 : 1 + Math.floor(50 * chance(seed, 1) ** 3)),
    trade_date: number(contractTradeMs(moment, trading, seed)),
    prevclose: number(trading === "never" ? null : quote.extended.previousClose),
    week_52_high: number("0.0"),
    week_52_low: number("0.0"),
    ...bookOf(quote, moment.tradedAt, { seed, unit: 1 }),
    open_interest: number(openInterest(moment.tradedAt, seed)),
    contract_size: number(100),
    expiration_date: date,
    expiration_type: type,
    option_type: contract.optionType === "CALL" ? "call" : "put",
    root_symbol: root,
  };
}

/** From the last price to the close; a change is written as `0.00`. */
function tradesOf(
  { last, change, extended }: Quote,
  moment: Moment,
  trading: Trading,
): Record<string, Value> {
  const isPriced = trading === "usual" && moment.state !== "before";
  const price = (text: string | null) => (isPriced ? number(text) : null);
  const atRest = trading === "never" ? null : extended.previousClose;
  const oddVolume = trading === "odd" && moment.state !== "before" ? ODD_VOLUME : 0;
  return {
    last: number(trading === "usual" ? last : atRest),
    change: trading === "never" ? null : twoDecimals(trading === "usual" ? (change ?? "0") : "0"),
    volume: number(isPriced ? (extended.volume ?? 0) : oddVolume),
    open: price(extended.open),
    high: price(extended.high),
    low: price(extended.low),
    // Today's: null until the session is over.
    close: moment.state === "closed" ? price(last) : null,
  };
}

function changeOf({ pctChange }: Quote, trading: Trading): Record<string, Value> {
  if (trading === "never") return { change_percentage: null };
  return { change_percentage: twoDecimals(trading === "usual" ? (pctChange ?? "0") : "0") };
}

/** No bid is a bid of 0.0 and a size of 0. Times are full seconds, in epoch ms. */
function bookOf(
  { extended }: Quote,
  at: Date,
  { seed, unit }: { seed: number; unit: number },
): Record<string, Value> {
  return {
    bidsize: number(Number(extended.bidSize) * unit),
    bidexch: exchangeOf(seed, 3),
    bid_date: number(bookMs(at, seed, 4)),
    asksize: number(Number(extended.askSize) * unit),
    askexch: exchangeOf(seed, 5),
    ask_date: number(bookMs(at, seed, 6)),
  };
}

/** Shares of a round lot by the price (Regulation NMS, 242.600, in force from 2025-11-03). */
function roundLot(price: number): number {
  return price > 10_000 ? 1 : price > 1_000 ? 10 : price > 250 ? 40 : 100;
}

function exchangeOf(seed: number, part: number): string {
  return EXCHANGES[Math.floor(EXCHANGES.length * chance(seed, part))] ?? "Z";
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

/** Such as `AAPL Dec 18 2026 $200.00 Put`. */
function descriptionOf({ expiration: { root, date }, strike, optionType }: Contract): string {
  const [year = "", month = "", day = ""] = date.split("-");
  const side = optionType === "CALL" ? "Call" : "Put";
  return `${root} ${MONTHS[Number(month) - 1]} ${day} ${year} $${twoDecimals(strike).text} ${side}`;
}

/** Strikes are written as prices: `200.0`. */
export function priceOfStrike(strike: string): Value {
  return number(strike.includes(".") ? strike : `${strike}.0`);
}

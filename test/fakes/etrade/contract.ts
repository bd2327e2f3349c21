/** What a quote and a chain of E*TRADE both say of a contract, and how they name it. */
import { expiresAt } from "../../../src/market/expirations.ts";
import { createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import type { InstrumentQuote } from "../../../src/quotes/document.ts";
import { centsText } from "../../../src/serve/simulated/decimalText.ts";
import { chance, seedOf } from "../../../src/serve/simulated/hash.ts";
import { greeksOf, volatilityOf } from "../greeks.ts";
import type { Contract } from "../listing.ts";
import { bookMs, contractTradeMs, ODD_VOLUME, openInterest, type Trading } from "../trading.ts";
import type { Value } from "../wire.ts";
import type { Instant } from "./times.ts";
import { fixed } from "./wire.ts";

/** Prices are decimal text, null where there is none; sizes and counts are contracts. */
export type ContractFacts = {
  bid: string | null;
  ask: string | null;
  bidSize: string;
  askSize: string;
  last: string | null;
  change: string | null;
  percentChange: string | null;
  open: string | null;
  high: string | null;
  low: string | null;
  previousClose: string | null;
  high52: string | null;
  low52: string | null;
  previousBid: string | null;
  previousAsk: string | null;
  volume: string;
  openInterest: number;
  quotedAt: Date;
  /** Epoch seconds; 0: never. */
  tradedAt: number;
  /** The underlying's price. */
  spot: string | null;
  greeks: Value;
};

/** Contracts expire by the exchange's hours, whatever the hours in which prices move. */
const exchange = createCalendar();

/**
 * A contract that did not trade in the session has no open, and the last close is its high, low and last, as in the
 * recording of 2023. One that never traded has no price but bid and ask.
 */
export function factsOf(
  contract: Contract,
  { quote, underlyingQuote, greeksDelta }: InstrumentQuote,
  { instant, trading }: { instant: Instant; trading: Trading },
): ContractFacts {
  const { moment, status } = instant;
  const { extended } = quote;
  const seed = seedOf(contract.symbol);
  const isPriced = trading === "usual" && moment.state !== "before";
  const atRest = trading === "never" ? null : extended.previousClose;
  const spot = underlyingQuote?.last ?? null;
  return {
    bid: quote.bid,
    ask: quote.ask,
    bidSize: extended.bidSize ?? "0",
    askSize: extended.askSize ?? "0",
    last: trading === "usual" ? quote.last : atRest,
    change: trading === "usual" ? quote.change : null,
    percentChange: trading === "usual" ? quote.pctChange : null,
    open: isPriced ? extended.open : null,
    high: isPriced ? extended.high : atRest,
    low: isPriced ? extended.low : atRest,
    previousClose: atRest,
    high52: trading === "never" ? null : extended.contractHigh,
    low52: trading === "never" ? null : extended.contractLow,
    previousBid: atRest === null ? null : aroundCents(atRest, -1),
    previousAsk: atRest === null ? null : aroundCents(atRest, 1),
    volume: isPriced ? (extended.volume ?? "0") : volumeAtRest(trading, moment.state !== "before"),
    openInterest: openInterest(moment.tradedAt, seed),
    quotedAt: new Date(bookMs(moment.tradedAt, seed, 4)),
    tradedAt: Math.floor(contractTradeMs(moment, trading, seed) / 1_000),
    spot,
    greeks: greeksValue(contract, {
      madeAt: moment.tradedAt,
      spot: spot ?? contract.strike,
      delta: greeksDelta ?? "0",
      isOfNow: status !== "CLOSING",
    }),
  };
}

function volumeAtRest(trading: Trading, hasOpened: boolean): string {
  return String(trading === "odd" && hasOpened ? ODD_VOLUME : 0);
}

function aroundCents(text: string, distance: number): string {
  return centsText(Math.max(0, Math.round(100 * Number(text)) + distance));
}

/** Six decimals. Assumed: `currentValue` is false when trading is over. */
function greeksValue(
  { underlying: { company }, optionType, strike, priced, symbol }: Contract,
  { madeAt, spot, delta, isOfNow }: { madeAt: Date; spot: string; delta: string; isOfNow: boolean },
): Value {
  const expires = expiresAt(priced, exchange);
  const greeks = greeksOf({ company, optionType, strike, expiresAt: expires, madeAt, spot });
  return {
    rho: fixed(greeks.rho, 6),
    vega: fixed(greeks.vega, 6),
    theta: fixed(greeks.theta, 6),
    delta: fixed(Number(delta), 6),
    gamma: fixed(greeks.gamma, 6),
    iv: fixed(volatilityOf(company) * (0.99 + 0.02 * chance(seedOf(symbol), 21)), 6),
    currentValue: isOfNow,
  };
}

/** The OCC symbol, its root padded with `-` to six: `IBM---180817C00200000`. */
export function osiKey({ symbol, expiration: { root } }: Contract): string {
  return root.padEnd(6, "-") + symbol.slice(root.length);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

/** Such as `IBM Aug 17 '18 $200 Call`. Assumed: it names the root. */
export function displaySymbol({ expiration: { root, date }, strike, optionType }: Contract): string {
  const [year = "", month = "", day = ""] = date.split("-");
  const side = optionType === "CALL" ? "Call" : "Put";
  return `${root} ${MONTHS[Number(month) - 1]} ${day} '${year.slice(2)} $${strike} ${side}`;
}

/** A contract as the quote call names it: `IBM:2018:8:17:CALL:200.000000`. Assumed: by its root where that is another. */
export function quoteName({ expiration: { root, date }, underlying, strike, optionType }: Contract): string {
  const [year, month, day] = date.split("-").map(Number);
  const symbol = root === underlying.roots[0] ? underlying.symbol : root;
  return `${symbol}:${year}:${month}:${day}:${optionType}:${Number(strike).toFixed(6)}`;
}

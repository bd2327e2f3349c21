/** A chain and its expirations as E*TRADE writes them (recorded answers of 2018). */
import type { Contract, Expiration } from "../listing.ts";
import { bookMs } from "../trading.ts";
import { number, type Value } from "../wire.ts";
import { type ContractFacts, displaySymbol, osiKey, quoteName } from "./contract.ts";
import { seedOf } from "../../../src/serve/simulated/hash.ts";
import { type Instant, seconds } from "./times.ts";
import { price } from "./wire.ts";

/** Where a chain's `quoteDetail` lies, also in an answer of the sandbox. */
const QUOTE_DETAIL = "https://api.etrade.com/v1/market/quote/";

/** A side of a pair. Its time may lie behind the answer's own. */
export function writtenSide(contract: Contract, facts: ContractFacts, { moment }: Instant): Value {
  const { strike, optionType, underlying, expiration } = contract;
  const beyond = (Number(facts.spot) - Number(strike)) * (optionType === "CALL" ? 1 : -1);
  return {
    optionCategory: "STANDARD",
    optionRootSymbol: expiration.root,
    timeStamp: number(Math.floor(bookMs(moment.tradedAt, seedOf(contract.symbol), 4) / 1_000)),
    adjustedFlag: false,
    displaySymbol: displaySymbol(contract),
    optionType,
    strikePrice: number(strike.includes(".") ? strike : `${strike}.0`),
    symbol: underlying.symbol,
    bid: price(facts.bid),
    ask: price(facts.ask),
    bidSize: number(facts.bidSize),
    askSize: number(facts.askSize),
    inTheMoney: beyond > 0 ? "y" : "n",
    volume: number(facts.volume),
    openInterest: number(facts.openInterest),
    netChange: price(facts.change),
    lastPrice: price(facts.last),
    quoteDetail: QUOTE_DETAIL + quoteName(contract),
    osiKey: osiKey(contract),
    OptionGreeks: facts.greeks,
  };
}

/** What stands behind the pairs. The answer's own time is a full minute. Assumed: `quoteType` is a quote's `quoteStatus`. */
export function behindPairs(
  date: string,
  spot: string | null,
  { moment, status }: Instant,
): Record<string, Value> {
  const [year, month, day] = date.split("-").map(Number);
  return {
    timeStamp: number(60 * Math.floor(seconds(moment.tradedAt) / 60)),
    quoteType: status,
    nearPrice: price(spot),
    SelectedED: { day: number(day ?? 0), month: number(month ?? 0), year: number(year ?? 0) },
  };
}

export function expiryTypeOf({ type }: Expiration): "MONTHLY" | "WEEKLY" {
  return type === "standard" ? "MONTHLY" : "WEEKLY";
}

export function writtenExpiration(expiration: Expiration): Value {
  const [year, month, day] = expiration.date.split("-").map(Number);
  return {
    year: number(year ?? 0),
    month: number(month ?? 0),
    day: number(day ?? 0),
    expiryType: expiryTypeOf(expiration),
  };
}

/**
 * A contract's quote as E*TRADE writes it, from the simulated market's (a recorded answer of 2023; the documentation's
 * sample of 2012 has the same members).
 */
import { exchangeDate, exchangeInstant } from "../../../src/market/calendar/dates.ts";
import { centsText, decimalText } from "../../../src/serve/simulated/decimalText.ts";
import type { Contract } from "../listing.ts";
import { number, type Value } from "../wire.ts";
import { ABSENT } from "./absent.ts";
import { type ContractFacts, displaySymbol, osiKey } from "./contract.ts";
import { exchangeOf, headOf } from "./stock.ts";
import { dayAtTimeOf, daysUntil, type Instant, clockText, seconds } from "./times.ts";
import { price } from "./wire.ts";

/**
 * A contract with `All`. Outside of the session its times are 00:01 of the last session's date and its sizes 0, as in the
 * recording of 2023.
 */
export function writtenOption(contract: Contract, facts: ContractFacts, instant: Instant): Value {
  const { asked, moment, status } = instant;
  const isOver = status === "CLOSING";
  const stamp = exchangeInstant(exchangeDate(moment.tradedAt), "00:01");
  const quotedAt = isOver ? stamp : facts.quotedAt;
  const size = (text: string) => number(isOver ? "0" : text);
  const { company, symbol, type } = contract.underlying;
  return {
    ...headOf(quotedAt, status, isOver),
    All: {
      ...ABSENT,
      ask: price(facts.ask),
      askSize: size(facts.askSize),
      askTime: clockText(quotedAt),
      bid: price(facts.bid),
      bidSize: size(facts.bidSize),
      bidTime: clockText(quotedAt),
      changeClose: price(facts.change),
      changeClosePercentage: price(facts.percentChange),
      companyName: company.description,
      daysToExpiration: number(daysUntil(contract.expiration.date, asked)),
      high: price(facts.high),
      high52: price(facts.high52),
      lastTrade: price(facts.last),
      low: price(facts.low),
      low52: price(facts.low52),
      open: price(facts.open),
      openInterest: number(facts.openInterest),
      optionStyle: type === "index" ? "EUROPEAN" : "AMERICAN",
      optionUnderlier: symbol,
      optionUnderlierExchange: exchangeOf(company),
      previousClose: price(facts.previousClose),
      primaryExchange: "CBOE",
      symbolDescription: displaySymbol(contract),
      totalVolume: number(facts.volume),
      ...valuesOf(contract, facts),
      expirationDate: number(dayAtTimeOf(contract.expiration.date, asked)),
      optionPreviousBidPrice: price(facts.previousBid),
      optionPreviousAskPrice: price(facts.previousAsk),
      osiKey: osiKey(contract),
      timeOfLastTrade: number(isOver && facts.tradedAt ? seconds(stamp) : facts.tradedAt),
    },
    Product: productOf(contract),
  };
}

/** A quote with `Option`, which `detailFlag=OPTIONS` asks for. Clients name its members; no answer was recorded. */
export function writtenWithGreeks(contract: Contract, facts: ContractFacts, instant: Instant): Value {
  const { status, asked } = instant;
  return {
    ...headOf(facts.quotedAt, status, status === "CLOSING"),
    Option: {
      ask: price(facts.ask),
      askSize: number(facts.askSize),
      bid: price(facts.bid),
      bidSize: number(facts.bidSize),
      companyName: contract.underlying.company.description,
      daysToExpiration: number(daysUntil(contract.expiration.date, asked)),
      lastTrade: price(facts.last),
      openInterest: number(facts.openInterest),
      optionPreviousBidPrice: price(facts.previousBid),
      optionPreviousAskPrice: price(facts.previousAsk),
      osiKey: osiKey(contract),
      ...valuesOf(contract, facts),
      symbolDescription: displaySymbol(contract),
      OptionGreeks: facts.greeks,
    },
    Product: productOf(contract),
  };
}

/** The premium is what the middle of bid and ask has beyond the intrinsic value: 0.185 in the recording. */
function valuesOf(
  { strike, optionType }: Contract,
  { bid, ask, spot }: ContractFacts,
): Record<string, Value> {
  const beyond = 100 * (Number(spot) - Number(strike)) * (optionType === "CALL" ? 1 : -1);
  const intrinsic = Math.max(0, Math.round(beyond));
  const middle = 50 * (Number(bid) + Number(ask));
  return {
    intrinsicValue: number(centsText(intrinsic)),
    timePremium: number(decimalText((middle - intrinsic) / 100, 3)),
    optionMultiplier: number("100.0"),
    contractSize: number("100.0"),
  };
}

/** Assumed: the symbol is the underlier's where the root is another, too. `osiKey` names the root. */
function productOf({ underlying, optionType, expiration, strike }: Contract): Value {
  const [year, month, day] = expiration.date.split("-").map(Number);
  return {
    symbol: underlying.symbol,
    securityType: "OPTN",
    callPut: optionType,
    expiryYear: number(year ?? 0),
    expiryMonth: number(month ?? 0),
    expiryDay: number(day ?? 0),
    strikePrice: number(strike.includes(".") ? strike : `${strike}.0`),
  };
}

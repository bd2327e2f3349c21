/** One quote of E*TRADE's, of a list or of a chain. What it writes for "nothing" becomes null here, each by a rule of its own. */
import type { Instant } from "../../ground/clock.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { inCapitals, option, security } from "../../market/instrument.ts";
import { archivedSymbol } from "../../market/root.ts";
import { isZero } from "../../quotes/decimal.ts";
import { type DividendData, type InstrumentQuote, type Quote, unknownQuote } from "../../quotes/document.ts";
import type { JsonFields } from "../jsonFields.ts";
import { isUnnamed, type UnnamedItem } from "../jsonItem.ts";
import { chainContract, productContract } from "./etradeContract.ts";

/** Assumed: a price of 0 says that there is none, as the documentation's sample and a call without a bid show it. */
const NO_PRICE = isZero;

/** Assumed: so does an implied volatility or a ratio. */
const NO_VALUE = isZero;

/** Assumed: so does an average volume, or the size of a contract. */
const NO_COUNT = "0";

/** A time of 0 is that of a quote or trade that never was. */
const NEVER = "0";

/** Kinds of securities by `securityType`; others stay as they are. */
const SECURITY_TYPES: ReadonlyMap<string, string> = new Map([
  ["EQ", "CS"],
  ["INDX", "INDEX"],
  ["MF", "MUTUAL_FUND"],
]);

/** The answer itself says so: an account without the agreement on market data has quotes that are 15 minutes old. */
export function isDelayed(status: string | null): boolean {
  return status === "DELAYED";
}

export function quoteOf(fields: JsonFields): InstrumentQuote | UnnamedItem {
  const product = fields.object("Product");
  const all = fields.object("All");
  const symbol = product?.text("symbol") ?? null;
  const type = product?.text("securityType") ?? null;
  const isOption = type === "OPTN";
  const said = { symbol, isOption: type === null ? null : isOption };
  if (product === null || symbol === null) return { problem: "Product/symbol is missing", ...said };
  if (all === null)
    return (
      withoutDetails(fields.text("errorMessage"), product, symbol) ?? { problem: "All is missing", ...said }
    );
  const contract = isOption ? productContract(product, all) : null;
  if (isUnnamed(contract)) return contract;
  return {
    instrument: {
      description: all.text("symbolDescription") ?? all.text("companyName"),
      exchange: all.text("primaryExchange"),
      securityType: isOption ? "OPT" : type && (SECURITY_TYPES.get(type) ?? inCapitals(type)),
      symbol: archivedSymbol(symbol),
      expiration: null,
      optionType: null,
      strike: null,
      ...contract,
    },
    quote: listQuote(fields, all, isOption),
    greeksDelta: null,
    underlying: contract && { symbol: contract.symbol, description: null, exchange: null },
    underlyingQuote: null,
    delayed: isDelayed(fields.text("quoteStatus")),
    unknownSymbol: false,
  };
}

/**
 * A quote without details: with an error's words an unknown instrument, without them null.
 *
 * Assumed: with an `errorMessage` it is of a name that E*TRADE does not know (a documented field that no answer was recorded with).
 */
function withoutDetails(
  words: string | null,
  product: JsonFields,
  symbol: string,
): InstrumentQuote | UnnamedItem | null {
  if (words === null) return null;
  if (product.text("securityType") !== "OPTN") return unknownQuote(security(symbol));
  const contract = productContract(product, product);
  if (isUnnamed(contract)) return contract;
  const { symbol: underlying, ...rest } = contract;
  return unknownQuote(option({ underlying, ...rest }));
}

/** Keys of values that a list and a chain call otherwise. What only a list has is absent from a chain. */
type Keys = { last: string; change: string; pctChange: string; volume: string; quotedAt: string };

const OF_LIST: Keys = {
  last: "lastTrade",
  change: "changeClose",
  pctChange: "changeClosePercentage",
  volume: "totalVolume",
  quotedAt: "dateTimeUTC",
};

const OF_EXTENDED_HOURS: Keys = {
  ...OF_LIST,
  last: "lastPrice",
  change: "change",
  pctChange: "percentChange",
};

/** Assumed: a contract's `timeStamp` is the time of its bid and ask. Those of a recorded pair are 15 minutes apart. */
const OF_CHAIN: Keys = {
  ...OF_LIST,
  last: "lastPrice",
  change: "netChange",
  volume: "volume",
  quotedAt: "timeStamp",
};

/**
 * Outside the regular session (`ahFlag`) bid, ask and the last trade are those of extended hours, with the time of that trade:
 * they are what the market was then. Open, high, low, volume and the close before are the regular session's
 * (docs/decisions/etrade-extended-hours.md).
 */
function listQuote(data: JsonFields, all: JsonFields, isOption: boolean): Quote {
  const extended = data.flag("ahFlag") === true ? all.object("ExtendedHourQuoteDetail") : null;
  return readQuote({ data, all, side: extended ?? all }, extended ? OF_EXTENDED_HOURS : OF_LIST, isOption);
}

/** @param side where bid, ask and the last trade stand */
function readQuote(
  { data, all, side }: { data: JsonFields; all: JsonFields; side: JsonFields },
  keys: Keys,
  isOption: boolean,
): Quote {
  const last = side.decimalBut(keys.last, NO_PRICE);
  const greeks = isOption ? currentGreeks(all) : null;
  const orNull = (value: string | null): string | null => (last === null ? null : value);
  return {
    bid: side.decimalBut("bid", NO_PRICE),
    ask: side.decimalBut("ask", NO_PRICE),
    last,
    // 0 is a true change, but not where nothing was traded.
    change: orNull(side.decimal(keys.change, "change")),
    pctChange: orNull(side.decimal(keys.pctChange, "pctChange")),
    quotedAt: data.epochSeconds(keys.quotedAt, NEVER),
    tradedAt: side.epochSeconds("timeOfLastTrade", NEVER),
    // Named one by one: spreading costs many times the time of reading a quote.
    extended: {
      sessionVolume: null,
      openInterestDate: null,
      contractHigh: null,
      contractLow: null,
      bidIv: null,
      askIv: null,
      // No answer says when greeks were reckoned.
      greeksAt: null,
      bidSize: side.integer("bidSize"),
      askSize: side.integer("askSize"),
      open: all.decimalBut("open", NO_PRICE),
      high: all.decimalBut("high", NO_PRICE),
      low: all.decimalBut("low", NO_PRICE),
      previousClose: all.decimalBut("previousClose", NO_PRICE),
      volume: all.integer(keys.volume),
      averageVolume: all.integerBut("averageVolume", NO_COUNT),
      earningsPerShare: isOption ? null : all.decimalBut("eps", NO_VALUE, "earningsPerShare"),
      peRatio: isOption ? null : all.decimalBut("pe", NO_VALUE, "peRatio"),
      high52Week: all.decimalBut("high52", NO_PRICE),
      low52Week: all.decimalBut("low52", NO_PRICE),
      dividend: isOption ? null : dividendIn(all),
      contractSize: isOption ? all.integerBut("contractSize", NO_COUNT) : null,
      openInterest: isOption ? all.integer("openInterest") : null,
      delta: greeks && greeks.decimal("delta", "delta"),
      gamma: greeks && greeks.decimal("gamma", "gamma"),
      theta: greeks && greeks.decimal("theta", "theta"),
      vega: greeks && greeks.decimal("vega", "vega"),
      rho: greeks && greeks.decimal("rho", "rho"),
      impliedVolatility: greeks && greeks.decimalBut("iv", NO_VALUE, "impliedVolatility"),
    },
  };
}

/** Dates carry the time of day of the request: in the evening the date of UTC is the next one. */
function dividendIn(all: JsonFields): DividendData {
  const dateOf = (at: Instant | null): string | null => at && exchangeDate(new Date(at));
  return {
    exDate: dateOf(all.epochSecondsOfDate("exDividendDate", NEVER)),
    amount: all.decimalBut("dividend", NO_VALUE),
    yield: all.decimalBut("yield", NO_VALUE, "yield"),
  };
}

/** Assumed: greeks that are "not current" are of another time, which nothing tells, and stay in the journal alone. */
function currentGreeks(fields: JsonFields): JsonFields | null {
  const greeks = fields.object("OptionGreeks");
  return greeks?.flag("currentValue") === false ? null : greeks;
}

/** One `Call` or `Put` of a chain. @param selected the expiration of the chain, as it says itself */
export function contractQuote({
  delayed,
  selected,
}: {
  delayed: boolean;
  selected: string | null;
}): (fields: JsonFields) => InstrumentQuote | UnnamedItem {
  return (fields) => {
    const contract = chainContract(fields, selected);
    if (isUnnamed(contract)) return contract;
    const description = fields.text("displaySymbol");
    return {
      instrument: { description, exchange: null, securityType: "OPT", ...contract },
      quote: readQuote({ data: fields, all: fields, side: fields }, OF_CHAIN, true),
      greeksDelta: null,
      underlying: { symbol: contract.symbol, description: null, exchange: null },
      underlyingQuote: null,
      delayed,
      unknownSymbol: false,
    };
  };
}

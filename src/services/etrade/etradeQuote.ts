/** One quote of E*TRADE's, of a list or of a chain. What it writes for "nothing" becomes null here, each by a rule of its own. */
import type { Instant } from "../../ground/clock.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { inCapitals, option, security } from "../../market/instrument.ts";
import { archivedSymbol } from "../../market/root.ts";
import { isZero } from "../../quotes/decimal.ts";
import { type DividendData, type InstrumentQuote, type Quote, unknownQuote } from "../../quotes/document.ts";
import type { JsonFields } from "../jsonFields.ts";
import { Nameless } from "../jsonItem.ts";
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

/** One `QuoteData`. */
export function quoteOf(fields: JsonFields): InstrumentQuote {
  const product = fields.object("Product");
  const all = fields.object("All");
  const symbol = product?.text("symbol") ?? null;
  const type = product?.text("securityType") ?? null;
  const isOption = type === "OPTN";
  if (symbol === null) throw new Nameless("Product/symbol is missing", null, type === null ? null : isOption);
  if (all === null)
    return withoutDetails(fields, { product, symbol, isOption: type === null ? null : isOption });
  const contract = isOption && product ? productContract(product, all) : null;
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
    quote: readQuote(fields, all, isOption),
    greeksDelta: null,
    underlying: contract && { symbol: contract.symbol, description: null, exchange: null },
    underlyingQuote: null,
    delayed: isDelayed(fields.text("quoteStatus")),
    unknownSymbol: false,
  };
}

/**
 * A quote without details.
 *
 * Assumed: with an `errorMessage` it is of a name that E*TRADE does not know (a documented field that no answer was recorded with).
 *
 * @throws Nameless without one
 */
function withoutDetails(
  fields: JsonFields,
  { product, symbol, isOption }: { product: JsonFields | null; symbol: string; isOption: boolean | null },
): InstrumentQuote {
  const words = fields.text("errorMessage");
  if (words === null || product === null) throw new Nameless("All is missing", symbol, isOption);
  if (isOption !== true) return unknownQuote(security(symbol));
  const { symbol: underlying, ...contract } = productContract(product, product);
  return unknownQuote(option({ underlying, ...contract }));
}

/**
 * Outside the regular session (`ahFlag`) bid, ask and the last trade are those of extended hours, with the time of that trade:
 * they are what the market was then. Open, high, low, volume and the close before are the regular session's
 * (docs/decisions/etrade-extended-hours.md).
 */
function readQuote(data: JsonFields, all: JsonFields, isOption: boolean): Quote {
  const extended = data.flag("ahFlag") === true ? all.object("ExtendedHourQuoteDetail") : null;
  const side = extended ?? all;
  const last = side.decimalBut(extended ? "lastPrice" : "lastTrade", NO_PRICE);
  const greeks = isOption ? currentGreeks(all) : null;
  const orNull = (value: string | null): string | null => (last === null ? null : value);
  return {
    bid: side.decimalBut("bid", NO_PRICE),
    ask: side.decimalBut("ask", NO_PRICE),
    last,
    // 0 is a true change, but not where nothing was traded.
    change: orNull(side.decimal(extended ? "change" : "changeClose", "change")),
    pctChange: orNull(side.decimal(extended ? "percentChange" : "changeClosePercentage", "pctChange")),
    quotedAt: data.epochSeconds("dateTimeUTC", NEVER),
    tradedAt: side.epochSeconds("timeOfLastTrade", NEVER),
    // Named one by one: spreading costs many times the time of reading a quote.
    extended: {
      sessionVolume: null,
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
      volume: all.integer("totalVolume"),
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

export type OfChain = { delayed: boolean; selected: string | null };

/** One `Call` or `Put` of a chain. */
export function contractQuote({ delayed, selected }: OfChain): (fields: JsonFields) => InstrumentQuote {
  return (fields) => {
    const { symbol, root, expiration, optionType, strike } = chainContract(fields, selected);
    const description = fields.text("displaySymbol");
    return {
      instrument: {
        description,
        exchange: null,
        securityType: "OPT",
        symbol,
        root,
        expiration,
        optionType,
        strike,
      },
      quote: chainQuote(fields),
      greeksDelta: null,
      underlying: { symbol, description: null, exchange: null },
      underlyingQuote: null,
      delayed,
      unknownSymbol: false,
    };
  };
}

function chainQuote(fields: JsonFields): Quote {
  const last = fields.decimalBut("lastPrice", NO_PRICE);
  const greeks = currentGreeks(fields);
  return {
    bid: fields.decimalBut("bid", NO_PRICE),
    ask: fields.decimalBut("ask", NO_PRICE),
    last,
    change: last === null ? null : fields.decimal("netChange", "change"),
    pctChange: null,
    // Assumed: a contract's `timeStamp` is the time of its bid and ask. Those of a recorded pair are 15 minutes apart.
    quotedAt: fields.epochSeconds("timeStamp", NEVER),
    tradedAt: null,
    extended: {
      sessionVolume: null,
      contractHigh: null,
      contractLow: null,
      bidIv: null,
      askIv: null,
      greeksAt: null,
      open: null,
      high: null,
      low: null,
      previousClose: null,
      averageVolume: null,
      earningsPerShare: null,
      peRatio: null,
      high52Week: null,
      low52Week: null,
      contractSize: null,
      dividend: null,
      bidSize: fields.integer("bidSize"),
      askSize: fields.integer("askSize"),
      volume: fields.integer("volume"),
      openInterest: fields.integer("openInterest"),
      delta: greeks && greeks.decimal("delta", "delta"),
      gamma: greeks && greeks.decimal("gamma", "gamma"),
      theta: greeks && greeks.decimal("theta", "theta"),
      vega: greeks && greeks.decimal("vega", "vega"),
      rho: greeks && greeks.decimal("rho", "rho"),
      impliedVolatility: greeks && greeks.decimalBut("iv", NO_VALUE, "impliedVolatility"),
    },
  };
}

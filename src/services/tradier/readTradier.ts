/** Tradier's quotes in our words. What it writes for "nothing" becomes null here, each by a rule of its own. */
import type { Instant } from "../../ground/clock.ts";
import { isDateText } from "../../market/calendar/dates.ts";
import { isOccSymbolOf } from "../../market/occ.ts";
import { archivedSymbol, withRoot } from "../../market/root.ts";
import { cutText } from "../../ground/outsideText.ts";
import { isZero } from "../../quotes/decimal.ts";
import {
  type InstrumentQuote,
  type Quote,
  refused,
  unknownQuote,
  plainDocument,
  type ReadDocument,
  type ReadItem,
} from "../../quotes/document.ts";
import { keyOfSymbol } from "../../quotes/call.ts";
import { isObject, type Json, type JsonObject, textOf, valueAt } from "../json.ts";
import type { JsonFields } from "../jsonFields.ts";
import { isUnnamed, listed, readItem, type UnnamedItem } from "../jsonItem.ts";

/** Assumed: a bid or an ask of 0 says that there is none, beside a size of 0 or not. */
const NO_PRICE = isZero;

/** Assumed: a yearly high or low of 0 says that there is none: every option has it. */
const NO_EXTREME = isZero;

/** Assumed: a volatility of 0 could not be reckoned: recorded beside a `smv_vol` that is none. */
const NO_VOLATILITY = isZero;

/** Assumed: an average volume of 0 says that there is none: every option has it. */
const NO_AVERAGE = "0";

/** Assumed: a time of 0 is that of a quote or trade that never was. */
const NEVER = "0";

const TIMES_OF_QUOTE = ["bid_date", "ask_date"] as const;

/**
 * Assumed: sizes of securities are shares, as the feeds send them since the round lots of 2025-11-03. The documentation still says
 * hundreds. Sizes of options are contracts.
 */
const [BID_SIZE, ASK_SIZE] = ["bidsize", "asksize"] as const;

/** Kinds of securities by Tradier's `type`; others stay as they are, in capitals. */
const SECURITY_TYPES: ReadonlyMap<string, string> = new Map([["stock", "CS"]]);

/**
 * What stands below `quotes`, `options` or `expirations`. One element may be an object in place of an array of one, and nothing is
 * `null` or the text `null`.
 *
 * @param latest see `JsonFields`
 * @throws QuotekeeperError DOCUMENT_REFUSED when it is a document of something else
 */
export function readTradier(document: JsonObject, latest: Instant | null): ReadDocument {
  const kind = (["quotes", "options", "expirations"] as const).find((name) => Object.hasOwn(document, name));
  if (kind === undefined) {
    const keys = Object.keys(document).slice(0, 3);
    const named = keys.map((key) => cutText(key, 40)).join(", ") || "nothing";
    throw refused(`it holds no quotes, options or expirations, but ${named}`);
  }
  const found = valueAt(document, kind) ?? null;
  if (!isNothing(found) && !isObject(found)) throw refused(`its ${kind} are no object`);
  const inside = isObject(found) ? found : {};
  const listOf = (key: string): readonly Json[] => listed(valueAt(inside, key), isNothing);
  const quotesOf = (key: string): ReadItem[] =>
    listOf(key).map((one) => readItem(one, instrumentQuote, latest));
  if (kind === "options") return plainDocument(quotesOf("option"));
  if (kind === "quotes") {
    const unmatched = valueAt(inside, "unmatched_symbols");
    const unknown = listed(isObject(unmatched) ? valueAt(unmatched, "symbol") : undefined, isNothing);
    return plainDocument([...quotesOf("quote"), ...unknown.flatMap((symbol) => unknownRead(textOf(symbol)))]);
  }
  const long = listOf("expiration").map((one) => (isObject(one) ? valueAt(one, "date") : one));
  const dates = [...listOf("date"), ...long];
  return plainDocument(
    [],
    dates.map((date) => (typeof date === "string" && isDateText(date) ? date : null)),
  );
}

function isNothing(json: Json): boolean {
  return json === null || json === "null";
}

function instrumentQuote(fields: JsonFields): InstrumentQuote | UnnamedItem {
  const type = fields.text("type");
  const symbol = fields.text("symbol");
  const isOption = type === "option";
  if (symbol === null)
    return { problem: "symbol is missing", symbol, isOption: type === null ? null : isOption };
  const contract = isOption ? contractOf(fields, symbol) : null;
  if (isUnnamed(contract)) return contract;
  return {
    instrument: {
      description: fields.text("description"),
      exchange: fields.text("exch"),
      securityType: isOption ? "OPT" : type && (SECURITY_TYPES.get(type) ?? type.toUpperCase()),
      symbol: archivedSymbol(symbol),
      expiration: null,
      optionType: null,
      strike: null,
      ...contract,
    },
    quote: readQuote(fields, contract),
    greeksDelta: null,
    underlying: contract && { symbol: contract.symbol, description: null, exchange: null },
    underlyingQuote: null,
    unknownSymbol: false,
  };
}

type Contract = Pick<InstrumentQuote["instrument"], "root" | "expiration" | "optionType" | "strike"> & {
  symbol: string;
};

/** By its own fields. The OCC symbol says the same: where it does not, nobody knows which is right. */
function contractOf(fields: JsonFields, occ: string): Contract | UnnamedItem {
  const unnamed = (problem: string): UnnamedItem => ({ problem, symbol: occ, isOption: true });
  const underlying = fields.text("underlying");
  const expiration = fields.text("expiration_date") ?? "";
  const type = fields.text("option_type");
  const strike = fields.decimal("strike");
  const optionType = type === "call" ? "CALL" : type === "put" ? "PUT" : null;
  if (underlying === null || !isDateText(expiration) || strike === null || optionType === null)
    return unnamed(
      "underlying, expiration_date, option_type or strike of an option is missing or unreadable",
    );
  const named = withRoot(underlying, fields.text("root_symbol"));
  if (!isOccSymbolOf(occ, { expiration, optionType, strike }))
    return unnamed(`symbol ${cutText(occ, 40)} names another contract than its fields`);
  return { symbol: named.underlying, root: named.root, expiration, optionType, strike };
}

/**
 * Assumed: a strike has one set of theta and rho, the call's, and its put repeats them (ORATS reckons so, and each recorded put shows
 * it). So those of a put are not known. Its delta is its own; gamma and vega are the same for both.
 */
const HAS_OWN = "CALL";

function readQuote(fields: JsonFields, contract: Contract | null): Quote {
  const isOption = contract !== null;
  const greeks = isOption ? fields.object("greeks") : null;
  const own = contract?.optionType === HAS_OWN ? greeks : null;
  return {
    bid: fields.decimalBut("bid", NO_PRICE),
    ask: fields.decimalBut("ask", NO_PRICE),
    last: fields.decimal("last"),
    change: fields.decimal("change", "change"),
    pctChange: fields.decimal("change_percentage", "pctChange"),
    quotedAt: fields.laterEpochMs(TIMES_OF_QUOTE, NEVER),
    tradedAt: fields.epochMs("trade_date", NEVER),
    // Named one by one: spreading costs a fifth of the time of reading a contract.
    extended: {
      sessionVolume: null,
      openInterestDate: null,
      earningsPerShare: null,
      peRatio: null,
      contractHigh: null,
      contractLow: null,
      dividend: null,
      bidSize: fields.integer(BID_SIZE),
      askSize: fields.integer(ASK_SIZE),
      open: fields.decimal("open"),
      high: fields.decimal("high"),
      low: fields.decimal("low"),
      previousClose: fields.decimal("prevclose"),
      volume: fields.integer("volume"),
      averageVolume: fields.integerBut("average_volume", NO_AVERAGE),
      high52Week: fields.decimalBut("week_52_high", NO_EXTREME),
      low52Week: fields.decimalBut("week_52_low", NO_EXTREME),
      contractSize: isOption ? fields.integer("contract_size") : null,
      openInterest: isOption ? fields.integer("open_interest") : null,
      delta: greeks && greeks.decimal("delta", "delta"),
      gamma: greeks && greeks.decimal("gamma", "gamma"),
      theta: own && own.decimal("theta", "theta"),
      vega: greeks && greeks.decimal("vega", "vega"),
      rho: own && own.decimal("rho", "rho"),
      // `smv_vol`, the smoothed one, is another quantity, and stays in the journal.
      impliedVolatility: greeks && greeks.decimalBut("mid_iv", NO_VOLATILITY, "impliedVolatility"),
      bidIv: greeks && greeks.decimalBut("bid_iv", NO_VOLATILITY, "bidIv"),
      askIv: greeks && greeks.decimalBut("ask_iv", NO_VOLATILITY, "askIv"),
      greeksAt: greeks && greeks.time("updated_at"),
    },
  };
}

function unknownRead(symbol: string | null): ReadItem[] {
  if (symbol === null) return [];
  const item = unknownQuote(keyOfSymbol(symbol));
  return [{ ok: true, item, oddFields: [], fragment: cutText(symbol, 200) }];
}

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
  MAX_ITEMS,
  type ReadDocument,
  type ReadItem,
} from "../../quotes/document.ts";
import { keyOfSymbol } from "../../quotes/call.ts";
import { isObject, type Json, type JsonObject, textOf, valueAt } from "../json.ts";
import type { JsonFields } from "../jsonFields.ts";
import { Nameless, readItem } from "../jsonItem.ts";

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
  const [kind, found] = KINDS.map((name) => [name, valueAt(document, name)] as const).find(
    ([, value]) => value !== undefined,
  ) ?? [null, undefined];
  if (kind === null || found === undefined)
    throw refused(`it holds no quotes, options or expirations, but ${named(Object.keys(document))}`);
  const whole = { id: null, error: null, hasQuotes: true };
  if (kind === "expirations") return { ...whole, items: [], expirations: datesIn(found) };
  const items = isNothing(found) ? [] : itemsIn(found, kind, latest);
  if (items.length > MAX_ITEMS) throw refused(`it holds more than ${MAX_ITEMS} instruments`);
  return { ...whole, items };
}

/** What an answer is of. */
const KINDS = ["quotes", "options", "expirations"] as const;

function named(keys: readonly string[]): string {
  return keys.length === 0
    ? "nothing"
    : keys
        .slice(0, 3)
        .map((key) => cutText(key, 40))
        .join(", ");
}

function isNothing(json: Json): boolean {
  return json === null || json === "null";
}

function itemsIn(found: Json, kind: "quotes" | "options", latest: Instant | null): ReadItem[] {
  if (!isObject(found)) throw refused(`its ${kind} are no object`);
  const quotes = (list: Json | undefined): ReadItem[] =>
    listed(list).map((one) => readItem(one, instrumentQuote, latest));
  if (kind === "options") return quotes(valueAt(found, "option"));
  const unmatched = valueAt(found, "unmatched_symbols");
  const symbols = isObject(unmatched) ? valueAt(unmatched, "symbol") : undefined;
  return [
    ...quotes(valueAt(found, "quote")),
    ...listed(symbols).flatMap((symbol) => unknownRead(textOf(symbol))),
  ];
}

/** A list with a date that is none is of no use: chains would be asked for by it all day. */
function datesIn(found: Json): string[] {
  if (isNothing(found)) return [];
  if (!isObject(found)) throw refused("its expirations are no object");
  const dates = listed(valueAt(found, "date"));
  const long = listed(valueAt(found, "expiration")).map((one) =>
    isObject(one) ? valueAt(one, "date") : one,
  );
  return [...dates, ...long].map((date) => {
    if (typeof date === "string" && isDateText(date)) return date;
    throw refused("one of its expirations is no date");
  });
}

/** One element, or several. */
function listed(json: Json | undefined): readonly Json[] {
  if (json === undefined || isNothing(json)) return [];
  return Array.isArray(json) ? (json as readonly Json[]) : [json];
}

function instrumentQuote(fields: JsonFields): InstrumentQuote {
  const type = fields.text("type");
  const symbol = fields.text("symbol");
  const isOption = type === "option";
  if (symbol === null) throw new Nameless("symbol is missing", null, type === null ? null : isOption);
  const contract = isOption ? contractOf(fields, symbol) : null;
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
function contractOf(fields: JsonFields, occ: string): Contract {
  const underlying = fields.text("underlying");
  const expiration = fields.text("expiration_date") ?? "";
  const type = fields.text("option_type");
  const strike = fields.decimal("strike");
  const optionType = type === "call" ? "CALL" : type === "put" ? "PUT" : null;
  if (underlying === null || !isDateText(expiration) || strike === null || optionType === null)
    throw new Nameless(
      "underlying, expiration_date, option_type or strike of an option is missing or unreadable",
      occ,
      true,
    );
  const named = withRoot(underlying, fields.text("root_symbol"));
  if (!isOccSymbolOf(occ, { expiration, optionType, strike }))
    throw new Nameless(`symbol ${cutText(occ, 40)} names another contract than its fields`, occ, true);
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

/** Alpaca's snapshots and option contracts in our words. What it writes for "nothing" becomes null here, each by a rule of its own. */
import { dateOf, type Instant } from "../../ground/clock.ts";
import { cutText } from "../../ground/outsideText.ts";
import { exchangeDate, isDateText } from "../../market/calendar/dates.ts";
import { option, security } from "../../market/instrument.ts";
import { parseOccSymbol, requiredOccSymbol } from "../../market/occ.ts";
import { withRoot } from "../../market/root.ts";
import { keyOfSymbol, type QuoteCall, type SavedCall } from "../../quotes/call.ts";
import { isZero } from "../../quotes/decimal.ts";
import {
  type InstrumentQuote,
  NO_QUOTE,
  plainDocument,
  type Quote,
  type ReadDocument,
  type ReadItem,
  refused,
  unknownQuote,
} from "../../quotes/document.ts";
import { isObject, type Json, type JsonObject, textOf, valueAt } from "../json.ts";
import type { JsonFields } from "../jsonFields.ts";
import { readItem, type UnnamedItem } from "../jsonItem.ts";
import { isDelayedFeed } from "./feeds.ts";
import { chainPlace, isOfContracts, nextPlace } from "./writeAlpaca.ts";

/** 0 is no bid and no ask (market-data-api.json, in words). */
const NO_PRICE = isZero;

const GREEKS = ["delta", "gamma", "theta", "vega", "rho"] as const;

/** When an answer came, and the last instant that a time in it may say. Null: nobody knows. */
type Times = { latest: Instant | null; observedAt: Instant | null };

/**
 * @param call that was answered: the answer does not say which feed it came from, nor which names it leaves out
 * @throws QuotekeeperError DOCUMENT_REFUSED when it is a document of something else
 */
export function readAlpaca(
  document: JsonObject,
  { latest, observedAt }: Times,
  call: QuoteCall | SavedCall,
): ReadDocument {
  const delayed = "feed" in call && isDelayedFeed(call.feed);
  if (call.form === "expirations") return contractsIn(document, call);
  const isOption =
    call.form === "chain" ||
    call.form === "option" ||
    (call.form === "symbols" && isOfContracts(call.symbols));
  const found = isOption ? valueAt(document, "snapshots") : document;
  const snapshots = isObject(found) ? Object.entries(found).filter(([, snapshot]) => snapshot !== null) : [];
  if (!isObject(found) || (!isOption && isOfNone(call, snapshots)))
    throw refused(`it holds no snapshots, but ${namesOf(document)}`);
  const underlying = call.form === "chain" ? call.underlying : null;
  const items = snapshots.map(([name, snapshot]) =>
    readItem(
      snapshot,
      isOption
        ? contractQuote(name, underlying, { delayed, observedAt })
        : stockQuote(name, { delayed, observedAt }),
      latest,
    ),
  );
  const token = isOption ? tokenIn(document) : null;
  const next =
    call.form === "chain" ? nextPlace(call.underlying, chainPlace(call.underlying, call.page), token) : token;
  if (next !== null) return { ...plainDocument(items), nextPage: next };
  return plainDocument(call.form === "chain" ? items : [...items, ...leftOut(call, found)]);
}

/** Snapshots of stocks stand in nothing: where no name is one that was asked for, the document is another. */
function isOfNone(call: QuoteCall | SavedCall, snapshots: readonly (readonly [string, Json])[]): boolean {
  if (call.form !== "symbols" || snapshots.length === 0) return false;
  return !snapshots.some(([name]) => call.symbols.includes(name));
}

/** Null, empty or missing: this is the last page. */
function tokenIn(document: JsonObject): string | null {
  return textOf(valueAt(document, "next_page_token")) || null;
}

function namesOf(document: JsonObject): string {
  const names = Object.keys(document).slice(0, 3);
  return names.map((name) => cutText(name, 40)).join(", ") || "nothing";
}

/** A name that is well formed and that nobody lists is silently left out of an answer. */
function leftOut(call: QuoteCall | SavedCall, found: JsonObject): ReadItem[] {
  const symbols =
    call.form === "symbols" ? call.symbols : call.form === "option" ? [requiredOccSymbol(call.contract)] : [];
  return symbols
    .filter((symbol) => (valueAt(found, symbol) ?? null) === null)
    .map((symbol) => ({ ok: true, item: unknownQuote(keyOfSymbol(symbol)), oddFields: [], fragment: "" }));
}

type Told = Pick<InstrumentQuote, "delayed"> & Pick<Times, "observedAt">;

function stockQuote(symbol: string, { delayed, observedAt }: Told) {
  return (fields: JsonFields): InstrumentQuote => ({
    ...unknownQuote(security(symbol)),
    quote: quoteIn(fields, false, observedAt),
    delayed,
    unknownSymbol: false,
  });
}

/** @param underlying of a chain, in which contracts of adjusted roots stand too; null: the root tells it */
function contractQuote(name: string, underlying: string | null, { delayed, observedAt }: Told) {
  return (fields: JsonFields): InstrumentQuote | UnnamedItem => {
    const contract = parseOccSymbol(name);
    if (contract === null)
      return { problem: `${cutText(name, 40)} is no OCC symbol`, symbol: name, isOption: true };
    const named = underlying === null ? contract : { ...contract, ...withRoot(underlying, rootIn(name)) };
    return {
      ...unknownQuote(option(named)),
      quote: quoteIn(fields, true, observedAt),
      underlying: { symbol: named.underlying, description: null, exchange: null },
      delayed,
      unknownSymbol: false,
    };
  };
}

/** Sizes are shares and contracts (since 2025-11-03). Stub quotes and crossed ones stay as they come. */
function quoteIn(fields: JsonFields, isOption: boolean, observedAt: Instant | null): Quote {
  const book = fields.object("latestQuote");
  const latest = fields.object("latestTrade");
  // A trade that was canceled, incorrect or corrected is none.
  const trade = latest && latest.text("u") === null ? latest : null;
  const quotedAt = book && book.rfcTime("t");
  const tradedAt = trade && trade.rfcTime("t");
  const { today, previous } = barsOf(fields, quotedAt ?? observedAt);
  const greeks = isOption ? greeksIn(fields) : null;
  return {
    bid: book && book.decimalBut("bp", NO_PRICE),
    ask: book && book.decimalBut("ap", NO_PRICE),
    last: trade && trade.decimal("p"),
    change: null,
    pctChange: null,
    quotedAt,
    tradedAt,
    extended: {
      ...NO_QUOTE.extended,
      bidSize: book && book.integer("bs"),
      askSize: book && book.integer("as"),
      open: today && today.decimal("o"),
      high: today && today.decimal("h"),
      low: today && today.decimal("l"),
      volume: today && today.integer("v"),
      previousClose: previous && previous.decimal("c"),
      ...(greeks && {
        delta: greeks.decimal("delta", "delta"),
        gamma: greeks.decimal("gamma", "gamma"),
        theta: greeks.decimal("theta", "theta"),
        vega: greeks.decimal("vega", "vega"),
        rho: greeks.decimal("rho", "rho"),
      }),
      impliedVolatility: isOption
        ? fields.decimalBut("impliedVolatility", isZero, "impliedVolatility")
        : null,
    },
  };
}

/** On the day of expiration the greeks are five zeros without a volatility: they could not be reckoned. */
function greeksIn(fields: JsonFields): JsonFields | null {
  const greeks = fields.object("greeks");
  const areZeros = GREEKS.every((name) => isZero(textOf(greeks?.value(name)) ?? "0"));
  return areZeros && isZero(fields.text("impliedVolatility") ?? "0") ? null : greeks;
}

/**
 * `dailyBar` is the last daily bar: today's only if its date, which is midnight in New York, is the quote's or, where trades went on
 * without quotes, a later one. Otherwise there is none of today, and its close is the previous one.
 *
 * @param todayAt of the quote, or of the answer where nobody quotes
 */
function barsOf(
  fields: JsonFields,
  todayAt: Instant | null,
): { today: JsonFields | null; previous: JsonFields | null } {
  const last = fields.object("dailyBar");
  const at = last && last.rfcTime("t");
  if (last === null || at === null || todayAt === null) return { today: null, previous: null };
  const isToday = exchangeDate(dateOf(at)) >= exchangeDate(dateOf(todayAt));
  return isToday ? { today: last, previous: fields.object("prevDailyBar") } : { today: null, previous: last };
}

/** The contracts of an underlying: their dates are its expirations, and they alone have the open interest, of the day before. */
function contractsIn(
  document: JsonObject,
  { underlying }: Extract<QuoteCall, { form: "expirations" }>,
): ReadDocument {
  const listed = valueAt(document, "option_contracts");
  if (!Array.isArray(listed)) throw refused(`it holds no option_contracts, but ${namesOf(document)}`);
  const contracts = (listed as readonly Json[]).map((one) => (isObject(one) ? one : {}));
  const dates = contracts.map((one) => {
    const date = textOf(valueAt(one, "expiration_date")) ?? "";
    return isDateText(date) ? date : null;
  });
  const token = tokenIn(document);
  return {
    ...plainDocument([], [...new Set(dates)].sort()),
    interests: contracts.flatMap((one) => interestOf(one, underlying)),
    ...(token !== null && { nextPage: token }),
  };
}

/** Numbers are text here, and null where nobody holds the contract or its count is not known. */
function interestOf(contract: JsonObject, underlying: string): InstrumentQuote[] {
  const [symbol = "", openInterest = "", date = ""] = ["symbol", "open_interest", "open_interest_date"].map(
    (name) => textOf(valueAt(contract, name)) ?? "",
  );
  const parsed = parseOccSymbol(symbol);
  if (parsed === null || !/^\d{1,18}$/.test(openInterest) || !isDateText(date)) return [];
  const extended = { ...NO_QUOTE.extended, openInterest, openInterestDate: date };
  const item = unknownQuote(option({ ...parsed, ...withRoot(underlying, rootIn(symbol)) }));
  return [{ ...item, quote: { ...NO_QUOTE, extended }, unknownSymbol: false }];
}

function rootIn(occ: string): string {
  return occ.slice(0, -"yymmddC00000000".length);
}

/** From what was asked to the instruments of the answer. */
import { instrumentName, option, security, type InstrumentKey } from "../market/instrument.ts";
import { parseOccSymbol } from "../market/occ.ts";
import type { InstrumentQuote } from "../quotes-api/document.ts";
import { DELAYED_DEFAULT, type QuoteRequest } from "../quotes-api/parseRequest.ts";
import { type Asked, DELAY_MS, type QuoteSource } from "./source.ts";

/**
 * Assumed: a longer list of symbols is refused with 400. It is the largest list that clients of the live service
 * report (field notes, "Requests"); a request line that is too long is another matter, and a 414.
 */
export const MAX_SYMBOLS = 325;

/** The instruments in the order asked, each once; or the HTTP status and the reason of a refusal. */
export type QuotesAnswer =
  { ok: true; instruments: readonly InstrumentQuote[] } | { ok: false; problem: string };

/** Answers a request with the quotes of the moment it came. */
export async function answerQuotes(
  source: QuoteSource,
  request: QuoteRequest,
  asked: Asked,
): Promise<QuotesAnswer> {
  const keys = await askedKeys(source, request);
  if (!Array.isArray(keys)) return keys;
  const distinct = [...new Map(keys.map((key) => [instrumentName(key), key])).values()];
  return { ok: true, instruments: await quotesOf(source, distinct, asked) };
}

function quotesOf(
  source: QuoteSource,
  keys: readonly InstrumentKey[],
  asked: Asked,
): readonly InstrumentQuote[] | Promise<readonly InstrumentQuote[]> {
  if (source.quotes) return source.quotes(keys, asked);
  const delayMs = (asked.delayed ?? DELAYED_DEFAULT) ? DELAY_MS : 0;
  const at = new Date(asked.now.getTime() - delayMs);
  return Promise.all(keys.map((key) => source.quote(key, at)));
}

/**
 * Assumed: a list of one name is a watchlist when the source has one of that id, for the specification folds
 * watchlists into `symbols`; and an unknown watchlist is refused with 400.
 */
async function askedKeys(
  source: QuoteSource,
  request: QuoteRequest,
): Promise<InstrumentKey[] | Extract<QuotesAnswer, { ok: false }>> {
  if (request.kind === "option") return [option(request.contract)];
  if (request.kind === "watchlist") {
    const members = await source.watchlist(request.watchlist);
    if (members) return members.map(keyOfMember);
    return { ok: false, problem: `the watchlist "${request.watchlist}" is not known` };
  }
  const { symbols } = request;
  if (symbols.length > MAX_SYMBOLS) {
    return {
      ok: false,
      problem: `${symbols.length} symbols exceed the ${MAX_SYMBOLS} of one call`,
    };
  }
  const [only = ""] = symbols;
  const members = symbols.length === 1 ? await source.watchlist(only) : null;
  return members ? members.map(keyOfMember) : symbols.map(keyOfSymbol);
}

const CONTRACT = /^([^:]+):(\d{4}-\d\d-\d\d):(CALL|PUT):(\d+(?:\.\d+)?)$/;

/** A member of a watchlist: a symbol, or an option contract as `AAPL:2026-12-18:CALL:150`. */
function keyOfMember(member: string): InstrumentKey {
  const [, underlying, expiration, optionType, strike] = CONTRACT.exec(member) ?? [];
  if (underlying === undefined || expiration === undefined || strike === undefined)
    return keyOfSymbol(member);
  return option({ underlying, expiration, optionType: optionType === "PUT" ? "PUT" : "CALL", strike });
}

/** Assumed: an OCC option symbol in a list is answered as that option (field notes: seen once, unproven). */
function keyOfSymbol(symbol: string): InstrumentKey {
  const contract = parseOccSymbol(symbol);
  return contract ? option(contract) : security(symbol);
}

/** From what was asked to the instruments of the answer. */
import { instrumentName, option, type InstrumentKey } from "../market/instrument.ts";
import type { InstrumentQuote } from "../quotes-api/document.ts";
import { DELAYED_DEFAULT, type QuoteRequest } from "../quotes-api/parseRequest.ts";
import { keyOfSymbol } from "../quotes-api/request.ts";
import { type Asked, DELAY_MS, type QuoteSource } from "./source.ts";

/**
 * Assumed: a longer list of symbols is refused with 400. It is the largest list that clients of the live service
 * report (field notes, "Requests"); a request line that is too long is another matter, and a 414.
 */
const MAX_SYMBOLS = 325;

/** What a request wants of a source, whatever the source and the moment. */
export type Wanted = {
  /** The watchlist that is meant, or may be when `keys` are not known; null: none is. */
  watchlist: string | null;
  /** The instruments that are meant, in the order asked, each once; null: the watchlist or nothing. */
  keys: readonly InstrumentKey[] | null;
};

/**
 * Reads what a request wants; a text says why it is refused.
 *
 * Assumed: a list of one name is a watchlist when the source has one of that id and knows no symbol of that name, for the
 * specification folds watchlists into `symbols`; and an unknown watchlist is refused with 400.
 */
export function wantedBy(request: QuoteRequest): Wanted | string {
  if (request.kind === "option") return { watchlist: null, keys: [option(request.contract)] };
  if (request.kind === "watchlist") return { watchlist: request.watchlist, keys: null };
  const { symbols } = request;
  if (symbols.length > MAX_SYMBOLS) return `${symbols.length} symbols exceed the ${MAX_SYMBOLS} of one call`;
  const [only = null] = symbols;
  return { watchlist: symbols.length === 1 ? only : null, keys: eachOnce(symbols.map(keyOfSymbol)) };
}

/** The instruments of an answer, or why it is refused. */
export type Quotes = readonly InstrumentQuote[] | string;

/**
 * The quotes of what is wanted. Only a source that has to be waited for makes a promise of them: to wait for what is
 * there would cost more than to look it up.
 *
 * @param asked when, and which
 */
export function answerQuotes(source: QuoteSource, wanted: Wanted, asked: Asked): Quotes | Promise<Quotes> {
  const { watchlist, keys } = wanted;
  const answer = (members: readonly string[] | null): Quotes | Promise<Quotes> => {
    const found = keys && quotesOf(source, keys, asked);
    if (!members) return found ?? `the watchlist "${watchlist ?? ""}" is not known`;
    const ofMembers = () => quotesOf(source, eachOnce(members.map(keyOfMember)), asked);
    // A watchlist that is named like a symbol does not stand before it: `watchlist=` asks for that one.
    const choose = (quotes: readonly InstrumentQuote[]) =>
      quotes.every(({ unknownSymbol }) => unknownSymbol === true) ? ofMembers() : quotes;
    if (!found) return ofMembers();
    return found instanceof Promise ? found.then(choose) : choose(found);
  };
  const members = watchlist === null ? null : source.watchlist(watchlist);
  return members instanceof Promise ? members.then(answer) : answer(members);
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

/** In the order of each one's first place; the same instrument may have been asked for in two ways. */
function eachOnce(keys: readonly InstrumentKey[]): readonly InstrumentKey[] {
  return [...new Map(keys.map((key) => [instrumentName(key), key])).values()];
}

const CONTRACT = /^([^:]+):(\d{4}-\d\d-\d\d):(CALL|PUT):(\d+(?:\.\d+)?)$/;

/** A member of a watchlist: a symbol, or an option contract as `AAPL:2026-12-18:CALL:150`. */
function keyOfMember(member: string): InstrumentKey {
  const [, underlying, expiration, optionType, strike] = CONTRACT.exec(member) ?? [];
  if (underlying === undefined || expiration === undefined || strike === undefined)
    return keyOfSymbol(member);
  return option({ underlying, expiration, optionType: optionType === "PUT" ? "PUT" : "CALL", strike });
}

/** From what a request asks for to the quotes of the answer. */
import {
  inCapitals,
  instrumentName,
  type InstrumentKey,
  option,
  readContractName,
  security,
} from "../market/instrument.ts";
import type { InstrumentQuote } from "../quotes/document.ts";
import type { QuoteRequest } from "../services/reference/parseRequest.ts";
import { keyOfSymbol } from "../quotes/call.ts";
import type { QuoteSource, SourceQuestion } from "./source.ts";

/**
 * Assumed: a longer list of symbols is refused with 400. It is the largest list that clients of the live service
 * report (field notes, "Requests"); a request line that is too long is another matter, and a 414.
 */
const MAX_SYMBOLS = 325;

export type RequestedQuotes = {
  /** The watchlist; with `keys`, the one to answer from if no key is known; null: none. */
  watchlist: string | null;
  /** The instruments in the order asked, each once; null: only a watchlist is wanted. */
  keys: readonly InstrumentKey[] | null;
};

/**
 * Reads what a request wants; a text is the reason of a refusal. Symbols stay as asked: a source reads `aapl` as AAPL.
 *
 * Assumed: a list of one name is a watchlist when the source has one of that id and knows no symbol of that name, for the
 * specification folds watchlists into `symbols`; and an unknown watchlist is refused with 400.
 */
export function wantedBy(request: QuoteRequest): RequestedQuotes | string {
  if (request.kind === "option") return { watchlist: null, keys: [option(request.contract)] };
  if (request.kind === "watchlist") return { watchlist: request.watchlist, keys: null };
  const { symbols } = request;
  if (symbols.length > MAX_SYMBOLS) return `${symbols.length} symbols exceed the ${MAX_SYMBOLS} of one call`;
  const [only = null] = symbols;
  return { watchlist: symbols.length === 1 ? only : null, keys: eachOnce(symbols.map(keyOf)) };
}

/** The quotes of an answer, or the reason of a refusal. */
export type Quotes = readonly InstrumentQuote[] | string;

/**
 * The wanted quotes; a promise only if the source returns one, because awaiting a value costs more than looking it up.
 */
export function answerQuotes(
  source: QuoteSource,
  wanted: RequestedQuotes,
  asked: SourceQuestion,
): Quotes | Promise<Quotes> {
  const { watchlist, keys } = wanted;
  const answer = (members: readonly string[] | null): Quotes | Promise<Quotes> => {
    const found = keys && source.quotes(keys, asked);
    if (!members) return found ?? `the watchlist "${watchlist ?? ""}" is not known`;
    const ofMembers = () => source.quotes(eachOnce(members.map(keyOfMember)), asked);
    // A symbol goes before a watchlist of the same name; `watchlist=` asks for the watchlist.
    const choose = (quotes: readonly InstrumentQuote[]) =>
      quotes.every(({ unknownSymbol }) => unknownSymbol === true) ? ofMembers() : quotes;
    if (!found) return ofMembers();
    return found instanceof Promise ? found.then(choose) : choose(found);
  };
  const members = watchlist === null ? null : source.watchlist(watchlist);
  return members instanceof Promise ? members.then(answer) : answer(members);
}

/** Each instrument once, in the order of first places: a request may name an instrument in two ways. */
function eachOnce(keys: readonly InstrumentKey[]): readonly InstrumentKey[] {
  return [...new Map(keys.map((key) => [inCapitals(instrumentName(key)), key])).values()];
}

function keyOf(symbol: string): InstrumentKey {
  const key = keyOfSymbol(inCapitals(symbol));
  return key.kind === "option" ? key : security(symbol);
}

/** A member of a watchlist: a symbol, or an option contract as `AAPL:2026-12-18:CALL:150`. */
function keyOfMember(member: string): InstrumentKey {
  const contract = readContractName(member);
  return typeof contract === "string" ? keyOf(member) : option(contract);
}

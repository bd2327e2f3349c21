/** From what was asked to the instruments of the answer. */
import { instrumentName, option, security, type InstrumentKey } from "../market/instrument.ts";
import { parseOccSymbol } from "../market/occ.ts";
import type { InstrumentQuote } from "../quotes-api/document.ts";
import type { QuoteRequest } from "../quotes-api/parseRequest.ts";
import type { QuoteSource } from "./source.ts";

/**
 * Assumed: a longer list of symbols is refused with 414. It is the largest list that clients of the live service
 * report (field notes, "Requests").
 */
export const MAX_SYMBOLS = 325;

/** The instruments in the order asked, each once; or the HTTP status and the reason of a refusal. */
export type QuotesAnswer =
  { ok: true; instruments: InstrumentQuote[] } | { ok: false; status: 400 | 414; problem: string };

/** Answers a request with the quotes of an instant. */
export async function answerQuotes(
  source: QuoteSource,
  request: QuoteRequest,
  at: Date,
): Promise<QuotesAnswer> {
  const keys = await askedKeys(source, request);
  if (!Array.isArray(keys)) return keys;
  const distinct = [...new Map(keys.map((key) => [instrumentName(key), key])).values()];
  const instruments = await Promise.all(distinct.map((key) => source.quote(key, at)));
  return { ok: true, instruments };
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
    if (members) return members.map(keyOfSymbol);
    return { ok: false, status: 400, problem: `the watchlist "${request.watchlist}" is not known` };
  }
  const { symbols } = request;
  if (symbols.length > MAX_SYMBOLS) {
    return {
      ok: false,
      status: 414,
      problem: `${symbols.length} symbols exceed the ${MAX_SYMBOLS} of one call`,
    };
  }
  const [only = ""] = symbols;
  const members = symbols.length === 1 ? await source.watchlist(only) : null;
  return (members ?? symbols).map(keyOfSymbol);
}

/** Assumed: an OCC option symbol in a list is answered as that option (field notes: seen once, unproven). */
function keyOfSymbol(symbol: string): InstrumentKey {
  const contract = parseOccSymbol(symbol);
  return contract ? option(contract) : security(symbol);
}

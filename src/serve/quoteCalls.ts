/** GET /v1/market/quotes.xml for a call that was admitted: from its target to the answer. */
import type { Clock } from "../clock.ts";
import { splitTarget } from "../quotes-api/oauth/protocol.ts";
import { parseRequest, DELAYED_DEFAULT, type QuoteRequest } from "../quotes-api/parseRequest.ts";
import { writeDocument, writeDocumentBytes } from "../quotes-api/writeDocument.ts";
import type { Admission, Admitted, Answer } from "./admission.ts";
import { type Fail, sendFaulty, sendQuotes, setDate, setLimitHeaders, SOURCE_HEADER } from "./answers.ts";
import type { Fault } from "./faults/faults.ts";
import { type Faults, inFaultyOrder } from "./faults/edge.ts";
import { createTargetMemory } from "./authenticate.ts";
import { type QuoteSource, type Asked, DELAY_MS } from "./source.ts";
import { STATUS } from "./httpStatus.ts";
import {
  inCapitals,
  instrumentName,
  type InstrumentKey,
  option,
  readContractName,
  security,
} from "../market/instrument.ts";
import type { InstrumentQuote } from "../quotes-api/document.ts";
import { keyOfSymbol } from "../quotes-api/request.ts";

/**
 * Assumed: a token that may see only delayed quotes and asks for real-time ones is refused with 403 and told so. If it
 * got delayed quotes, they would be stored and traded on as real-time ones.
 */
export const REAL_TIME_REFUSED = 403;

const DELAYED_ONLY = "this token may see delayed quotes alone; ask with delayed=true";

/** Answers of more instruments than these go out as bytes. */
const MOST_AS_TEXT = 8;

/** What quotes are answered with. */
type QuoteCallOptions = {
  source: QuoteSource;
  clock: Pick<Clock, "now">;
  /** An id for each document. */
  newId: () => string;
  fail: Fail;
};

/** The quotes of a call, or the status and the reason of its refusal. */
type Outcome = Exclude<Quotes, string> | { status: number; problem: string };

/** What a target asks for: which quotes, and how it said `delayed`; or why it is refused. */
type AskedFor = { wanted: Wanted; delayedAsked: boolean | null } | string;

/** Makes the answer to calls of quotes. */
export function quotesAnswer({ source, clock, newId, fail }: QuoteCallOptions): Answer {
  const outcomeOf = outcomes(source, clock);
  const answer = ({ response, headers }: Admitted, outcome: Outcome): void => {
    if ("problem" in outcome) {
      setLimitHeaders(response, headers);
      return fail(response, outcome.status, outcome.problem);
    }
    // A short text leaves in one piece with its headers; a long one is not to be encoded once more.
    const write = outcome.length > MOST_AS_TEXT ? writeDocumentBytes : writeDocument;
    const xml = write({ id: newId(), instruments: outcome });
    sendQuotes(response, xml, { headers, sourceName: source.name, now: clock.now() });
  };
  return (call) => {
    const outcome = outcomeOf(call);
    return outcome instanceof Promise ? outcome.then((come) => answer(call, come)) : answer(call, outcome);
  };
}

/** The same with faults made on purpose. */
export function faultyQuotesAnswer(
  options: QuoteCallOptions,
  { faults, useUp }: { faults: Faults; useUp: Admission["useUp"] },
): Answer {
  const { source, clock, newId, fail } = options;
  const outcomeOf = outcomes(source, clock);
  return async (call) => {
    const { response, key, headers } = call;
    const fault: Fault = await faults.next();
    if (fault.kind === "429") return useUp(key, response);
    const outcome = await outcomeOf(call);
    if (response.headersSent) return;
    setDate(response, clock.now());
    setLimitHeaders(response, headers);
    if ("problem" in outcome) return fail(response, outcome.status, outcome.problem);
    response.setHeader(SOURCE_HEADER, source.name);
    const document = { id: newId(), instruments: inFaultyOrder(outcome, fault) };
    return sendFaulty(response, writeDocument(document), fault);
  };
}

/** What becomes of calls: a promise only when the source has to be waited for. */
function outcomes(
  source: QuoteSource,
  clock: Pick<Clock, "now">,
): (call: Admitted) => Outcome | Promise<Outcome> {
  const known = createTargetMemory<AskedFor>();
  const askedBy = (target: string): AskedFor => {
    const before = known.find(target);
    if (before !== undefined) return before;
    const asked = askedFor(target);
    known.keep(target, asked);
    return asked;
  };
  return ({ request, key }) => {
    const asked = askedBy(request.url ?? "");
    if (typeof asked === "string") return malformed(asked);
    const isDelayedOnly = key.access === "delayed";
    if (isDelayedOnly && asked.delayedAsked === false)
      return { status: REAL_TIME_REFUSED, problem: DELAYED_ONLY };
    const delayed = isDelayedOnly ? true : asked.delayedAsked;
    const quotes = answerQuotes(source, asked.wanted, { now: clock.now(), delayed });
    return quotes instanceof Promise ? quotes.then(outcomeOf) : outcomeOf(quotes);
  };
}

function askedFor(target: string): AskedFor {
  const parsed = parseRequest(splitTarget(target).query);
  if (!parsed.ok) return parsed.problem;
  const wanted = wantedBy(parsed.request);
  return typeof wanted === "string" ? wanted : { wanted, delayedAsked: parsed.delayedAsked };
}

function outcomeOf(quotes: Quotes): Outcome {
  return typeof quotes === "string" ? malformed(quotes) : quotes;
}

function malformed(problem: string): Outcome {
  return { status: STATUS.malformed, problem };
}

// From what was asked to the instruments of the answer.

/**
 * Assumed: a longer list of symbols is refused with 400. It is the largest list that clients of the live service
 * report (field notes, "Requests"); a request line that is too long is another matter, and a 414.
 */
const MAX_SYMBOLS = 325;

/** What a request wants of a source, whatever the source and the moment. */
type Wanted = {
  /** The watchlist that is meant, or may be when `keys` are not known; null: none is. */
  watchlist: string | null;
  /** The instruments that are meant, in the order asked, each once; null: the watchlist or nothing. */
  keys: readonly InstrumentKey[] | null;
};

/**
 * Reads what a request wants; a text says why it is refused. Symbols stay as they were asked: a source takes `aapl` for AAPL.
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
  return { watchlist: symbols.length === 1 ? only : null, keys: eachOnce(symbols.map(keyOf)) };
}

/** The instruments of an answer, or why it is refused. */
type Quotes = readonly InstrumentQuote[] | string;

/**
 * The quotes of what is wanted. Only a source that has to be waited for makes a promise of them: to wait for what is
 * there would cost more than to look it up.
 *
 * @param asked when, and which
 */
function answerQuotes(source: QuoteSource, wanted: Wanted, asked: Asked): Quotes | Promise<Quotes> {
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

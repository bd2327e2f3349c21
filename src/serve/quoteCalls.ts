/** Answers GET /v1/market/quotes.xml for an admitted call. */
import type { Clock } from "../ground/clock.ts";
import { remembered } from "../ground/remembered.ts";
import { splitTarget } from "../services/oauth/protocol.ts";
import { parseRequest } from "../services/reference/parseRequest.ts";
import { writeDocument } from "../services/reference/writeDocument.ts";
import type { Admission, AdmittedCall, Answer } from "./admission.ts";
import { type Fail, sendQuotes, setLimitHeaders } from "./answers.ts";
import type { QuoteSource } from "./source.ts";
import { STATUS } from "./httpStatus.ts";
import { answerQuotes, type Quotes, type RequestedQuotes, wantedBy } from "./wanted.ts";

/**
 * Assumed: a token that may see only delayed quotes and asks for real-time ones is refused with 403 and told so. If it
 * got delayed quotes, they would be stored and traded on as real-time ones.
 */
export const REAL_TIME_REFUSED = 403;

const DELAYED_ONLY = "this token may see delayed quotes alone; ask with delayed=true";

/** What answers of quotes are made of. */
export type AnswerParts = {
  source: QuoteSource;
  clock: Pick<Clock, "now">;
  newId: () => string;
  fail: Fail;
  outcomeOf: (call: AdmittedCall) => Outcome | Promise<Outcome>;
  /** Uses up the rest of a token's limit, and answers so. */
  useUp: Admission["useUp"];
};

type Outcome = Exclude<Quotes, string> | { status: number; problem: string };

/** What a target asks for: which quotes, and how it said `delayed`; or why it is refused. */
type AskedFor = { wanted: RequestedQuotes; delayedAsked: boolean | null } | string;

export function quotesAnswer({ source, clock, newId, fail, outcomeOf }: AnswerParts): Answer {
  const answer = ({ response, headers }: AdmittedCall, outcome: Outcome): void => {
    if ("problem" in outcome) {
      setLimitHeaders(response, headers);
      return fail(response, outcome.status, outcome.problem);
    }
    const xml = writeDocument({ id: newId(), instruments: outcome });
    sendQuotes(response, xml, { headers, sourceName: source.name, now: clock.now() });
  };
  return (call) => {
    const outcome = outcomeOf(call);
    return outcome instanceof Promise ? outcome.then((come) => answer(call, come)) : answer(call, outcome);
  };
}

/** A longer target, in characters, is not remembered; nor is one that is signed in its query: neither comes again. */
const LONGEST_REMEMBERED = 2_048;

/** The outcome of a call; a promise only if the source returns one. */
export function outcomes(source: QuoteSource, clock: Pick<Clock, "now">): AnswerParts["outcomeOf"] {
  // Callers ask for the same quotes each minute.
  const rememberedBy = remembered(1_000, askedFor);
  return ({ request, key }) => {
    const target = request.url ?? "";
    const comesAgain = target.length <= LONGEST_REMEMBERED && !target.includes("oauth_");
    const asked = comesAgain ? rememberedBy(target) : askedFor(target);
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

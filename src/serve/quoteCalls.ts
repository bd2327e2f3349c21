/** GET /v1/market/quotes.xml for a call that was admitted: from its target to the answer. */
import type { Clock } from "../clock.ts";
import { splitTarget } from "../quotes-api/oauth/protocol.ts";
import { parseRequest } from "../quotes-api/parseRequest.ts";
import { writeDocument, writeDocumentBytes } from "../quotes-api/writeDocument.ts";
import type { Admission, Admitted, Answer } from "./admission.ts";
import { answerQuotes, type Quotes, type Wanted, wantedBy } from "./answerQuotes.ts";
import { type Fail, sendFaulty, sendQuotes, setLimitHeaders, SOURCE_HEADER } from "./answers.ts";
import type { Fault } from "./faults/decide.ts";
import { type Faults, inFaultyOrder } from "./faults/edge.ts";
import { rememberedTargets } from "./remembered.ts";
import type { QuoteSource } from "./source.ts";
import { STATUS } from "./status.ts";

/**
 * Assumed: a token whose access level is delayed quotes alone, and which asks for real-time ones, is refused with 403
 * and told so. Delayed quotes in their place would be stored and traded on as real-time ones.
 */
export const REAL_TIME_REFUSED = 403;

const DELAYED_ONLY = "this token may see delayed quotes alone; ask with delayed=true";

/** Answers of more instruments than these go out as bytes. */
const MOST_AS_TEXT = 8;

/** What quotes are answered with. */
export type QuoteCallOptions = {
  source: QuoteSource;
  clock: Pick<Clock, "now">;
  /** An id for each document. */
  newId: () => string;
  fail: Fail;
};

/** The quotes of a call, or the status and the reason of its refusal. */
type Outcome = Exclude<Quotes, string> | { status: number; problem: string };

/** What a target asks for: which quotes, and how it said `delayed`; or why it is refused. */
type Asked = { wanted: Wanted; delayedAsked: boolean | null } | string;

/** Makes the answer to calls of quotes. */
export function quotesAnswer({ source, clock, newId, fail }: QuoteCallOptions): Answer {
  const outcomeOf = outcomes(source, clock);
  return async (call) => {
    const { reply, headers } = call;
    const outcome = await outcomeOf(call);
    if ("problem" in outcome) {
      setLimitHeaders(reply, headers);
      return fail(reply, outcome.status, outcome.problem);
    }
    // A short text leaves in one piece with its headers; a long one is not to be encoded once more.
    const write = outcome.length > MOST_AS_TEXT ? writeDocumentBytes : writeDocument;
    return sendQuotes(reply, write({ id: newId(), instruments: outcome }), headers, source.name);
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
    const { reply, key, headers } = call;
    const fault: Fault = await faults.next();
    if (fault.kind === "429") {
      useUp(key, reply);
      return reply;
    }
    const outcome = await outcomeOf(call);
    setLimitHeaders(reply, headers);
    if ("problem" in outcome) return fail(reply, outcome.status, outcome.problem);
    reply.raw.setHeader(SOURCE_HEADER, source.name);
    // What is written past fastify passes no hook of its own.
    if (fault.kind?.startsWith("truncate-")) faults.skewHeaders(reply);
    const document = { id: newId(), instruments: inFaultyOrder(outcome, fault) };
    return sendFaulty(reply, writeDocument(document), fault);
  };
}

/** What becomes of calls: a promise only when the source has to be waited for. */
function outcomes(
  source: QuoteSource,
  clock: Pick<Clock, "now">,
): (call: Admitted) => Outcome | Promise<Outcome> {
  const askedBy = rememberedTargets((target): Asked => {
    const parsed = parseRequest(splitTarget(target).query);
    if (!parsed.ok) return parsed.problem;
    const wanted = wantedBy(parsed.request);
    return typeof wanted === "string" ? wanted : { wanted, delayedAsked: parsed.delayedAsked };
  });
  return ({ request, key }) => {
    const asked = askedBy(request.raw.url ?? "");
    if (typeof asked === "string") return malformed(asked);
    const isDelayedOnly = key.access === "delayed";
    if (isDelayedOnly && asked.delayedAsked === false)
      return { status: REAL_TIME_REFUSED, problem: DELAYED_ONLY };
    const delayed = isDelayedOnly ? true : asked.delayedAsked;
    const quotes = answerQuotes(source, asked.wanted, { now: clock.now(), delayed });
    return quotes instanceof Promise ? quotes.then(outcomeOf) : outcomeOf(quotes);
  };
}

function outcomeOf(quotes: Quotes): Outcome {
  return typeof quotes === "string" ? malformed(quotes) : quotes;
}

function malformed(problem: string): Outcome {
  return { status: STATUS.malformed, problem };
}

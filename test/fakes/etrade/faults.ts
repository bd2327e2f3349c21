/** What E*TRADE answers in place of quotes. */
import { CONNECTION_FAULTS, type FaultAnswer } from "../faultRules.ts";
import { answerOf, type Form, HTML_TYPE, Problem, problemAnswer, refusal, tomcatPage } from "./wire.ts";

/** How far a timestamp may be from the service's clock, seconds (apisb.etrade.com, authorization). */
export const TIMESTAMP_WINDOW_SECONDS = 300;

/** The words of the rate limit (us.etrade.com, version 0); clients of version 1 know them in JSON. */
export const OVER_LIMIT = "Number of requests exceeded the rate limit set";

/** A call that is not signed as it must be. Status and forms: pyetrade's issues 5, 16, 38, 52, 55; wetrade. */
export function oauthProblem(problem: string, form: Form): FaultAnswer {
  return refusal(401, `oauth_problem=${problem}`, form);
}

/** pyetrade issue 16: the answer names the range. @param nowSeconds the service's clock */
export function timestampRefused(nowSeconds: number): string {
  const [from, to] = [nowSeconds - TIMESTAMP_WINDOW_SECONDS, nowSeconds + TIMESTAMP_WINDOW_SECONDS];
  return `timestamp_refused,oauth_acceptable_timestamps=${from}-${to}`;
}

/** Assumed: a missing parameter is told as it is where a right request meets this fault. */
export function parameterAbsent(name: string): string {
  return `parameter_absent,oauth_parameters_absent=${name}`;
}

/** Where a call meets a fault. */
type Met = { form: Form; nowSeconds: number };

/** Faults that are whole answers. */
const ANSWERS = {
  /** Around the open and the close. pyetrade issue 84. */
  tomcat500: () => tomcatPage(500, "Internal Server Error"),
  /** Words: api-evangelist's list of errors. */
  maintenance500: ({ form }) =>
    problemAnswer(
      new Problem(
        500,
        100,
        "The requested service is not currently available. This may be because of the overnight system maintenance.",
      ),
      form,
    ),
  /** Now and then for a right request, to be repeated at once. */
  nonceAbsent: ({ form }) => oauthProblem(parameterAbsent("oauth_nonce"), form),
  /** Nothing, with 200. */
  empty: ({ form }) => ({ ...answerOf({}, form), body: "" }),
  tokenExpired: ({ form }) => oauthProblem("token_expired", form),
  tokenRejected: ({ form }) => oauthProblem("token_rejected", form),
  consumerKeyRejected: ({ form }) => oauthProblem("consumer_key_rejected", form),
  signatureInvalid: ({ form }) => oauthProblem("signature_invalid", form),
  timestampRefused: ({ form, nowSeconds }) => oauthProblem(timestampRefused(nowSeconds), form),
  rateLimitHtml: () => tomcatPage(400, OVER_LIMIT),
  rateLimitJson: () => problemAnswer(new Problem(400, null, OVER_LIMIT), "json"),
  /** A page for people, with 200. Assumed: as other services do in maintenance. */
  html200: () => ({
    status: 200,
    type: HTML_TYPE,
    body: "<!DOCTYPE html>\n<html><head><title>Market data</title></head><body><h1>We will be back</h1></body></html>\n",
  }),
} as const satisfies Record<string, (met: Met) => FaultAnswer>;

export type FaultName = keyof typeof ANSWERS | (typeof CONNECTION_FAULTS)[number];

export const FAULT_NAMES: readonly FaultName[] = [
  ...(Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]),
  ...CONNECTION_FAULTS,
];

/** The answer of a fault; null where the connection is at fault, or nothing. */
export function faultAnswer(fault: FaultName | null, met: Met): FaultAnswer | null {
  return fault !== null && fault in ANSWERS ? ANSWERS[fault as keyof typeof ANSWERS](met) : null;
}

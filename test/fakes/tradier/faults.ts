/** What Tradier answers in place of quotes. */
import { CONNECTION_FAULTS, type FaultAnswer } from "../faultRules.ts";
import { JSON_TYPE, XML_TYPE } from "./wire.ts";

/** The body of a fault of the gateway, Apigee. */
function faultBody(faultstring: string, errorcode: string): string {
  return JSON.stringify({ fault: { faultstring, detail: { errorcode } } });
}

const json = (status: number, faultstring: string, errorcode: string): FaultAnswer => ({
  status,
  type: JSON_TYPE,
  body: faultBody(faultstring, errorcode),
});

/** QuantConnect/Lean.Brokerages.Tradier, TradierBrokerageAditionalTests.cs: words, codes and the 401 and 500. */
export const INVALID_TOKEN = json(401, "Invalid Access Token", "keymanagement.service.invalid_access_token");
export const EXPIRED_TOKEN = json(500, "Access Token expired", "keymanagement.service.access_token_expired");

/**
 * A token of production at the sandbox, or the other way round: the words are clients'.
 *
 * Assumed: the code is the one that Apigee gives with these words.
 */
export const OTHER_ENVIRONMENT = json(
  401,
  "Invalid API call as no apiproduct match found",
  "keymanagement.service.InvalidAPICallAsNoApiProductMatchFound",
);

/**
 * Over the limit.
 *
 * Assumed: Tradier answers as its gateway's quota policy does elsewhere, where the status was 429, 500 or 403. The
 * documentation says 429 and shows no body.
 */
export const OVER_LIMIT = json(
  429,
  "Rate limit quota violation. Quota limit  exceeded. Identifier : fake",
  "policies.ratelimit.QuotaViolation",
);

/** Faults that are whole answers. */
const ANSWERS = {
  /** Transient. Lean.Brokerages.Tradier issue 51. Assumed: the status, which the issue does not say. */
  datastore: json(500, "Datastore Error", "steps.servicecallout.ExecutionFailed"),
  /** XML to a client that asked for JSON. Lean.Brokerages.Tradier issue 14. */
  gatewayTimeout: {
    status: 504,
    type: XML_TYPE,
    body: "<fault><faultstring>Gateway Timeout</faultstring><detail><errorcode>messaging.adaptors.http.flow.GatewayTimeout</errorcode></detail></fault>",
  },
  /** A page for people, with 200. Lean.Brokerages.Tradier issue 45. */
  htmlPage: {
    status: 200,
    type: "text/html;charset=UTF-8",
    body: "<!DOCTYPE html>\n<html><head><title>Brokerage API</title></head><body><h1>We will be back</h1></body></html>\n",
  },
  /** Nothing, with 200. Assumed: as other services behind such gateways do. */
  empty: { status: 200, type: JSON_TYPE, body: "" },
} as const satisfies Record<string, FaultAnswer>;

export type FaultName = keyof typeof ANSWERS | (typeof CONNECTION_FAULTS)[number];

export const FAULT_NAMES: readonly FaultName[] = [
  ...(Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]),
  ...CONNECTION_FAULTS,
];

/** The answer of a fault; null where the connection is at fault, or nothing. */
export function faultAnswer(fault: FaultName | null): FaultAnswer | null {
  return fault !== null && fault in ANSWERS ? ANSWERS[fault as keyof typeof ANSWERS] : null;
}

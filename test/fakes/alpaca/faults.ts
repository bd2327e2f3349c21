/** What Alpaca answers in place of quotes: words and statuses of its specification, of its clients' tests and of published probes. */
import { CONNECTION_FAULTS, type FaultAnswer } from "../faultRules.ts";

export const JSON_TYPE = "application/json; charset=UTF-8";

export type Host = "data" | "trading";

function json(status: number, body: unknown): FaultAnswer {
  return { status, type: JSON_TYPE, body: JSON.stringify(body) };
}

/** A page of the proxy before the data host, nginx (alpacahq/alpaca-trade-api-go#276). */
function page(status: number, title: string): FaultAnswer {
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`;
  return { status, type: "text/html", body };
}

/** The data host's errors have a message alone; those of the trading host a code as well. */
export function problem(status: number, message: string, code?: number): FaultAnswer {
  return json(status, code === undefined ? { message } : { code, message });
}

/** Headers missing. */
export const NO_KEYS: Readonly<Record<Host, FaultAnswer>> = {
  data: page(403, "403 Forbidden"),
  trading: problem(401, "request is not authorized", 40_110_000),
};

/** A key that is none, or at the trading host one of the other environment. */
export const WRONG_KEYS: Readonly<Record<Host, FaultAnswer>> = {
  data: problem(403, "forbidden."),
  trading: problem(401, "request is not authorized", 40_110_000),
};

export const NO_SIP = problem(403, "subscription does not permit querying recent SIP data");
export const NO_OPRA = problem(403, "OPRA agreement is not signed");
export const NO_ENDPOINT = problem(404, "endpoint not found");

/** Assumed: the data host's words are those of a client's test, the trading host's those of alpaca-trade-api-csharp#416. */
export const OVER_LIMIT: Readonly<Record<Host, FaultAnswer>> = {
  data: problem(429, "too many requests."),
  trading: problem(429, "rate limit exceeded", 42_910_000),
};

/** Faults on purpose that are whole answers. */
const ANSWERS = {
  serverError: problem(500, "internal server error"),
  badGateway: page(502, "502 Bad Gateway"),
  gatewayTimeout: page(504, "504 Gateway Time-out"),
  /** Assumed: one client guards against it. */
  maintenance: { status: 200, type: "text/html", body: "<html><body>maintenance</body></html>" },
  forbiddenPage: NO_KEYS.data,
  unauthorizedPage: page(401, "401 Authorization Required"),
  grants: problem(403, "forbidden: insufficient grants"),
  noSip: NO_SIP,
  /** The same with another status (FAQ: code 42210000). */
  noSip422: problem(422, "subscription does not permit querying recent SIP data", 42_210_000),
  tooMany: OVER_LIMIT.data,
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

/** The three calls that the fake answers, and what is wrong with a call (documentation.tradier.com, market data). */
import { isDateText } from "../../../src/market/calendar/dates.ts";
import type { Document } from "../wire.ts";
import type { Answers } from "./answers.ts";

/** What is wrong with a call, in place of an answer. */
export class Problem {
  readonly status: number;
  readonly words: string;
  constructor(status: number, words: string) {
    this.status = status;
    this.words = words;
  }
}

type Call = { method: string; path: string; fields: URLSearchParams };
type Answering = (fields: URLSearchParams, answers: Answers, at: Date) => Document | Problem;

const QUOTES = "/v1/markets/quotes";

const ROUTES: ReadonlyMap<string, Answering> = new Map([
  [QUOTES, quotes],
  ["/v1/markets/options/chains", chain],
  ["/v1/markets/options/expirations", expirations],
]);

/**
 * Assumed: words and statuses of problems, but that a 400 is one.
 *
 * @param at of the quotes
 */
export function route({ method, path, fields }: Call, answers: Answers, at: Date): Document | Problem {
  const answering = ROUTES.get(path);
  if (!answering) return new Problem(404, "Not Found");
  if (method !== "GET" && !(method === "POST" && path === QUOTES))
    return new Problem(405, "Method Not Allowed");
  return answering(fields, answers, at);
}

function quotes(fields: URLSearchParams, answers: Answers, at: Date): Document | Problem {
  const symbols = (fields.get("symbols") ?? "").split(",").filter(Boolean);
  if (symbols.length === 0) return missing("symbols");
  return answers.quotes(symbols, { greeks: isTrue(fields, "greeks"), at });
}

function chain(fields: URLSearchParams, answers: Answers, at: Date): Document | Problem {
  const symbol = fields.get("symbol");
  const expiration = fields.get("expiration") ?? "";
  if (!symbol) return missing("symbol");
  if (!isDateText(expiration)) return missing("expiration");
  return answers.chain(symbol, { expiration, greeks: isTrue(fields, "greeks"), at });
}

function expirations(fields: URLSearchParams, answers: Answers, at: Date): Document | Problem {
  const symbol = fields.get("symbol");
  if (!symbol) return missing("symbol");
  return answers.expirations(symbol, {
    includeAllRoots: isTrue(fields, "includeAllRoots"),
    strikes: isTrue(fields, "strikes"),
    contractSize: isTrue(fields, "contractSize"),
    expirationType: isTrue(fields, "expirationType"),
    at,
  });
}

function isTrue(fields: URLSearchParams, name: string): boolean {
  return fields.get(name) === "true";
}

function missing(name: string): Problem {
  return new Problem(400, `Invalid parameter, ${name}: cannot be null or empty.`);
}

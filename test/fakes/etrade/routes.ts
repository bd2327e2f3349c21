/** The three calls of the Market module that the fake answers, and what is wrong with a call (apisb.etrade.com, market). */
import { isDateText } from "../../../src/market/calendar/dates.ts";
import type { Document } from "../wire.ts";
import type { Answers, DetailFlag } from "./answers.ts";
import { Problem } from "./wire.ts";

export const QUOTE_PATH = "/v1/market/quote/";
const CHAINS_PATH = "/v1/market/optionchains";
const EXPIRATIONS_PATH = "/v1/market/optionexpiredate";

/** Symbols in a list, and with `overrideSymbolCount=true`. */
const MOST_SYMBOLS = 25;
const MOST_OVERRIDDEN = 50;

/** 10043 of the stored table of errors. */
const MISSING = 10_043;

/** Assumed: the code, and that a longer list is refused and not cut. */
const TOO_MANY = 10_045;

/** @param path without `.json`, as it was sent */
export type MarketCall = { method: string; path: string; query: URLSearchParams };

/** The symbols of a quote's path, or the one of a chain; none of a path that cannot be decoded. */
export function symbolsOf({ path, query }: MarketCall): string[] {
  if (!path.startsWith(QUOTE_PATH)) return [query.get("symbol") ?? ""].filter(Boolean);
  try {
    return decodeURIComponent(path.slice(QUOTE_PATH.length)).split(",").filter(Boolean);
  } catch {
    return [];
  }
}

/** The expiration that a chain is asked for, `YYYY-MM-DD`; null: none. */
export function dateOf({ path, query }: MarketCall): string | null {
  const part = (name: string, length: number): string => (query.get(name) ?? "").padStart(length, "0");
  const date = [part("expiryYear", 4), part("expiryMonth", 2), part("expiryDay", 2)].join("-");
  return path === CHAINS_PATH && date !== "0000-00-00" ? date : null;
}

/** Assumed: statuses of problems, and their words. */
export function route(call: MarketCall, answers: Answers, at: Date): Document | Problem {
  if (call.method !== "GET") return new Problem(405, null, "Method Not Allowed");
  if (call.path.startsWith(QUOTE_PATH)) return quotes(call, answers, at);
  if (call.path === CHAINS_PATH) return chain(call, answers, at);
  if (call.path === EXPIRATIONS_PATH) return expirations(call, answers, at);
  return new Problem(404, null, "Not Found");
}

function quotes(call: MarketCall, answers: Answers, at: Date): Document | Problem {
  const { query } = call;
  const symbols = symbolsOf(call);
  if (symbols.length === 0) return missing("symbol");
  const most = query.get("overrideSymbolCount") === "true" ? MOST_OVERRIDDEN : MOST_SYMBOLS;
  if (symbols.length > most) return new Problem(400, TOO_MANY, `The list has more than ${most} symbols`);
  // A client writes it in small letters, and it works.
  const detail = query.get("detailFlag") ?? query.get("detailflag") ?? "ALL";
  if (!isDetailFlag(detail)) return new Problem(400, null, `The fake has no detailFlag ${detail}`);
  return answers.quotes(symbols, { detail, at });
}

function isDetailFlag(text: string): text is DetailFlag {
  return text === "ALL" || text === "OPTIONS";
}

function chain(call: MarketCall, answers: Answers, at: Date): Document | Problem {
  const { query } = call;
  const symbol = query.get("symbol");
  if (!symbol) return missing("symbol");
  const date = dateOf(call);
  if (date !== null && !isDateText(date)) return new Problem(400, null, "The expiration is no date");
  const type = query.get("chainType") ?? "CALLPUT";
  const count = query.get("noOfStrikes");
  const near = query.get("strikePriceNear");
  return answers.chain(symbol, {
    date,
    includeWeekly: query.get("includeWeekly") === "true",
    isMini: query.get("optionCategory") === "MINI",
    sides: type === "CALL" ? ["Call"] : type === "PUT" ? ["Put"] : ["Call", "Put"],
    noOfStrikes: count === null ? null : Number(count),
    near: near === null ? null : Number(near),
    at,
  });
}

function expirations({ query }: MarketCall, answers: Answers, at: Date): Document | Problem {
  const symbol = query.get("symbol");
  if (!symbol) return missing("symbol");
  return answers.expirations(symbol, { type: query.get("expiryType") ?? "ALL", at });
}

function missing(name: string): Problem {
  return new Problem(400, MISSING, `The parameter ${name} is missing`);
}

/** The service's side of a quotes call: what the query of GET /v1/market/quotes.xml asks for. */
import { isStrike, plainStrike, type OptionContract } from "../../market/instrument.ts";
import { parseQuery } from "../oauth/parameters.ts";
import { isProtocol } from "../oauth/protocol.ts";
import { isDateText } from "../../market/calendar/dates.ts";
import { cutText } from "../../ground/outsideText.ts";

/** `symbols` may be the id of a watchlist: only the source knows. */
export type QuoteRequest =
  | { kind: "symbols"; symbols: string[] }
  | { kind: "watchlist"; watchlist: string }
  | { kind: "option"; contract: OptionContract };

/** The problem is in words for the caller (HTTP 400). */
type ParsedRequest =
  | {
      ok: true;
      request: QuoteRequest;
      delayed: boolean;
      /** Null when `delayed` was not given. */
      delayedAsked: boolean | null;
    }
  | { ok: false; problem: string };

/** Assumed: without `delayed` the quotes are delayed ones, which every access level allows. */
export const DELAYED_DEFAULT = true;

/**
 * Assumed: a symbol or a watchlist id is up to 64 printable characters. Longer ones and control characters name
 * nothing, and the latter could not be repeated in XML.
 */
const NAME = /^[\p{L}\p{N}\p{P}\p{S} ]{1,64}$/u;

/** The names in nearly all calls, matched without tables of Unicode. */
const PLAIN_NAME = /^[A-Za-z0-9._-]{1,64}$/;

const isName = (text: string): boolean => PLAIN_NAME.test(text) || NAME.test(text);

const OPTION_FORM = ["underlying", "expiration", "type", "strike"] as const;
const KNOWN: ReadonlySet<string> = new Set(["symbols", "watchlist", "delayed", ...OPTION_FORM]);

/**
 * Reads the query.
 *
 * Assumed: a parameter that is unknown or given twice, and both forms in one call, are refused rather than guessed
 * at. `watchlist` beside `symbols` wins (field notes, "Requests").
 *
 * @param query the raw text after `?`, still percent-encoded
 */
export function parseRequest(query: string): ParsedRequest {
  const read = readParameters(query);
  if (typeof read === "string") return problem(read);
  const delayed = read.get("delayed");
  if (delayed !== undefined && delayed !== "true" && delayed !== "false") {
    return problem("delayed must be true or false");
  }
  const request = readSelector(read);
  if (typeof request === "string") return problem(request);
  const delayedAsked = delayed === undefined ? null : delayed === "true";
  return { ok: true, request, delayed: delayedAsked ?? DELAYED_DEFAULT, delayedAsked };
}

function readParameters(query: string): Map<string, string> | string {
  const parameters = new Map<string, string>();
  const all = parseQuery(query);
  if (all === null) return "the query is not percent-encoded UTF-8";
  for (const [name, value] of all) {
    // The call's signature may stand in the query.
    if (isProtocol(name)) continue;
    if (!KNOWN.has(name)) return `the parameter ${quoted(name)} is not known`;
    if (parameters.has(name)) return `the parameter ${name} is given twice`;
    parameters.set(name, value);
  }
  return parameters;
}

function readSelector(parameters: ReadonlyMap<string, string>): QuoteRequest | string {
  const optionNames = OPTION_FORM.filter((name) => parameters.has(name));
  const symbols = parameters.get("symbols");
  const watchlist = parameters.get("watchlist");
  if (optionNames.length > 0) {
    if (symbols !== undefined || watchlist !== undefined) {
      return `${symbols === undefined ? "watchlist" : "symbols"} and ${optionNames.join(", ")} exclude each other`;
    }
    return readContract(parameters);
  }
  if (watchlist !== undefined) {
    return isName(watchlist.trim())
      ? { kind: "watchlist", watchlist: watchlist.trim() }
      : "watchlist is not a watchlist id";
  }
  if (symbols !== undefined) return readSymbols(symbols);
  return "symbols, watchlist, or underlying with expiration, type and strike is needed";
}

/** Assumed: blanks around a symbol do not count, an empty place in the list is refused. */
function readSymbols(list: string): QuoteRequest | string {
  if (list.trim() === "") return "symbols is empty";
  const symbols = list.split(",").map((symbol) => symbol.trim());
  if (symbols.includes(""))
    return `symbols has an empty place, number ${symbols.indexOf("") + 1} of its list`;
  const odd = symbols.find((symbol) => !isName(symbol));
  return odd === undefined ? { kind: "symbols", symbols } : `${quoted(odd)} is not a symbol`;
}

function readContract(parameters: ReadonlyMap<string, string>): QuoteRequest | string {
  const missing = OPTION_FORM.filter((name) => !parameters.get(name));
  if (missing.length > 0) return `${missing.join(", ")} is missing from the option form`;
  const [underlying = "", expiration = "", optionType = "", strike = ""] = OPTION_FORM.map((name) =>
    parameters.get(name)?.trim(),
  );
  if (!isName(underlying) || underlying.includes(",")) return "underlying is not one symbol";
  if (!isDateText(expiration)) return `expiration ${quoted(expiration)} is not a date YYYY-MM-DD that exists`;
  if (optionType !== "CALL" && optionType !== "PUT")
    return `type ${quoted(optionType)} is neither CALL nor PUT`;
  if (!isStrike(strike)) return `strike ${quoted(strike)} is not a decimal above 0`;
  return { kind: "option", contract: { underlying, expiration, optionType, strike: plainStrike(strike) } };
}

/** Short, and without anything that could not be printed. */
function quoted(text: string): string {
  return `"${cutText(text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?"), 40)}"`;
}

function problem(text: string): ParsedRequest {
  return { ok: false, problem: text };
}

/** The calls of Tradier's market data (documentation, "Market data"). */
import { instrumentName, option } from "../../market/instrument.ts";
import { occSymbol } from "../../market/occ.ts";
import { percentEncode } from "../percentEncode.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import type { Written } from "../service.ts";

const QUOTES = "/v1/markets/quotes";
const CHAINS = "/v1/markets/options/chains";
const EXPIRATIONS = "/v1/markets/options/expirations";
const JSON_TYPE = "application/json";

/** Assumed: a target of so many characters passes every gateway. The documentation has POST for long lists, and no number. */
const LONGEST_TARGET = 1_800;

/** @throws RangeError a form that Tradier has not; jobs that ask for one are refused before */
export function writeTradier(call: QuoteCall): Written {
  switch (call.form) {
    case "symbols":
      return quotesOf(call.symbols);
    case "option":
      return quotesOf([occSymbol(call.contract) ?? instrumentName(option(call.contract))]);
    case "chain":
      return got(CHAINS, { symbol: call.underlying, expiration: call.expiration, greeks: "true" });
    case "expirations":
      // Without all roots SPX has no SPXW, nor its dates.
      return got(EXPIRATIONS, { symbol: call.underlying, includeAllRoots: "true" });
    case "watchlist":
      throw new RangeError("Tradier has no watchlists of quotes");
  }
}

function quotesOf(symbols: readonly string[]): Written {
  const fields = { symbols: symbols.join(","), greeks: "true" };
  const written = got(QUOTES, fields);
  return written.target.length <= LONGEST_TARGET
    ? written
    : { method: "POST", target: QUOTES, body: encoded(fields), accept: JSON_TYPE };
}

function got(path: string, fields: Readonly<Record<string, string>>): Written {
  return { method: "GET", target: `${path}?${encoded(fields)}`, accept: JSON_TYPE };
}

function encoded(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${percentEncode(value)}`)
    .join("&");
}

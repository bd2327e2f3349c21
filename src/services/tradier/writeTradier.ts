/** The calls of Tradier's market data (documentation, "Market data"). */
import { instrumentName, option } from "../../market/instrument.ts";
import { occSymbol } from "../../market/occ.ts";
import { percentEncode } from "../percentEncode.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import type { Written } from "../service.ts";

const QUOTES = "/v1/markets/quotes";
const JSON_TYPE = "application/json";

/** Assumed: a target of so many characters passes every gateway. The documentation has POST for long lists, and no number. */
const LONGEST_TARGET = 1_800;

/** @throws RangeError a form that Tradier has not; jobs that ask for one are refused before */
export function writeTradier(call: QuoteCall): Written {
  const symbols = symbolsOf(call).join(",");
  const query = `symbols=${percentEncode(symbols)}&greeks=true`;
  const target = `${QUOTES}?${query}`;
  return target.length <= LONGEST_TARGET
    ? { method: "GET", target, accept: JSON_TYPE }
    : { method: "POST", target: QUOTES, body: query, accept: JSON_TYPE };
}

function symbolsOf(call: QuoteCall): string[] {
  switch (call.form) {
    case "symbols":
      return call.symbols;
    case "option":
      return [occSymbol(call.contract) ?? instrumentName(option(call.contract))];
    case "watchlist":
      throw new RangeError("Tradier has no watchlists of quotes");
  }
}

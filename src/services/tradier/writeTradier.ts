/** The calls of Tradier's market data (documentation, "Market data"). */
import { requiredOccSymbol } from "../../market/occ.ts";
import { percentEncode } from "../percentEncode.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import type { WrittenCall } from "../service.ts";

const QUOTES = "/v1/markets/quotes";
const CHAINS = "/v1/markets/options/chains";
const EXPIRATIONS = "/v1/markets/options/expirations";
const JSON_TYPE = "application/json";

/** Assumed: a target of so many characters passes every gateway. The documentation has POST for long lists, and no number. */
const LONGEST_TARGET = 1_800;

/**
 * Tradier's own name of a symbol: `BRK/B` for BRK.B. `readTradier` has the archive's again.
 *
 * Assumed: it takes no symbol with a point, and a single letter behind one is a class of shares (several clients).
 */
function tradierSymbol(symbol: string): string {
  return symbol.replace(/^([^./]+)\.([A-Z])$/, "$1/$2");
}

/** @throws RangeError a form or a contract that Tradier has not; jobs that ask for one are refused before */
export function writeTradier(call: QuoteCall): WrittenCall {
  switch (call.form) {
    case "symbols":
      return quotesOf(call.symbols.map(tradierSymbol));
    case "option":
      return quotesOf([requiredOccSymbol(call.contract)]);
    case "chain":
      return got(CHAINS, {
        symbol: tradierSymbol(call.underlying),
        expiration: call.expiration,
        greeks: "true",
      });
    case "expirations":
      // Without all roots SPX has no SPXW, nor its dates.
      return got(EXPIRATIONS, { symbol: tradierSymbol(call.underlying), includeAllRoots: "true" });
    case "watchlist":
      throw new RangeError("Tradier has no watchlists of quotes");
  }
}

function quotesOf(symbols: readonly string[]): WrittenCall {
  const fields = { symbols: symbols.join(","), greeks: "true" };
  const written = got(QUOTES, fields);
  return written.target.length <= LONGEST_TARGET
    ? written
    : { method: "POST", target: QUOTES, body: encoded(fields), accept: JSON_TYPE };
}

function got(path: string, fields: Readonly<Record<string, string>>): WrittenCall {
  return { method: "GET", target: `${path}?${encoded(fields)}`, accept: JSON_TYPE };
}

function encoded(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${percentEncode(value)}`)
    .join("&");
}

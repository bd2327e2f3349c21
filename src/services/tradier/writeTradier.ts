/** The calls of Tradier's market data (documentation, "Market data"). */
import { requiredOccSymbol } from "../../market/occ.ts";
import { percentEncode } from "../percentEncode.ts";
import type { Service, WrittenCall } from "../service.ts";

const QUOTES = "/v1/markets/quotes";
const CHAINS = "/v1/markets/options/chains";
const EXPIRATIONS = "/v1/markets/options/expirations";
const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

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

export const TRADIER_CALLS = {
  symbols: ({ symbols }) => quotesOf(symbols.map(tradierSymbol)),
  option: ({ contract }) => quotesOf([requiredOccSymbol(contract)]),
  chain: ({ underlying, expiration }) =>
    got(CHAINS, { symbol: tradierSymbol(underlying), expiration, greeks: "true" }),
  // Without all roots SPX has no SPXW, nor its dates.
  expirations: ({ underlying }) =>
    got(EXPIRATIONS, { symbol: tradierSymbol(underlying), includeAllRoots: "true" }),
} satisfies Service["write"];

function quotesOf(symbols: readonly string[]): WrittenCall {
  const fields = { symbols: symbols.join(","), greeks: "true" };
  const written = got(QUOTES, fields);
  return written.target.length <= LONGEST_TARGET
    ? written
    : { method: "POST", target: QUOTES, body: { type: FORM_TYPE, text: encoded(fields) }, accept: JSON_TYPE };
}

function got(path: string, fields: Readonly<Record<string, string>>): WrittenCall {
  return { method: "GET", target: `${path}?${encoded(fields)}`, accept: JSON_TYPE };
}

function encoded(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${percentEncode(value)}`)
    .join("&");
}

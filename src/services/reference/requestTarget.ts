/** How the specification's service is asked for quotes (GET /v1/market/quotes.xml). */
import { requiredOccSymbol } from "../../market/occ.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import { percentEncode } from "../percentEncode.ts";

export const QUOTES_PATH = "/v1/market/quotes.xml";

/**
 * Path and query of a call. The comma of a symbol list is percent-encoded (`%2C`): the live service verifies
 * the signature over that form (field notes, "Requests").
 *
 * @throws RangeError a form or a contract that the service has not; jobs that ask for one are refused before
 */
export function requestTarget(call: QuoteCall): string {
  const query = [...selector(call), ["delayed", String(call.delayed)]]
    .map(([name, value]) => `${percentEncode(name ?? "")}=${percentEncode(value ?? "")}`)
    .join("&");
  return `${QUOTES_PATH}?${query}`;
}

function selector(call: QuoteCall): string[][] {
  switch (call.form) {
    case "symbols":
      return [["symbols", call.symbols.join(",")]];
    case "watchlist":
      // A parameter of its own, as the live service documents it; the specification folds it into `symbols`.
      return [["watchlist", call.watchlist]];
    case "option":
      // The option form has no place for a root, and an OCC symbol has one.
      if (call.contract.root !== undefined) return [["symbols", requiredOccSymbol(call.contract)]];
      return [
        ["underlying", call.contract.underlying],
        ["expiration", call.contract.expiration],
        ["type", call.contract.optionType],
        ["strike", call.contract.strike],
      ];
    case "chain":
    case "expirations":
      throw new RangeError("the service has no whole chains and no lists of expirations");
  }
}

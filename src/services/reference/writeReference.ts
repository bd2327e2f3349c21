/** How the specification's service is asked for quotes (GET /v1/market/quotes.xml). */
import { requiredOccSymbol } from "../../market/occ.ts";
import { percentEncode } from "../percentEncode.ts";
import type { Service, WrittenCall } from "../service.ts";

export const QUOTES_PATH = "/v1/market/quotes.xml";

export const REFERENCE_CALLS = {
  symbols: ({ symbols, delayed }) => got({ symbols: symbols.join(",") }, delayed),
  // A parameter of its own, as the live service documents it; the specification folds it into `symbols`.
  watchlist: ({ watchlist, delayed }) => got({ watchlist }, delayed),
  option: ({ contract, delayed }) => {
    const { underlying, root, expiration, optionType: type, strike } = contract;
    // The option form has no place for a root, and an OCC symbol has one.
    if (root !== undefined) return got({ symbols: requiredOccSymbol(contract) }, delayed);
    return got({ underlying, expiration, type, strike }, delayed);
  },
} satisfies Service["write"];

/**
 * The comma of a symbol list is percent-encoded (`%2C`): the live service verifies the signature over that form (field notes,
 * "Requests").
 */
function got(selector: Readonly<Record<string, string>>, delayed: boolean): WrittenCall {
  const query = Object.entries({ ...selector, delayed: String(delayed) }).map(
    ([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`,
  );
  return { method: "GET", target: `${QUOTES_PATH}?${query.join("&")}`, accept: "application/xml" };
}

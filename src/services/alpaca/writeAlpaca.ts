/**
 * The calls of Alpaca: snapshots of its data host (market-data-api.json 1.1), and option contracts of its trading host
 * (trading-api.json). An endpoint refuses a parameter that it does not know, so each call has those that it needs and no other.
 */
import { parseOccSymbol, requiredOccSymbol } from "../../market/occ.ts";
import { isOwnRoot, rootOf, rootsOf } from "../../market/root.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import { percentEncode } from "../percentEncode.ts";
import type { Service, WrittenCall } from "../service.ts";

const STOCKS = "/v2/stocks/snapshots";
const OPTIONS = "/v1beta1/options/snapshots";
const CONTRACTS = "/v2/options/contracts";

/** The most of a page of snapshots, and the default is 100. */
const SNAPSHOTS_OF_A_PAGE = "1000";

/** 10,000 is taken, and 10,001 a 422. */
const CONTRACTS_OF_A_PAGE = "10000";

/** Expirations and contracts stand on the trading host alone. */
export function hostOf({ form }: QuoteCall): "trading" | undefined {
  return form === "expirations" ? "trading" : undefined;
}

/** Whether a list is one of contracts. Lists are of one kind: stocks and contracts have endpoints of their own. */
export function isOfContracts(symbols: readonly string[]): boolean {
  return symbols.some((symbol) => parseOccSymbol(symbol) !== null);
}

/** Where a chain goes on: at the next page of a root's contracts, or at the next root. */
type ChainPlace = { root: string; token: string | null };

/** @param page of the call; absent: the beginning */
export function chainPlace(underlying: string, page: string | undefined): ChainPlace {
  const [root = "", ...token] = page?.split(" ") ?? [];
  return { root: root || rootOf({ underlying }), token: token.join(" ") || null };
}

/** What comes behind a page: its token, or else the first page of the next root of an index; null: nothing. */
export function nextPlace(underlying: string, { root }: ChainPlace, token: string | null): string | null {
  if (token !== null) return `${root} ${token}`;
  const roots = rootsOf(underlying);
  return roots[roots.indexOf(root) + 1] ?? null;
}

/**
 * Calls as `completeAlpaca` has made them. A chain of an index is asked for by each of its roots in turn: the data host gives those of the
 * monthly root for `SPX`. Contracts of adjusted roots come with those of the underlying. Without a first date contracts come up to the
 * next weekend alone.
 */
export const writeAlpaca: Service["write"] = {
  symbols: ({ symbols, feed }) =>
    isOfContracts(symbols)
      ? got(OPTIONS, { symbols: symbols.join(","), feed, limit: SNAPSHOTS_OF_A_PAGE })
      : got(STOCKS, { symbols: symbols.join(","), feed }),
  option: ({ contract, feed }) =>
    got(OPTIONS, { symbols: requiredOccSymbol(contract), feed, limit: SNAPSHOTS_OF_A_PAGE }),
  chain: ({ underlying, expiration, feed, page }) => {
    const { root, token } = chainPlace(underlying, page);
    return got(`${OPTIONS}/${percentEncode(isOwnRoot(root, underlying) ? underlying : root)}`, {
      expiration_date: expiration,
      feed,
      limit: SNAPSHOTS_OF_A_PAGE,
      page_token: token ?? undefined,
    });
  },
  expirations: ({ underlying, from, page }) =>
    got(CONTRACTS, {
      underlying_symbols: underlying,
      status: "active",
      expiration_date_gte: from,
      limit: CONTRACTS_OF_A_PAGE,
      page_token: page,
    }),
};

/** A parameter without a value is not sent. */
function got(path: string, fields: Readonly<Record<string, string | undefined>>): WrittenCall {
  const query = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${percentEncode(value)}`],
  );
  return { method: "GET", target: `${path}?${query.join("&")}`, accept: "application/json" };
}

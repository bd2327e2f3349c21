/**
 * The calls of E*TRADE's market interface, version 1 (apisb.etrade.com/docs/api/market). JSON comes where `.json` stands behind the
 * path, or `Accept` names it: both are sent, for XML is not read.
 */
import {
  type InstrumentKey,
  isSymbol,
  option,
  type OptionContract,
  readContractName,
  security,
} from "../../market/instrument.ts";
import { parseOccSymbol } from "../../market/occ.ts";
import { rootedSymbol } from "../../market/root.ts";
import { percentEncode } from "../percentEncode.ts";
import type { Service, WrittenCall } from "../service.ts";

/** A longer list needs a flag. */
const PLAIN_LIST = 25;

/** The longest list, with the flag. */
export const LONGEST_LIST = 50;

export const ETRADE_CALLS = {
  symbols: ({ symbols }) => quotesOf(symbols.map(inList)),
  option: ({ contract }) => quotesOf([contractInList(contract)]),
  chain: ({ underlying, expiration }) =>
    got("/v1/market/optionchains", {
      symbol: underlying,
      ...dateOf(expiration),
      // Adjusted contracts and mini options are left out unless they are asked for, and weekly ones may be.
      skipAdjusted: "false",
      optionCategory: "ALL",
      includeWeekly: "true",
      chainType: "CALLPUT",
      priceType: "ALL",
    }),
  expirations: ({ underlying }) =>
    got("/v1/market/optionexpiredate", { symbol: underlying, expiryType: "ALL" }),
} satisfies Service["write"];

function quotesOf(names: readonly string[]): WrittenCall {
  return got(`/v1/market/quote/${names.join(",")}`, {
    detailFlag: "ALL",
    ...(names.length > PLAIN_LIST && { overrideSymbolCount: "true" }),
  });
}

function inList(symbol: string): string {
  const contract = parseOccSymbol(symbol);
  return contract ? contractInList(contract) : percentEncode(symbol);
}

/**
 * `IBM:2026:8:21:CALL:200.000000`.
 *
 * Assumed: commas and colons stand bare in the path, as clients send them. A contract of a root that is another than its
 * underlying's is named by the root; the documentation shows no such name.
 */
function contractInList({ underlying, root, expiration, optionType, strike }: OptionContract): string {
  const { expiryYear, expiryMonth, expiryDay } = dateOf(expiration);
  const [whole = "", fraction = ""] = strike.split(".");
  const price = `${whole}.${fraction.padEnd(6, "0")}`;
  return [percentEncode(root ?? underlying), expiryYear, expiryMonth, expiryDay, optionType, price].join(":");
}

/** The instrument of a name in a list; null: it is none. */
export function keyInList(name: string): InstrumentKey | null {
  const [root = "", year = "", month = "", day = "", type, strike = ""] = name.split(":");
  if (type === undefined) return isSymbol(name) ? security(name) : null;
  const contract = readContractName(
    [root, `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`, type, strike].join(":"),
  );
  return typeof contract === "string" ? null : option({ ...contract, ...rootedSymbol(root) });
}

function dateOf(date: string) {
  const [year = "", month = "", day = ""] = date.split("-");
  const plain = (part: string): string => part.replace(/^0/, "");
  return { expiryYear: year, expiryMonth: plain(month), expiryDay: plain(day) };
}

function got(path: string, fields: Readonly<Record<string, string>>): WrittenCall {
  const query = Object.entries(fields).map(([name, value]) => `${name}=${percentEncode(value)}`);
  return { method: "GET", target: `${path}.json?${query.join("&")}`, accept: "application/json" };
}

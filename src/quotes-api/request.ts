/** The forms in which the service can be asked for quotes (specification, GET /v1/market/quotes.xml). */
import {
  type InstrumentKey,
  instrumentName,
  option,
  type OptionContract,
  security,
} from "../market/instrument.ts";
import { occSymbol, parseOccSymbol } from "../market/occ.ts";
import { percentEncode } from "./percentEncode.ts";

export type QuoteCall =
  | { form: "symbols"; symbols: string[]; delayed: boolean }
  | { form: "watchlist"; watchlist: string; delayed: boolean }
  | { form: "option"; contract: OptionContract; delayed: boolean };

/** Stands for the unknown call of an answer that was saved elsewhere. */
export type SavedCall = {
  form: "saved";
  /** Base name of the file that held it. */
  file: string;
  delayed: boolean;
};

export const QUOTES_PATH = "/v1/market/quotes.xml";

/**
 * Path and query of a call. The comma of a symbol list is percent-encoded (`%2C`): the live service verifies
 * the signature over that form (field notes, "Requests").
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
      if (call.contract.root !== undefined)
        return [["symbols", occSymbol(call.contract) ?? instrumentName(option(call.contract))]];
      return [
        ["underlying", call.contract.underlying],
        ["expiration", call.contract.expiration],
        ["type", call.contract.optionType],
        ["strike", call.contract.strike],
      ];
  }
}

/** The names a call asks for; null for a watchlist, whose content only the service knows, and for a saved answer. */
export function askedInstruments(call: QuoteCall | SavedCall): InstrumentKey[] | null {
  switch (call.form) {
    case "symbols":
      return call.symbols.map(keyOfSymbol);
    case "watchlist":
    case "saved":
      return null;
    case "option":
      return [option(call.contract)];
  }
}

/** Assumed: an OCC option symbol in a list is answered as that option (field notes: seen once, unproven). */
export function keyOfSymbol(symbol: string): InstrumentKey {
  const contract = parseOccSymbol(symbol);
  return contract ? option(contract) : security(symbol);
}

/** For people: `AAPL, MSFT and 8 more`, `watchlist DEFAULT`, `AAPL:2026-12-18:CALL:150`. */
export function describeCall(call: QuoteCall): string {
  if (call.form === "watchlist") return `watchlist ${call.watchlist}`;
  const names = (askedInstruments(call) ?? []).map(instrumentName);
  if (names.length <= 3) return names.join(", ");
  return `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}

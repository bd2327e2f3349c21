/** The forms in which services can be asked for quotes. */
import {
  type InstrumentKey,
  instrumentName,
  option,
  type OptionContract,
  security,
} from "../market/instrument.ts";
import { parseOccSymbol } from "../market/occ.ts";

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

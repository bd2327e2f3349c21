/** The forms in which services can be asked for quotes. */
import {
  inCapitals,
  type InstrumentKey,
  instrumentName,
  option,
  type OptionContract,
  security,
} from "../market/instrument.ts";
import { parseOccSymbol } from "../market/occ.ts";
import { archivedSymbol } from "../market/root.ts";

export type QuoteCall =
  | ({
      form: "symbols";
      symbols: string[];
      /** Where they stand in lists of their own. */
      of?: "contracts";
    } & Common)
  | ({ form: "watchlist"; watchlist: string } & Common)
  | ({ form: "option"; contract: OptionContract } & Common)
  | ({ form: "chain"; underlying: string; expiration: string } & Common & Paged)
  | ({ form: "expirations"; underlying: string; from?: string } & Common & Paged);

type Common = {
  delayed: boolean;
  /** Which of the service's feeds was asked, where it has several: it decides what the answer means. */
  feed?: string;
  /** Of contracts: the feed that has the prices of their underlyings, where it is another. */
  spotFeed?: string;
};

/** `page`: where an answer said that the next one goes on; absent: the first. The service alone reads it. */
type Paged = { page?: string };

/** Stands for the unknown call of an answer that was saved elsewhere. */
export type SavedCall = {
  form: "saved";
  /** Base name of the file that held it. */
  file: string;
  delayed: boolean;
};

/** The instruments a call asks for; null where only the service knows them, and for a saved answer. */
export function askedInstruments(call: QuoteCall | SavedCall): InstrumentKey[] | null {
  switch (call.form) {
    case "symbols":
      return call.symbols.map(keyOfSymbol);
    case "watchlist":
    case "chain":
    case "expirations":
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

/** Whether an answered instrument may be of a call that does not name its instruments. */
export function isOfCall(call: QuoteCall | SavedCall, key: InstrumentKey): boolean {
  if (call.form === "expirations") return false;
  if (call.form !== "chain") return true;
  const { underlying, expiration } = call;
  return (
    key.kind === "option" &&
    key.expiration === expiration &&
    inCapitals(key.underlying) === inCapitals(archivedSymbol(underlying))
  );
}

/**
 * For people, and in the ledger where only the service knows the instruments: `AAPL, MSFT and 8 more`,
 * `AAPL:2026-12-18:CALL:150`, `watchlist DEFAULT`, `chain SPX:2026-12-18`, `expirations of SPX`.
 */
export function describeCall(call: QuoteCall): string {
  if (call.form === "watchlist") return `watchlist ${call.watchlist}`;
  if (call.form === "chain") return `chain ${archivedSymbol(call.underlying)}:${call.expiration}`;
  if (call.form === "expirations") return expirationsName(call.underlying);
  const names = (askedInstruments(call) ?? []).map(instrumentName);
  if (names.length <= 3) return names.join(", ");
  return `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}

const EXPIRATIONS = "expirations of ";

/** What asks for an underlying's expirations bears this name. */
export function expirationsName(underlying: string): string {
  return `${EXPIRATIONS}${archivedSymbol(underlying)}`;
}

/** The other way; null: it is another name. */
export function underlyingOfExpirations(name: string): string | null {
  return name.startsWith(EXPIRATIONS) ? name.slice(EXPIRATIONS.length) : null;
}

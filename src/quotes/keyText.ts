/** The key of an answered instrument, and a text of its own for each key. Pure. */
import { type InstrumentKey, instrumentName, option, security } from "../market/instrument.ts";
import type { InstrumentQuote } from "./document.ts";
import { canonicalDecimal } from "./decimal.ts";

export function keyOf({ instrument }: InstrumentQuote): InstrumentKey {
  const { symbol, root, expiration, optionType, strike } = instrument;
  if (expiration === null || optionType === null || strike === null) return security(symbol);
  return option({ underlying: symbol, root, expiration, optionType, strike: canonicalDecimal(strike) });
}

export function canonicalName(key: InstrumentKey): string {
  return instrumentName(canonical(key));
}

/** A text of its own for each instrument: a symbol may look like the name of a contract. */
export function keyText(key: InstrumentKey): string {
  return `${key.kind} ${canonicalName(key)}`;
}

function canonical(key: InstrumentKey): InstrumentKey {
  if (key.kind === "security") return key;
  const strike = canonicalDecimal(key.strike);
  return strike === key.strike ? key : { ...key, strike };
}

/** From the database's text to the API's. Pure. */
import { isoOf } from "../../archive/queries.ts";
import { instrumentName } from "../../market/instrument.ts";

/** What names an instrument in a row. */
export type Named = {
  symbol: string;
  expiration: string | null;
  option_type: "CALL" | "PUT" | null;
  strike: string | null;
};

/** `AAPL` or `AAPL:2026-12-18:CALL:150`. */
export function nameOf({ symbol, expiration, option_type: optionType, strike }: Named): string {
  return expiration !== null && optionType !== null && strike !== null
    ? instrumentName({ kind: "option", underlying: symbol, expiration, optionType, strike })
    : symbol;
}

/** A `timestamptz` as ISO 8601, null where there is none. */
export function isoOrNull(timestamptz: string | null): string | null {
  return timestamptz === null ? null : isoOf(timestamptz);
}

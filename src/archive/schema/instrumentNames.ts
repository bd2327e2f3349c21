/** The names of instruments in SQL. */

const CONTRACT_NAME =
  "coalesce(':' || i.expiration || ':' || i.option_type || ':' || trim_scale(i.strike), '')";

/**
 * The name of an instrument as the ledger writes it, `AAPL`, `AAPL:2026-12-18:CALL:150` or `SPX/SPXW:2026-12-18:CALL:5000`: SQL of a
 * row `i`.
 */
export const INSTRUMENT_NAME = `i.symbol || coalesce('/' || i.root, '') || ${CONTRACT_NAME}`;

/** SQL of an array of texts, one of which is `coalesce(i.root, i.symbol)` of a row `i` that a name means: an index has them. */
export const rootsOf = (name: string): string =>
  `array[split_part(${name}, ':', 1), regexp_replace(split_part(${name}, ':', 1), '^.*/', '')]`;

/** Whether a row `i` is what a name means, SQL: a contract is also found by its root alone, `SPXW:2026-12-18:CALL:5000`. */
export const isNamed = (name: string): string =>
  `coalesce(i.root, i.symbol) = any (${rootsOf(name)})
   and ${name} in (${INSTRUMENT_NAME}, coalesce(i.root, i.symbol) || ${CONTRACT_NAME})`;

/** Whether a row `i` is the instrument of a row `w`, SQL: a contract is the same with its underlying and by its root alone. */
export const IS_SAME_INSTRUMENT = `coalesce(i.root, i.symbol) = coalesce(w.root, w.symbol)
   and (i.symbol = w.symbol or i.root is null or w.root is null)
   and (i.expiration, i.option_type, i.strike) is not distinct from (w.expiration, w.option_type, w.strike)`;

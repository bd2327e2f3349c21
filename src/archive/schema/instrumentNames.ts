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

/** How the name of a contract is written, a regular expression of PostgreSQL. Its month is one, and its day may be none. */
const IS_CONTRACT = "'^[^:]+:[1-9][0-9]{3}-(0[1-9]|1[0-2])-[0-9]{2}:(CALL|PUT):[0-9]+([.][0-9]+)?$'";

/** A part of a contract's name, null where the name is none of a contract. No name makes the conversion fail. */
const partOf = (name: string, part: string): string => `case when ${name} ~ ${IS_CONTRACT} then ${part} end`;

/**
 * Whether a row `i` is what a name means, SQL: a contract is also found by its root alone, `SPXW:2026-12-18:CALL:5000`. An underlying
 * may have a hundred thousand contracts, so each part of the name is compared by itself, as the index has them.
 */
export const isNamed = (name: string): string => {
  const [year, month, day] = [1, 2, 3].map(
    (place) => `split_part(split_part(${name}, ':', 2), '-', ${place})::int`,
  );
  return `(i.option_type is null and i.symbol = ${name}
    or coalesce(i.root, i.symbol) = any (${rootsOf(name)})
      and i.expiration = ${partOf(name, `make_date(${year}, ${month}, 1) + ${day} - 1`)}
      and i.option_type = split_part(${name}, ':', 3)
      and i.strike = ${partOf(name, `split_part(${name}, ':', 4)::numeric`)}
      and ${name} in (${INSTRUMENT_NAME}, coalesce(i.root, i.symbol) || ${CONTRACT_NAME}))`;
};

/** Whether a row `i` is the instrument of a row `w`, SQL: a contract is the same with its underlying and by its root alone. */
export const IS_SAME_INSTRUMENT = `coalesce(i.root, i.symbol) = coalesce(w.root, w.symbol)
   and (i.symbol = w.symbol or i.root is null or w.root is null)
   and (i.expiration, i.option_type, i.strike) is not distinct from (w.expiration, w.option_type, w.strike)`;

/** Finds instruments by what people type: a symbol, a contract, words of a description. */
import type pg from "pg";
import { cleanText } from "../../ground/outsideText.ts";
import { INSTRUMENT_NAME } from "../schema/instrumentNames.ts";
import type { FoundInstrument, FoundInstruments } from "./dashboardTypes.ts";

const MOST_FOUND = 20;

/** Escapes a text for LIKE. */
const literal = (text: string): string => text.replace(/[\\%_]/g, "\\$&");

/** A pattern of LIKE: the beginning of a word that has a space before it. */
const wordPattern = (word: string): string => `% ${literal(word)}%`;

/** What the words of an instrument are: of a contract ` 2026-12-18 CALL 150CALL`, of a security those of its description. */
const WORDS = `' ' || upper(case when option_type is null then coalesce(translate(description, '-./&,()', '       '), '')
  else concat_ws(' ', expiration, option_type, trim_scale(strike) || option_type) end)`;

/**
 * The best ones first: the symbol itself, symbols that begin so, contracts, descriptions. Each word of a text may be the beginning of
 * one; those behind the symbol of an underlying are words of its contracts, such as `AAPL 2026-12 150C`. Of one rank the shorter
 * symbol is first, and of contracts the next to expire; those that have expired are last.
 *
 * @param text empty: the archive's first instruments, by symbol
 */
export async function findInstruments(pool: pg.Pool, text: string): Promise<FoundInstruments> {
  const typed = cleanText(text).trim().toUpperCase();
  const words = typed.split(/[\s:]+/).filter(Boolean);
  const { rows } = await pool.query<FoundInstrument & { total: number }>(
    `select ${INSTRUMENT_NAME} as instrument, description, count(*) over ()::int as total
     from (
       select i.*, case
         when option_type is null and upper(symbol) = $1 then 0
         when option_type is null and upper(symbol) like $2 then 1
         when option_type is not null then
           case when $3 in (upper(symbol), root, upper(symbol) || '/' || root) and ${WORDS} like all ($4::text[]) then 2 end
         when ${WORDS} like all ($5::text[]) then 3
       end as rank
       from instruments i
     ) i
     where rank is not null
     order by rank, case when $1 <> '' then length(symbol) end, coalesce(expiration < current_date, false), expiration nulls first, symbol, strike, option_type, root nulls first
     limit ${MOST_FOUND}`,
    [typed, `${literal(typed)}%`, words[0] ?? null, words.slice(1).map(wordPattern), words.map(wordPattern)],
  );
  return {
    total: rows[0]?.total ?? 0,
    instruments: rows.map(({ total: _, ...found }) => found),
  };
}

/** Finds instruments by what people type: a symbol, a contract, words of a description. */
import type pg from "pg";
import { cleanText, jsonText } from "../../outsideText.ts";
import { INSTRUMENT_NAME } from "../schema/instrumentNames.ts";
import type { FoundInstrument, FoundInstruments } from "./dashboardTypes.ts";

const MOST_FOUND = 20;

/**
 * What a text asks for, as patterns of LIKE; null: no instrument is asked for that way.
 *
 * `contract` holds what each word after the underlying may be: the beginning of an expiration (`2026-12`), a strike with or
 * without its type (`150C`), or the type alone.
 */
type Asked = {
  symbol: string;
  symbolPrefix: string;
  contract: { underlying: string; words: ContractWord[] } | null;
  /** Beginnings of words of the description, each behind a space. */
  words: string[];
};
type ContractWord = { expiration: string | null; strike: string | null; optionType: string | null };

function askedFor(text: string): Asked {
  const typed = cleanText(text).trim().toUpperCase();
  const [underlying = "", ...rest] = typed.split(/[\s:]+/).filter(Boolean);
  const words = rest.map(contractWord);
  return {
    symbol: typed,
    symbolPrefix: `${literal(typed)}%`,
    contract: words.some((word) => word === null) ? null : { underlying, words: words as ContractWord[] },
    words: typed
      .split(/[\s:]+/)
      .filter(Boolean)
      .map((word) => `% ${literal(word)}%`),
  };
}

/** Null: the word is no part of a contract's name. */
function contractWord(word: string): ContractWord | null {
  const [, number, type] = /^(\d[\d.-]*)?(C|CALL|P|PUT)?$/.exec(word) ?? [];
  if (number === undefined && type === undefined) {
    // A type that is not written to its end.
    const begun = ["CALL", "PUT"].find((name) => name.startsWith(word));
    return begun === undefined ? null : { expiration: null, strike: null, optionType: begun };
  }
  return {
    expiration: number === undefined || type !== undefined || number.includes(".") ? null : `${number}%`,
    strike: number === undefined || number.includes("-") ? null : `${number}%`,
    optionType: type === undefined ? null : type.startsWith("C") ? "CALL" : "PUT",
  };
}

/** Escapes a text for LIKE. */
const literal = (text: string): string => text.replace(/[\\%_]/g, "\\$&");

/**
 * The best ones first: the symbol itself, symbols that begin so, contracts, descriptions with words that begin so. Of
 * one rank the shorter symbol is first, and of contracts the next to expire; those that have expired are last.
 *
 * @param text empty: the archive's first instruments, by symbol
 */
export async function findInstruments(pool: pg.Pool, text: string): Promise<FoundInstruments> {
  const { symbol, symbolPrefix, contract, words } = askedFor(text);
  const { rows } = await pool.query<FoundInstrument & { total: number }>(
    `select ${INSTRUMENT_NAME} as instrument, description, count(*) over ()::int as total
     from (
       select i.*, case
         when option_type is null and upper(symbol) = $1 then 0
         when option_type is null and upper(symbol) like $2 then 1
         when option_type is not null and $3 in (upper(symbol), root, upper(symbol) || '/' || root) and not exists (
           select from json_to_recordset($4) as w (expiration text, strike text, "optionType" text)
           where not coalesce(
             (w.expiration is null and w.strike is null
               or i.expiration::text like w.expiration or trim_scale(i.strike)::text like w.strike)
             and (w."optionType" is null or i.option_type = w."optionType"), false)
         ) then 2
         when option_type is null and (
           select bool_and(' ' || upper(translate(description, '-./&,()', '       ')) like word) from unnest($5::text[]) as word
         ) then 3
       end as rank
       from instruments i
     ) i
     where rank is not null
     order by rank, case when $1 <> '' then length(symbol) end, coalesce(expiration < current_date, false), expiration nulls first, symbol, strike, option_type, root nulls first
     limit ${MOST_FOUND}`,
    [symbol, symbolPrefix, contract?.underlying ?? null, jsonText(contract?.words ?? []), words],
  );
  return {
    total: rows[0]?.total ?? 0,
    instruments: rows.map(({ total: _, ...found }) => found),
  };
}

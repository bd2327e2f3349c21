/** What is said behind the names of instruments that the service does not know. */
import type pg from "pg";
import { readSymbols } from "../archive/ledger/coverageRows.ts";
import { underlyingBehind } from "../collect/waitingChains.ts";
import { likelySymbol } from "../market/likelySymbol.ts";
import { LISTED_SYMBOLS } from "../serve/simulated/companies.ts";

/**
 * @param names of instruments: `NFXL`, a contract of it, or `chain of NFXL`
 * @returns by name ` (did you mean NFLX?)`; nothing where no symbol is near that the archive or everybody knows
 */
export async function readGuesses(pool: pg.Pool, names: readonly string[]): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const known = [...(await readSymbols(pool)), ...LISTED_SYMBOLS];
  return new Map(
    names.flatMap((name) => {
      const [symbol = ""] = (underlyingBehind(name) ?? name).split(/[:/]/);
      const meant = likelySymbol(symbol, known);
      return meant === null ? [] : [[name, ` (did you mean ${meant}?)`]];
    }),
  );
}

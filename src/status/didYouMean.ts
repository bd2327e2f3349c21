/** What is said behind the names of instruments that the service does not know. */
import type pg from "pg";
import { readSymbols } from "../archive/ledger/coverageRows.ts";
import { underlyingBehind } from "../collect/waitingChains.ts";
import { looseName, readRootedName, security } from "../market/instrument.ts";
import { likelySymbol } from "../market/likelySymbol.ts";
import { UNDERLYING_OF_ROOT } from "../market/root.ts";
import { LISTED_SYMBOLS } from "../serve/simulated/companies.ts";

/**
 * @param names of instruments: `NFXL`, a contract of it, or `chain of NFXL`
 * @returns by name ` (did you mean NFLX?)`; nothing where no symbol is near that the archive or everybody knows, or where the symbol
 *   itself is one of those
 */
export async function readGuesses(pool: pg.Pool, names: readonly string[]): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const known = [...(await readSymbols(pool)), ...LISTED_SYMBOLS, ...UNDERLYING_OF_ROOT.values()];
  return new Map(
    names.flatMap((name) => {
      const meant = meantBy(name, known);
      return meant === null ? [] : [[name, ` (did you mean ${meant}?)`]];
    }),
  );
}

function meantBy(name: string, known: readonly string[]): string | null {
  const [contract = ""] = (underlyingBehind(name) ?? name).split(":");
  const { underlying: symbol } = readRootedName(contract);
  if (known.includes(symbol)) return null;
  const loose = looseName(security(symbol));
  return known.find((one) => looseName(security(one)) === loose) ?? likelySymbol(symbol, known);
}

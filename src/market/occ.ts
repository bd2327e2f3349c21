/**
 * OCC option symbols: root, yymmdd, C or P, strike x 1000 in eight digits, as `AAPL120721C00200000`
 * (Options Symbology Initiative, 2010; without the spaces that pad the root to six there).
 */
import { QuotekeeperError } from "../ground/errors.ts";
import { remembered } from "../ground/remembered.ts";
import { isDateText } from "./calendar/dates.ts";
import { type OptionContract, plainStrike } from "./instrument.ts";
import { isRoot, rootedSymbol, rootOf } from "./root.ts";

const OCC_SYMBOL = /^([A-Z0-9]{1,6})(\d{2})(\d{2})(\d{2})([CP])(\d{8})$/;

/** Assumed: two-digit years are of this century; no option with such a symbol expired before 2010. */
const CENTURY = "20";

/** Why a contract without an OCC symbol cannot be asked for by one. */
export const NO_OCC_SYMBOL =
  "has no OCC symbol, by which it is asked for: its underlying is no root, its date is of another century, or its strike is above 99999.999 or has over three decimals";

/** Null when the text is no OCC symbol. The root names the underlying (`rootedSymbol`). */
export function parseOccSymbol(text: string): OptionContract | null {
  const match = OCC_SYMBOL.exec(text);
  if (!match) return null;
  const [, root = "", year = "", month = "", day = "", type, strike = ""] = match;
  const expiration = `${CENTURY}${year}-${month}-${day}`;
  if (!isRoot(root) || !isDateText(expiration) || !/[1-9]/.test(strike)) return null;
  return {
    ...rootedSymbol(root),
    expiration,
    optionType: type === "C" ? "CALL" : "PUT",
    strike: plainStrike(`${strike.slice(0, 5)}.${strike.slice(5)}`),
  };
}

function behindRoot({ expiration, optionType, strike }: DatedStrike): string {
  return `${shortDate(expiration)}${optionType === "CALL" ? "C" : "P"}${strikeDigits(strike)}`;
}

/** The contracts of an answer share them. */
const shortDate = remembered(1_000, (expiration: string): string =>
  expiration.slice(CENTURY.length).replaceAll("-", ""),
);
const strikeDigits = remembered(10_000, (strike: string): string => {
  const [whole = "", fraction = ""] = plainStrike(strike).split(".");
  return `${whole.padStart(5, "0")}${fraction.padEnd(3, "0")}`;
});

type DatedStrike = Pick<OptionContract, "expiration" | "optionType" | "strike">;

/** Whether an OCC symbol, whatever its root, is of this date, type and strike. */
export function isOccSymbolOf(symbol: string, dated: DatedStrike): boolean {
  return symbol.endsWith(behindRoot(dated));
}

/**
 * Null where a contract has no OCC symbol: its underlying is no root (such as `ABC.D`), its date is outside of this
 * century, or its strike is 0, 100000 or more, or has over three decimals.
 */
export function occSymbol(contract: OptionContract): string | null {
  const strike = plainStrike(contract.strike);
  const symbol = rootOf(contract) + behindRoot(contract);
  const read = parseOccSymbol(symbol);
  return read?.expiration === contract.expiration && read.strike === strike ? symbol : null;
}

/** @throws QuotekeeperError UNEXPECTED the contract has none: jobs that ask for one by it are refused before */
export function requiredOccSymbol(contract: OptionContract): string {
  const symbol = occSymbol(contract);
  if (symbol === null)
    throw new QuotekeeperError("UNEXPECTED", `a contract of ${contract.underlying} ${NO_OCC_SYMBOL}`);
  return symbol;
}

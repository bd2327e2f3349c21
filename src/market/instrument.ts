/** What is quoted. A symbol alone is no key: an option answers with the symbol of its underlying. */
import { isDateText } from "./calendar/dates.ts";
import { archivedSymbol, isRoot, type RootedSymbol, rootOf, withRoot } from "./root.ts";

export type OptionType = "CALL" | "PUT";

/** As the option form of the service names a contract, with its root where that is another than the underlying's. */
export type OptionContract = RootedSymbol & {
  /** `YYYY-MM-DD` */
  expiration: string;
  optionType: OptionType;
  strike: string;
};

export type InstrumentKey = { kind: "security"; symbol: string } | ({ kind: "option" } & OptionContract);

/**
 * No name holds blanks, commas, control characters, marks that change how text is shown (a terminal would follow them),
 * halves of characters, or the sign for an unreadable one.
 */
const STRANGE = /[\s,\p{Cc}\p{Cf}\p{Cs}\u{fffd}]/u;

/**
 * Separators, quotes of any kind, brackets, and more than one character behind a `=` stand in lines of other files and in no
 * symbol.
 *
 * Assumed: the service's symbols are of letters, digits and such signs as in BRK.B, BRK/B, ^SPX, $SPX, M&M, and ABC=
 * for a unit. `root:x:0:0` and `KEY=abc` are none: the line of a wrong file is neither sent nor kept as a symbol.
 */
const FOREIGN = /[:;|?\\"'`<>\p{Ps}\p{Pe}\p{Pi}\p{Pf}]|=(?:=|..)/u;

export const SYMBOL_FORM = "1 to 32 characters without blanks, commas, colons, quotes and brackets";

export function isSymbol(text: string): boolean {
  return isKeptSymbol(text) && !FOREIGN.test(text);
}

/**
 * Whether a text may be the symbol of a kept quote. Imported files, and journals of older versions, have more symbols
 * than may be asked for: `X:BTCUSD`.
 *
 * @param most characters
 */
export function isKeptSymbol(text: string, most = 32): boolean {
  return text.length > 0 && text.length <= most && !STRANGE.test(text);
}

/**
 * A symbol as people, job files and lists of symbols name it.
 *
 * Assumed: symbols are not case sensitive, as clients' documentation of the service says, and are written in capitals.
 * Letters of other alphabets stay as they are. What answers and imported files hold is stored as it stands there.
 */
export function inCapitals(text: string): string {
  return /[a-z]/.test(text) ? text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()) : text;
}

/** A symbol that a person named, as the archive has it: BRK.B for `brk/b`. */
export function namedSymbol(text: string): string {
  return archivedSymbol(inCapitals(text));
}

/**
 * A text that two names of one instrument are likely to share: `BRK-B`, `BRKB` (the root of its options) and
 * `BRK.B`. For messages alone: no price is stored because of it.
 */
export function looseName(key: InstrumentKey): string {
  const loose = (symbol: string): string => inCapitals(symbol).replace(/[^\p{L}\p{N}]/gu, "");
  return key.kind === "security"
    ? loose(key.symbol)
    : instrumentName(option({ ...key, underlying: loose(rootOf(key)), root: undefined }));
}

/** One or several words, with single blanks between them. */
export function isWatchlistId(text: string): boolean {
  return text.length <= 64 && text.split(" ").every((word) => isKeptSymbol(word, 64));
}

export function security(symbol: string): InstrumentKey {
  return { kind: "security", symbol: archivedSymbol(symbol) };
}

export function option(contract: OptionContract): InstrumentKey {
  return {
    kind: "option",
    ...withRoot(contract.underlying, contract.root),
    expiration: contract.expiration,
    optionType: contract.optionType,
    strike: contract.strike,
  };
}

/**
 * One text per instrument, the same for equal instruments: `AAPL`, or `AAPL:2026-12-18:CALL:150`;
 * `SPX/SPXW:2026-12-18:CALL:5000` where the root is another than the underlying's. The strike has no trailing zeros, so
 * 150, 150.0 and 150.00 are one contract.
 */
export function instrumentName(key: InstrumentKey): string {
  if (key.kind === "security") return key.symbol;
  return `${rootedName(key)}:${key.expiration}:${key.optionType}:${plainStrike(key.strike)}`;
}

/** The beginning of a contract's name: `AAPL`, or `SPX/SPXW`. */
export function rootedName({ underlying, root }: RootedSymbol): string {
  return root === undefined ? underlying : `${underlying}/${root}`;
}

/**
 * Reads the beginning of a contract's name. One letter behind a slash is a class of shares (`archivedSymbol`), and no root.
 */
export function readRootedName(text: string): RootedSymbol {
  const slash = text.lastIndexOf("/");
  const [underlying, root] = [text.slice(0, slash), text.slice(slash + 1)];
  return slash > 0 && root.length > 1 && isRoot(root) ? withRoot(underlying, root) : withRoot(text);
}

/**
 * Reads a contract's name, `AAPL:2026-12-18:CALL:150`; CALL and PUT in any case.
 *
 * @param isUnderlying the form of the underlying: `isKeptSymbol` where the contract is not asked for, but kept
 * @returns why the text is no name, in words that quote nothing of it: it may be of a file of something else
 */
export function readContractName(
  text: string,
  isUnderlying: (text: string) => boolean = isSymbol,
): OptionContract | string {
  const [symbol = "", expiration = "", type = "", strike = "", ...rest] = text.split(":");
  const optionType = type.toUpperCase();
  const named = readRootedName(symbol);
  if (!isUnderlying(named.underlying) || strike === "" || rest.length > 0)
    return "the contract needs four parts";
  if (!isDateText(expiration)) return "the expiration is not a date";
  if (optionType !== "CALL" && optionType !== "PUT") return "the type is neither CALL nor PUT";
  if (!isStrike(strike)) return "the strike is not a decimal above 0";
  return { ...named, expiration, optionType, strike: plainStrike(strike) };
}

export const CONTRACT_EXAMPLE = "AAPL:2026-12-18:CALL:150";

/** A decimal above 0, without a sign. */
export function isStrike(text: string): boolean {
  return /^\d{1,9}(\.\d{1,6}0*)?$/.test(text) && /[1-9]/.test(text);
}

/** Drops leading and trailing zeros: `0285.50` becomes `285.5`. Text that is no strike stays as it is. */
export function plainStrike(strike: string): string {
  // As nearly all strikes are written.
  if (/^[1-9]\d*(?:\.\d*[1-9])?$/.test(strike)) return strike;
  const match = /^0*(\d+)(?:\.(\d*?)0*)?$/.exec(strike);
  if (!match) return strike;
  const [, whole = "0", fraction = ""] = match;
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

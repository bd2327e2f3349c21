/**
 * The root of an OCC symbol: with expiration, type and strike it names one contract. Mostly it is the symbol of the
 * underlying. SPXW is not (an underlying may have several roots), nor AAPL1 (a contract adjusted after a split), nor
 * BRKB (BRK.B without its point).
 */

export type RootedSymbol = {
  underlying: string;
  /** Such as `SPXW`; absent where the underlying implies it: `AAPL`, and `BRKB` of BRK.B. */
  root?: string | undefined;
};

const DOTTED = ["BF.B", "BRK.B", "CWEN.A", "HEI.A", "LEN.B", "LGF.A", "LGF.B", "MOG.A"];

/**
 * Assumed: these roots belong to these underlyings. The letters do not tell it, and the service answers by the
 * underlying's symbol. Other roots are those of the underlying they are called like.
 */
export const UNDERLYING_OF_ROOT: ReadonlyMap<string, string> = new Map([
  ["SPXW", "SPX"],
  ["NDXP", "NDX"],
  ["RUTW", "RUT"],
  ["VIXW", "VIX"],
  ["DJXW", "DJX"],
  ["XEO", "OEX"],
  ...DOTTED.map((symbol): [string, string] => [symbol.replace(".", ""), symbol]),
]);

const ROOT_OF_UNDERLYING: ReadonlyMap<string, string> = new Map(
  [...UNDERLYING_OF_ROOT].flatMap(([root, underlying]) =>
    isOwnRoot(root, underlying) ? [[underlying, root]] : [],
  ),
);

/**
 * The archive's name of a symbol, whoever wrote it: BRK.B for `BRK/B`. Nothing but a single letter behind a slash is changed:
 * `BAC/PRL` and `BTC/USD` stay.
 *
 * Assumed: a single letter behind a slash is a class of shares, at every service and in every file.
 */
export function archivedSymbol(symbol: string): string {
  return symbol.at(-2) === "/" ? symbol.replace(/^([^/]+)\/([A-Za-z])$/, "$1.$2") : symbol;
}

/** The same of a symbol in a name of the ledger: `BRK/B:2026-12-18:CALL:480`, `chain BRK/B:2026-12-18`. */
export function archivedName(name: string): string {
  return name.includes("/") ? name.replace(/^(?!watchlist )([^/:]+)\/([A-Za-z])(?=[: ]|$)/, "$1.$2") : name;
}

/** 1 to 6 capitals and digits, a letter among them. */
export function isRoot(text: string): boolean {
  return /^(?=.*[A-Z])[A-Z0-9]{1,6}$/.test(text);
}

/**
 * Splits a root. `AAPL1` is an adjusted contract of AAPL, `2SPY` a FLEX option of SPY (OCC: a digit behind the letters,
 * and one before them).
 */
export function rootedSymbol(root: string): RootedSymbol {
  const letters = /^[1-9]?([A-Z]+)[1-9]?$/.exec(root)?.[1] ?? root;
  return withRoot(UNDERLYING_OF_ROOT.get(root) ?? UNDERLYING_OF_ROOT.get(letters) ?? letters, root);
}

/** Leaves the root out where the underlying implies it. @param named the underlying, in whatever spelling */
export function withRoot(named: string, root: string | null = null): RootedSymbol {
  const underlying = archivedSymbol(named);
  return root === null || isOwnRoot(root, underlying) ? { underlying } : { underlying, root };
}

/** The beginning of the OCC symbol: `SPXW`, `AAPL`, `BRKB` of BRK.B. An underlying that is no root stays as it is. */
export function rootOf({ underlying, root }: RootedSymbol): string {
  return root ?? ROOT_OF_UNDERLYING.get(underlying) ?? underlying;
}

/** The roots of an underlying's contracts, its own first: `SPX` and `SPXW` of SPX. Adjusted ones are not known. */
export function rootsOf(underlying: string): string[] {
  const own = rootOf({ underlying });
  const further = [...UNDERLYING_OF_ROOT].flatMap(([root, of]) =>
    of === underlying && root !== own ? [root] : [],
  );
  return [own, ...further];
}

/** Whether the root of an OCC symbol is the underlying's own: `BRKB` of BRK.B. */
export function isOwnRoot(root: string, underlying: string): boolean {
  return root === underlying || root === underlying.replace(/[./-]/g, "");
}

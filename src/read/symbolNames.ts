/** How a vendor's names of securities become those of the archive. Pure. */

/** What a map says of it; each step goes on with what the one before has made. */
export type SymbolNames = {
  /** Whether names are put into capitals. */
  upper?: true;
  /** What stands between a stock and the letter of its class, where the archive has a point: `-` of `BRK-B`. */
  classMark?: string;
  /** Names that are others in the archive. */
  rename?: Record<string, string>;
};

/** Renames symbols; each name is done once at most. */
export function createRenamer({ upper, classMark, rename = {} }: SymbolNames): (symbol: string) => string {
  const renamed = new Map(Object.entries(rename));
  return (symbol) => {
    const written = upper === true ? symbol.toUpperCase() : symbol;
    const named = classMark === undefined ? written : withPoint(written, classMark);
    return renamed.get(named) ?? named;
  };
}

/** One letter is a class; `BTC-USD` and `BAC-PL` are no classes. */
function withPoint(symbol: string, mark: string): string {
  const place = symbol.length - mark.length - 1;
  const isClass =
    place > 0 &&
    symbol.slice(place, -1) === mark &&
    /^[a-z]$/iu.test(symbol.slice(-1)) &&
    /^[a-z]+$/iu.test(symbol.slice(0, place));
  return isClass ? `${symbol.slice(0, place)}.${symbol.slice(-1)}` : symbol;
}

/** How `plainItem.ts` reads each leaf: as a number, as a flag, or as a part of a group of leaves. */
import { fieldNames } from "../quotes/fields.ts";
import { LEAF, LEAF_PATHS, type QuoteLeaves } from "../services/reference/leaves.ts";

/** Groups of leaves whose values are not read one by one, in the order in which they stand in an item. */
export const GROUP = { instrument: 0, dividend: 1, underlying: 2, underlyingDividend: 3 } as const;
export const GROUP_COUNT = 4;

/** What a leaf is: of a group, up to GROUP_COUNT, or one of these. */
export const [DECIMAL, INTEGER, FLAG] = [4, 5, 6];

export const KINDS = kinds();

function kinds(): Uint8Array {
  const kinds = new Uint8Array(LEAF_PATHS.length).fill(DECIMAL);
  kinds.fill(GROUP.instrument, LEAF.description, LEAF.symbol + 1);
  kinds.fill(GROUP.underlying, LEAF.underlyingDescription, LEAF.underlyingSymbol + 1);
  for (const { values } of [LEAF.quote, LEAF.underlyingQuote])
    for (const name of fieldNames("integer")) if (values[name] > 0) kinds[values[name]] = INTEGER;
  const ofDividend = (group: number, { dividend }: QuoteLeaves): void =>
    Object.values(dividend).forEach((leaf) => (kinds[leaf] = group));
  ofDividend(GROUP.dividend, LEAF.quote);
  ofDividend(GROUP.underlyingDividend, LEAF.underlyingQuote);
  kinds[LEAF.unknownSymbol] = FLAG;
  return kinds;
}

/** Quotes of rows, with a memory: the same row gives the same quote, which is then written as XML only once. */
import type { PointInTimeRow } from "../../archive/pointInTime.ts";
import type { InstrumentQuote } from "../../quotes-api/document.ts";
import { quoteFromRow } from "./fromRow.ts";

/** How many instruments are remembered, a few kilobytes each. */
const MOST_INSTRUMENTS = 5_000;

/** Makes `quoteFromRow` with a memory of the last row of each instrument. @returns a function of its name and a row */
export function rememberedQuotes(): (name: string, row: PointInTimeRow) => InstrumentQuote {
  const known = new Map<string, { row: PointInTimeRow; quote: InstrumentQuote }>();
  return (name, row) => {
    const last = known.get(name);
    if (last && isSame(last.row, row)) return last.quote;
    if (known.size >= MOST_INSTRUMENTS) known.clear();
    const quote = quoteFromRow(row);
    known.set(name, { row, quote });
    return quote;
  };
}

/** Whether all is the same but the place among what was asked. */
function isSame(one: PointInTimeRow, other: PointInTimeRow): boolean {
  for (const column in other) {
    const name = column as keyof PointInTimeRow;
    if (one[name] !== other[name] && name !== "place") return false;
  }
  return true;
}

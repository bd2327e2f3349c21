/** Cells of Coverage: what they hold, how they are coloured, and which rows are shown. Pure. */
import type { CoverageRow, PackedCell } from "../../../archive/ask/dashboardTypes.ts";
import { percent, thousands } from "../../../ground/figures.ts";

export type HeatCell = { expected: number; stored: number; missed: number };

/** Null where nothing was due. */
export function unpacked(cell: PackedCell | undefined): HeatCell | null {
  if (cell === null || cell === undefined) return null;
  const [expected, missed] = typeof cell === "number" ? [cell, 0] : cell;
  return { expected, missed, stored: expected - missed };
}

export function sumOf({ cells }: CoverageRow): HeatCell {
  const sum = { expected: 0, stored: 0, missed: 0 };
  for (const packed of cells) {
    const cell = unpacked(packed);
    sum.expected += cell?.expected ?? 0;
    sum.stored += cell?.stored ?? 0;
    sum.missed += cell?.missed ?? 0;
  }
  return sum;
}

/** How much of it is stored, `99.2 %`; never 100 where something is missing. */
export function storedShare({ expected, stored }: HeatCell): string {
  const share = expected === 0 ? 100 : (100 * stored) / expected;
  return percent(stored < expected ? Math.min(99.9, share) : share, 1);
}

/** All stored, at least 95 %, less, nothing. */
export function heatLevel({ expected, stored }: HeatCell): "full" | "high" | "part" | "none" {
  if (stored >= expected) return "full";
  if (stored === 0) return "none";
  return stored >= 0.95 * expected ? "high" : "part";
}

/** A number of misses, short enough for a cell: `−42`, `−12k`. */
export function shortMissed({ missed }: HeatCell): string {
  return missed < 1_000 ? thousands(-missed) : `${thousands(-Math.round(missed / 1_000))}k`;
}

/** Rows that have the text in their names. @param missing only those that miss something */
export function foundRows(rows: readonly CoverageRow[], search: string, missing: boolean): CoverageRow[] {
  const words = search.trim().toUpperCase();
  const isWanted = ({ cells }: CoverageRow): boolean => !missing || cells.some(Array.isArray);
  return rows.filter((row) => row.instrument.toUpperCase().includes(words) && isWanted(row));
}

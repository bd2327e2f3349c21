/** Cells of Coverage: what they hold, how they are coloured, and which rows are shown. Pure. */
import type { CoverageRow, CoverageView, PackedCell } from "../../../archive/ask/dashboardTypes.ts";
import { percent } from "../../../figures.ts";

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

type HeatLevel = "full" | "high" | "part" | "low" | "none";

/** All stored, at least 95 %, at least half, less, nothing. */
export function heatLevel({ expected, stored }: HeatCell): HeatLevel {
  if (stored >= expected) return "full";
  if (stored === 0) return "none";
  const share = stored / expected;
  return share >= 0.95 ? "high" : share >= 0.5 ? "part" : "low";
}

/** Rows whose instrument has the text in its name; of those, if wanted, the ones that miss something. */
export function foundRows(
  { rows }: Pick<CoverageView, "rows">,
  { search, missing }: { search: string; missing: boolean },
): CoverageRow[] {
  const words = search.trim().toUpperCase();
  return rows.filter(
    ({ instrument, cells }) =>
      instrument.toUpperCase().includes(words) && (!missing || cells.some((cell) => Array.isArray(cell))),
  );
}

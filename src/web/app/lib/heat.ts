/** The heat map's rows and colours. Pure. */
import type { CoverageCell, CoverageView, SourceKind } from "../../api/types.ts";

/** One row: an instrument of one source, with its cell of each date or null where nothing was due. */
export type HeatRow = {
  instrument: string;
  source: SourceKind;
  cells: (CoverageCell | null)[];
  expected: number;
  missed: number;
};

/** Rows, worst first, each with a cell for each date of the view. */
export function heatRows({ dates, cells }: Pick<CoverageView, "dates" | "cells">): HeatRow[] {
  const places = new Map(dates.map(({ date }, place) => [date, place]));
  const rows = new Map<string, HeatRow>();
  for (const cell of cells) {
    const { instrument, source } = cell;
    const key = `${source} ${instrument}`;
    const row = rows.get(key) ?? { instrument, source, cells: dates.map(() => null), expected: 0, missed: 0 };
    rows.set(key, row);
    row.cells[places.get(cell.date) ?? 0] = cell;
    row.expected += cell.expected;
    row.missed += cell.missed;
  }
  const share = ({ missed, expected }: HeatRow): number => (expected === 0 ? 0 : missed / expected);
  const isOption = ({ instrument }: HeatRow): number => (instrument.includes(":") ? 1 : 0);
  return [...rows.values()].sort(
    (a, b) =>
      share(b) - share(a) ||
      isOption(a) - isOption(b) ||
      a.instrument.localeCompare(b.instrument, "en", { numeric: true }),
  );
}

/** Levels of a cell, best first. */
type HeatLevel = "full" | "high" | "part" | "low" | "none";

/** All stored, at least 95 %, at least half, less, nothing. */
export function heatLevel({ expected, stored }: CoverageCell): HeatLevel {
  if (stored >= expected) return "full";
  if (stored === 0) return "none";
  const share = stored / expected;
  return share >= 0.95 ? "high" : share >= 0.5 ? "part" : "low";
}

/** Bars that the lake's files leave out, and that `quotekeeper sql` makes of their quotes (migrations/duckdb/macros.sql). */
import { quoted } from "./duckFiles.ts";

/** Seconds of the bars that a lake's files have of some series alone. */
const WIDTHS: Readonly<Record<string, number>> = { bars_5m: 300, bars_1h: 3_600 };

/** Whether a lake's files of a table leave out bars that its quotes make. */
export function leavesOut(table: string): boolean {
  return WIDTHS[table] !== undefined;
}

/**
 * The bars of contracts of which some dates' files have none.
 *
 * @param table one that `leavesOut`
 * @param parts names of the relations that have the rows of these dates' files: quotes, extended quotes, and bars of this width
 * @returns SQL of rows with the table's columns
 */
export function barsLeftOut(table: string, parts: Record<"quotes" | "extended" | "bars", string>): string {
  const names = [parts.quotes, parts.extended, parts.bars].map(quoted);
  return `from bars_left_out(${[...names, WIDTHS[table]].join(", ")})`;
}

/** Ranges and widths of the instrument's chart, and which go together. Pure. */
import type { Interval } from "../../api/types.ts";

/** The ranges, as sessions with quotes. */
export const RANGES = [
  { name: "1D", label: "1 session", sessions: 1 },
  { name: "5D", label: "5 sessions", sessions: 5 },
  { name: "1M", label: "21 sessions", sessions: 21 },
  { name: "3M", label: "63 sessions", sessions: 63 },
  { name: "1Y", label: "252 sessions", sessions: 252 },
  { name: "All", label: "all sessions", sessions: 10_000 },
] as const;

/** Name of a range. */
type Range = (typeof RANGES)[number]["name"];

/** The widths, each with the most sessions it is drawn for. */
export const INTERVALS: readonly { name: Interval; most: number }[] = [
  { name: "1m", most: 5 },
  { name: "5m", most: 25 },
  { name: "1h", most: 260 },
  { name: "1d", most: 10_000 },
];

/** How many sessions a range has. */
export function sessionsOf(range: Range): number {
  return RANGES.find(({ name }) => name === range)?.sessions ?? 1;
}

/** The finest width at least as coarse as the wanted one that the range can be drawn in. */
export function intervalFor(range: Range, wanted: Interval): Interval {
  const sessions = sessionsOf(range);
  const from = INTERVALS.findIndex(({ name }) => name === wanted);
  return INTERVALS.slice(from).find(({ most }) => most >= sessions)?.name ?? "1d";
}

/** The longest range at most as long as the wanted one that the width can draw. */
export function rangeFor(interval: Interval, wanted: Range): Range {
  const most = INTERVALS.find(({ name }) => name === interval)?.most ?? 1;
  const upTo = RANGES.findIndex(({ name }) => name === wanted);
  return RANGES.slice(0, upTo + 1).findLast(({ sessions }) => sessions <= most)?.name ?? "1D";
}

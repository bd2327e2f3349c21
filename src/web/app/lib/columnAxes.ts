/** Axes of a picture of columns: round heights, and places where the exchange's clocks show a round time. Pure. */
import { exchangeSeconds } from "./format.ts";
import { instantOfField } from "./healthRange.ts";
import { ticksOf } from "./plot.ts";

/** Most heights that are named, above 0. */
const MOST_HEIGHTS = 5;

/** Round whole numbers from 0 up to the highest column. */
export function heightsOf(most: number): number[] {
  return ticksOf({ from: 0, to: most }, MOST_HEIGHTS).filter(Number.isInteger);
}

const HOUR_S = 3_600;

/** How far apart named times may be, s. */
const STEPS_S = [
  ...[60, 300, 900, 1_800],
  ...[1, 2, 3, 6, 12, 24, 48, 168, 672].map((hours) => hours * HOUR_S),
] as const;

/** A named time: `12:00`, or at midnight the date that begins. `share` is its place, from 0 at the left to 1. */
type NamedTime = { name: string; share: number };

/** @param span.from ISO 8601, as `to` @param most how many have room */
export function timesOf({ from, to }: { from: string; to: string }, most: number): NamedTime[] {
  const [first, last] = [exchangeSeconds(from), exchangeSeconds(to)];
  const step = STEPS_S.find((each) => (last - first) / each <= most) ?? Infinity;
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const times: NamedTime[] = [];
  for (let shown = Math.ceil(first / step) * step; shown <= last; shown += step) {
    const field = new Date(shown * 1_000).toISOString().slice(0, 16);
    const [date = "", time = ""] = field.split("T");
    const atMs = Date.parse(instantOfField(field) ?? from);
    times.push({ name: time === "00:00" ? date : time, share: (atMs - fromMs) / (toMs - fromMs) });
  }
  return times;
}

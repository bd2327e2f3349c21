/** Axes of pictures: round heights, round times of the exchange's clocks, and places whose distances are true. Pure. */
import { exchangeSeconds } from "./format.ts";
import { instantOfField } from "./healthRange.ts";

/** The smallest step of 1, 2 or 5 times a power of ten that fits into a range no more than `most` times. */
function roundStep(range: number, most: number): number {
  const power = 10 ** Math.floor(Math.log10(range / most));
  return power * ([1, 2, 5].find((times) => times * power * most >= range) ?? 10);
}

/** Most heights that are named, above 0. */
const MOST_HEIGHTS = 5;

/** Round whole numbers from 0 up to the highest column. */
export function heightsOf(most: number): number[] {
  const step = Math.max(1, roundStep(most, MOST_HEIGHTS));
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, place) => place * step);
}

/** Most places of a linear axis: a few to a pixel. */
const MOST_PLACES = 4_000;

/** Values that differ by less, as a part of the greatest, are as good as equal on an axis. */
const SAME = 1e-4;

/** Room at both ends of a linear axis, as a part of what lies between them. */
const ROOM = 0.03;

/**
 * Places at equal distances, from a little below the least value to a little above the greatest: a chart that puts its
 * places side by side has a linear axis then. `placeOf` is the place of a value.
 */
export function linearAxis(values: readonly number[]): {
  places: number[];
  placeOf: (value: number) => number;
} {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  // Values as good as equal have room as one value has: their own distance is less than twelve digits can tell.
  const room = most - least > Math.abs(most) * SAME ? (most - least) * ROOM : Math.abs(most) * ROOM || 1;
  const step = roundStep(most - least + 2 * room, MOST_PLACES);
  // Made from whole numbers: sums of 0.1 are not multiples of 0.1.
  const at = (number: number): number => Number((number * step).toPrecision(12));
  const [first, last] = [Math.floor((least - room) / step), Math.ceil((most + room) / step)];
  return {
    places: Array.from({ length: last - first + 1 }, (_, number) => at(first + number)),
    placeOf: (value) => at(Math.round(value / step)),
  };
}

const HOUR_S = 3_600;

/** Distances between named times, s. */
const STEPS_S = [60, 300, 900, 1_800, ...[1, 2, 3, 6, 12, 24, 48, 168, 672].map((hours) => hours * HOUR_S)];

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

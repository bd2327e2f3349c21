/** From a drawing to what the chart's series take. */
import type { CandlestickData, LineData, UTCTimestamp, WhitespaceData } from "lightweight-charts";
import type { Interval } from "../../../archive/ask/dashboardTypes.ts";
import { isOfDates } from "../../../archive/ask/widths.ts";
import { type Slot, numberOf } from "../lib/drawing.ts";
import { exchangeSeconds } from "../lib/format.ts";
import type { Columns } from "./panes.ts";
import type { ChartColors } from "./look.ts";

export type Place = { time: UTCTimestamp; slot: Slot };

/** Times as exchange clocks show them, dates as such; strictly ascending also where clocks are set back. */
export function placed(slots: readonly Slot[], interval: Interval): Place[] {
  let before = -Infinity;
  return slots.map((slot) => {
    const shown = isOfDates(interval) ? Date.parse(slot.at) / 1_000 : exchangeSeconds(slot.at);
    before = Math.max(shown, before + 1);
    return { time: before as UTCTimestamp, slot };
  });
}

/**
 * The bars as candles. One that ends where it began, as one of a single quote, has the colour of the way from the bar before.
 *
 * @param colors null: they are not seen
 */
export function candles(
  places: readonly Place[],
  colors: Pick<ChartColors, "up" | "down"> | null,
): (CandlestickData | WhitespaceData)[] {
  let [rises, before] = [true, NaN];
  return places.map(({ time, slot: { bar } }) => {
    const [open, high] = [numberOf(bar?.open), numberOf(bar?.high)];
    const [low, close] = [numberOf(bar?.low), numberOf(bar?.close)];
    if (open === null || high === null || low === null || close === null) return { time };
    const from = open === close ? before : open;
    if (close !== from) rises = !(close < from);
    before = close;
    const color = colors === null ? "transparent" : rises ? colors.up : colors.down;
    return { time, open, high, low, close, color, wickColor: color };
  });
}

/** The closes as a line, which is broken where there is none. */
export function closeLine(places: readonly Place[]): (LineData | WhitespaceData)[] {
  const closes = places.map(({ slot }) => numberOf(slot.bar?.close));
  return places.map(({ time }, index) => {
    const value = closes[index] ?? null;
    if (value === null) return { time };
    // The library joins what stands on both sides of an empty place; a point's colour is that of the way to the next one.
    return { time, value, ...((closes[index + 1] ?? null) === null && { color: "transparent" }) };
  });
}

/** A column that is taller than this many times what is usual is cut off there, and leaves the others a height to be seen in. */
const TALLEST = 2;

/** A bar after a hole has the volume of all of the hole. @returns null: no place has a value */
export function columnsOf(
  places: readonly Place[],
  field: "volume" | "meanSpread",
  colors: Pick<ChartColors, "volume" | "dim">,
): Columns | null {
  const values = places.map(({ slot }) => numberOf(slot.bar?.[field]));
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const [usual, largest] = [sorted[Math.ceil((sorted.length - 1) * 0.95)], sorted.at(-1)];
  if (usual === undefined || largest === undefined) return null;
  const most = Math.min(largest, TALLEST * usual) || largest || 1;
  const data = places.map(({ time }, index) => {
    const value = values[index] ?? null;
    if (value === null) return { time };
    return { time, value: Math.min(value, most), color: value > most ? colors.dim : colors.volume };
  });
  return { data, most };
}

/** From a drawing to what the chart's series take. */
import type {
  AutoscaleInfo,
  CandlestickData,
  HistogramData,
  LineData,
  PriceFormat,
  SeriesMarker,
  Time,
  UTCTimestamp,
  WhitespaceData,
} from "lightweight-charts";
import type { BarsView, Interval } from "../../../archive/ask/dashboardTypes.ts";
import { isOfDates, WIDTH_MS } from "../../../archive/ask/widths.ts";
import { numberOf } from "../../api/indicators.ts";
import { fixed, percent, price } from "../../../figures.ts";
import { exchangeSeconds } from "../lib/format.ts";
import type { Slot } from "../lib/chartGaps.ts";
import { type Drawing, type Line, percentOf } from "../lib/drawing.ts";
import type { LayerPoint } from "./layer.ts";
import type { ChartColors } from "./look.ts";

export type Place = { time: UTCTimestamp; slot: Slot };

/** A price as it is drawn: itself, or percent of the first close in view. */
export type Scale = (price: string | number | null | undefined) => number | null;

/** @param base see `Drawing` */
export function scaleOf(base: number | null): Scale {
  return (price) => {
    const value = typeof price === "string" ? Number(price) : (price ?? null);
    return base === null ? value : percentOf(value, base);
  };
}

/** Times as exchange clocks show them, dates as such; strictly ascending also where clocks are set back. */
export function placed(slots: readonly Slot[], interval: Interval): Place[] {
  let before = -Infinity;
  return slots.map((slot) => {
    const shown = isOfDates(interval) ? Date.parse(slot.at) / 1_000 : exchangeSeconds(slot.at);
    before = Math.max(shown, before + 1);
    return { time: before as UTCTimestamp, slot };
  });
}

/** Kinds of names on the time axis, as the library numbers them. */
const OF_A_YEAR = 0;
const OF_A_MONTH = 1;
const OF_A_DAY = 2;

/** A name of the time axis, as short as it can be told from its neighbours. @param time as `placed` gives it */
export function axisTime(time: Time, kind: number): string {
  const shown = new Date(Number(time) * 1_000).toISOString();
  if (kind === OF_A_YEAR) return shown.slice(0, 4);
  if (kind === OF_A_MONTH) return shown.slice(0, 7);
  return kind === OF_A_DAY ? shown.slice(5, 10) : shown.slice(11, 16);
}

export function candles(places: readonly Place[], scale: Scale): (CandlestickData | WhitespaceData)[] {
  return places.map(({ time, slot: { bar } }) => {
    const open = scale(bar?.open);
    const high = scale(bar?.high);
    const low = scale(bar?.low);
    const close = scale(bar?.close);
    if (open === null || high === null || low === null || close === null) return { time };
    return { time, open, high, low, close };
  });
}

/** Shares of bars above which candles are joined by a line: more than half of them are dashes. */
const MOST_FLAT = 0.5;

/** The closes as a line, where most bars have one price: a candle of one price is a dash. Empty where they have not. */
export function closeLine(places: readonly Place[], scale: Scale): (LineData | WhitespaceData)[] {
  const bars = places.flatMap(({ slot }) => slot.bar ?? []);
  const flat = bars.filter(({ high, low }) => high !== null && high === low).length;
  if (flat <= MOST_FLAT * bars.length) return [];
  const values = places.map(({ slot }) => numberOf(slot.bar?.close));
  return lineData(places, { unit: "price", values }, scale);
}

/** A line; where it has no value it is broken. */
export function lineData(
  places: readonly Place[],
  { unit, values }: Pick<Line, "unit" | "values">,
  scale: Scale,
): (LineData | WhitespaceData)[] {
  return places.map(({ time }, index) => {
    const value = values[index] ?? null;
    const drawn = unit === "percent" ? value : scale(value);
    if (drawn === null) return { time };
    // The library joins what stands on both sides of an empty place; a point's colour is that of the way to the next one.
    const isLast = (values[index + 1] ?? null) === null;
    return { time, value: drawn, ...(isLast && { color: "transparent" }) };
  });
}

export function spreads(places: readonly Place[]): (HistogramData | WhitespaceData)[] {
  return places.map(({ time, slot: { bar } }) => {
    const value = numberOf(bar?.meanSpread);
    return value === null ? { time } : { time, value };
  });
}

/** A bar after a hole has the volume of all of the hole; it stands out, and leaves the others a height to be seen in. */
const TALLEST = 2;

export function columns(
  places: readonly Place[],
  { volume, dim }: ChartColors,
): { data: (HistogramData | WhitespaceData)[]; scale: AutoscaleInfo | null } {
  const volumes = places.flatMap(({ slot }) => numberOf(slot.bar?.volume) ?? []).sort((a, b) => a - b);
  const usual = volumes[Math.floor((volumes.length - 1) * 0.95)] ?? 1;
  const tallest = Math.max(1, Math.min(volumes.at(-1) ?? 1, TALLEST * usual));
  const data = places.map(({ time, slot: { bar } }) => {
    const value = numberOf(bar?.volume);
    if (value === null) return { time };
    return { time, value: Math.min(value, tallest), color: value > tallest ? dim : volume };
  });
  return { data, scale: { priceRange: { minValue: 0, maxValue: tallest } } };
}

/** Places farther apart than this many widths have no band between them. */
const APART = 4;

/** What is drawn behind the candles. */
export function layer(
  places: readonly Place[],
  { view: { interval }, holes }: Drawing,
  scale: Scale,
): LayerPoint[] {
  const points: LayerPoint[] = places.map(({ time, slot: { session, bar } }, index) => {
    const before = places[index - 1]?.time ?? time;
    return {
      shaded: session !== null && session !== "regular" && session !== "early",
      apart: !isOfDates(interval) && (time - before) * 1_000 > APART * WIDTH_MS[interval],
      bid: scale(bar?.bid),
      ask: scale(bar?.ask),
      hole: null,
    };
  });
  for (const { from, to, empty, missed } of holes)
    for (const point of points.slice(from, to + 1)) point.hole = { empty, known: missed.length > 0 };
  return points;
}

const MOST_PLACES = 6;

/**
 * Prices with their decimals, percent with two.
 *
 * @param isHidden whether something else stands where the axis would name a value
 */
export function priceFormat(
  { places, base }: Pick<Drawing, "places" | "base">,
  isHidden: (value: number) => boolean = () => false,
): PriceFormat {
  const shown = base === null ? Math.min(places, MOST_PLACES) : 2;
  const formatter = (value: number): string => (base === null ? fixed(value, shown) : percent(value, shown));
  const tickmarksFormatter = (values: number[]): string[] =>
    values.map((value) => (isHidden(value) ? "" : formatter(value)));
  return { type: "custom", minMove: 10 ** -shown, formatter, tickmarksFormatter };
}

/** A mark at the first bar of each ex-date. */
export function dividendMarkers(
  view: BarsView,
  places: readonly Place[],
  colors: ChartColors,
): SeriesMarker<Time>[] {
  return view.dividends.flatMap(({ exDate, amount }) => {
    const place = places.find(({ slot }) => slot.date === exDate && slot.bar);
    if (!place) return [];
    const text = `D ${amount === null ? "" : price(amount)}`;
    return [{ time: place.time, position: "belowBar", shape: "circle", color: colors.accent, text }];
  });
}

/** From bars to what the chart's series take. */
import type {
  AutoscaleInfo,
  CandlestickData,
  HistogramData,
  SeriesMarker,
  Time,
  UTCTimestamp,
  WhitespaceData,
} from "lightweight-charts";
import type { BarsView, Interval } from "../../api/types.ts";
import { exchangeSeconds } from "../lib/format.ts";
import { type Slot, WIDTH_MS } from "../lib/chartGaps.ts";
import type { LayerPoint } from "./layer.ts";

/** A place of the time axis. */
type Place = { time: UTCTimestamp; slot: Slot };

/** Times as exchange clocks show them, dates as such; strictly ascending also where clocks are set back. */
export function placed(slots: readonly Slot[], interval: Interval): Place[] {
  let before = -Infinity;
  return slots.map((slot) => {
    const shown = interval === "1d" ? Date.parse(slot.at) / 1_000 : exchangeSeconds(slot.at);
    before = Math.max(shown, before + 1);
    return { time: before as UTCTimestamp, slot };
  });
}

/** Candles; empty places where there is no price. */
export function candles(places: readonly Place[]): (CandlestickData | WhitespaceData)[] {
  return places.map(({ time, slot: { bar } }) => {
    if (!bar || bar.open === null || bar.high === null || bar.low === null || bar.close === null)
      return { time };
    return {
      time,
      ...{ open: Number(bar.open), high: Number(bar.high), low: Number(bar.low), close: Number(bar.close) },
    };
  });
}

/** A bar after a hole has the volume of all of the hole; it stands out, and leaves the others a height to be seen in. */
const TALLEST = 2;

/** Columns of volume, and the scale they are drawn to. */
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
export function layer(places: readonly Place[], interval: Interval): LayerPoint[] {
  return places.map(({ time, slot: { session, bar } }, index) => {
    const before = places[index - 1]?.time ?? time;
    return {
      ...{ time, shaded: session !== "regular" && session !== "early" },
      apart: interval !== "1d" && (time - before) * 1_000 > APART * WIDTH_MS[interval],
      ...{ bid: numberOf(bar?.bid), ask: numberOf(bar?.ask) },
    };
  });
}

/** As many decimals as the prices have. */
export function priceFormat(slots: readonly Slot[]): { type: "price"; precision: number; minMove: number } {
  const precision = slots.reduce((most, { bar }) => {
    const decimals = /\.(\d+?)0*$/.exec(bar?.close ?? "")?.[1]?.length ?? 0;
    return Math.max(most, decimals);
  }, 2);
  const capped = Math.min(precision, 6);
  return { type: "price", precision: capped, minMove: 10 ** -capped };
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
    return [
      {
        time: place.time,
        position: "belowBar",
        shape: "circle",
        color: colors.accent,
        text: `D ${amount ?? ""}`,
      },
    ];
  });
}

function numberOf(text: string | null | undefined): number | null {
  return typeof text === "string" ? Number(text) : null;
}

// The style sheet's colours, for what is drawn on a canvas.

/** Names of the variables a chart is drawn with. */
export type ChartColors = Record<
  "ink" | "dim" | "line" | "panel" | "up" | "down" | "accent" | "band" | "shade" | "volume" | "sim-faint",
  string
>;

/** Reads them as they are at the moment, light or dark. */
export function readColors(element: HTMLElement): ChartColors {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colors: ChartColors = {
    ...{ ink: read("ink"), dim: read("dim"), line: read("line"), panel: read("panel"), up: read("up") },
    ...{ down: read("down"), accent: read("accent"), band: read("band"), shade: read("shade") },
    ...{ volume: read("volume"), "sim-faint": read("sim-faint") },
  };
  probe.remove();
  return colors;
}

/** How charts look: the style sheet's colours and fonts on a canvas, and what stands on the axes, each in one form and none cut off. */
import type { IChartApi, ISeriesApi, PriceFormat, SeriesType, Time } from "lightweight-charts";
import { fixed } from "../../../ground/figures.ts";

/** The font of a chart's axes. */
export const FONT = '"IBM Plex Mono", ui-monospace, monospace';

/**
 * A chart's layout from its beginning. The library's logo would bring an inline style, which the security policy refuses; the
 * footer names and links the library instead.
 */
export const LAYOUT = { attributionLogo: false, fontFamily: FONT, fontSize: 11 };

const COLOR_NAMES = [
  "ink",
  "dim",
  "line",
  "up",
  "down",
  "accent",
  "band",
  "shade",
  "volume",
  "sim",
  "sim-faint",
  "hole",
] as const;

/** The colours of the style sheet that charts have, by the names of their variables. */
export type ChartColors = Record<(typeof COLOR_NAMES)[number], string>;

export function readColors(element: HTMLElement): ChartColors {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colors = Object.fromEntries(COLOR_NAMES.map((name) => [name, read(name)])) as ChartColors;
  probe.remove();
  return colors;
}

/** The part of a chart's options that follows the theme. */
export function lookOf({ dim, line, band }: ChartColors) {
  return {
    layout: {
      background: { color: "transparent" },
      textColor: dim,
      panes: { separatorColor: line, separatorHoverColor: band },
    },
    grid: { vertLines: { color: line }, horzLines: { color: line } },
    rightPriceScale: { borderColor: line },
    timeScale: { borderColor: line },
    // No colour that a line has.
    crosshair: {
      vertLine: { color: dim, labelBackgroundColor: dim },
      horzLine: { color: dim, labelBackgroundColor: dim },
    },
  };
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

/** Half the width of a name on the time axis, px. */
export const HALF_NAME = 22;

/** The axis is named anew when a chart has been at rest for so long, ms. */
const REST_MS = 150;

/** Names the times of a chart whose place on the axis has room for the whole name. */
export function nameWholeTimes(chart: IChartApi): void {
  const scale = chart.timeScale();
  const tickMarkFormatter = (time: Time, kind: number): string => {
    const at = scale.timeToCoordinate(time);
    return at !== null && (at < HALF_NAME || at > scale.width() - HALF_NAME) ? "" : axisTime(time, kind);
  };
  chart.applyOptions({ timeScale: { tickMarkFormatter } });
  let timer = 0;
  const nameAnew = (): void => {
    clearTimeout(timer);
    // The library keeps names that it has asked for, until its options change.
    timer = window.setTimeout(() => chart.chartElement().isConnected && scale.applyOptions({}), REST_MS);
  };
  scale.subscribeVisibleLogicalRangeChange(nameAnew);
  scale.subscribeSizeChange(nameAnew);
}

/** How the numbers of an axis are written. `step`: what one in the last digit is. */
export type Numbers = { format: (value: number) => string; step: number };

export function pricesOf(places: number): Numbers {
  return { format: (value) => fixed(value, places), step: 10 ** -places };
}

const UNITS = [
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "K"],
] as const;

/** Volumes in the unit of the largest one: `12.5K`. */
export function volumesOf(most: number): Numbers {
  const [size, unit] = UNITS.find(([least]) => most >= least) ?? [1, ""];
  const places = size > 1 && most < 100 * size ? 1 : 0;
  const format = (value: number): string => (value === 0 ? "0" : `${fixed(value / size, places)}${unit}`);
  return { format, step: size / 10 ** places };
}

/** Half the height of a name on a price axis, px; the tag of the last price is as high. */
const HALF_LINE = 8;

/**
 * The numbers of a series' axis. A name that would reach over the edge of its pane is left out, and one that the tag covers, or that
 * would be rounded.
 *
 * @param tagged the value that has a tag
 */
export function axisFormat(
  series: ISeriesApi<SeriesType>,
  { format, step }: Numbers,
  tagged: number | null = null,
): PriceFormat {
  const isHidden = (value: number): boolean => {
    const at = series.priceToCoordinate(value) ?? NaN;
    const tag = tagged === null ? NaN : (series.priceToCoordinate(tagged) ?? NaN);
    const isAtEdge = at < HALF_LINE || at > series.getPane().getHeight() - HALF_LINE;
    const isRounded = Math.abs(value / step - Math.round(value / step)) > 1e-6;
    return isRounded || isAtEdge || Math.abs(at - tag) < 2 * HALF_LINE;
  };
  const tickmarksFormatter = (values: number[]): string[] =>
    values.map((value) => (isHidden(value) ? "" : format(value)));
  return { type: "custom", minMove: Math.min(1, step), formatter: format, tickmarksFormatter };
}

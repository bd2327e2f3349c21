/** What is drawn over the bars and below them: lines of other instruments and of averages, and the pane of the spread. */
import {
  createTextWatermark,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type ITextWatermarkPluginApi,
  LineSeries,
  type Time,
} from "lightweight-charts";
import type { Drawing, Line } from "../lib/drawing.ts";
import { lineData, type Place, priceFormat, type Scale, spreads } from "./data.ts";
import { type ChartColors } from "./look.ts";

const SPREAD_HEIGHT = 0.3;

const SPREAD_PLACES = 4;

/** Room for the name of the pane above its bars. */
const NAME_ABOVE = { top: 0.3, bottom: 0 };

const PLAIN = { priceLineVisible: false, lastValueVisible: false };

/** Dashed, as the library numbers styles. */
const DASHED = 2;

/** What lines are drawn on. */
type On = { places: readonly Place[]; scale: Scale; colors: ChartColors };

export class Overlays {
  readonly #chart: IChartApi;
  readonly #lines = new Map<string, ISeriesApi<"Line">>();
  #spread: ISeriesApi<"Histogram"> | null = null;
  #name: ITextWatermarkPluginApi<Time> | null = null;

  constructor(chart: IChartApi) {
    this.#chart = chart;
  }

  /** Draws those of a drawing; others are taken away. */
  draw(drawing: Drawing, on: On): void {
    this.#drawLines(drawing, on);
    this.#drawSpread(drawing, on);
  }

  #drawLines(drawing: Drawing, { places, scale, colors }: On): void {
    const wanted = new Map(drawing.lines.map((line) => [`${line.unit} ${line.key}`, line]));
    for (const [key, series] of this.#lines)
      if (!wanted.has(key)) {
        this.#chart.removeSeries(series);
        this.#lines.delete(key);
      }
    for (const [key, line] of wanted) {
      const series =
        this.#lines.get(key) ?? this.#chart.addSeries(LineSeries, { ...PLAIN, crosshairMarkerRadius: 3 });
      this.#lines.set(key, series);
      series.applyOptions({ ...styleOf(line, colors), priceFormat: priceFormat(drawing) });
      series.setData(lineData(places, line, scale));
    }
  }

  #drawSpread({ spread }: Drawing, { places, colors }: On): void {
    if (!spread) {
      // Its pane goes with it.
      if (this.#spread) this.#chart.removeSeries(this.#spread);
      this.#spread = null;
      return;
    }
    if (!this.#spread) {
      this.#spread = this.#chart.addSeries(HistogramSeries, PLAIN, 1);
      const [, pane] = this.#chart.panes();
      pane?.setStretchFactor(SPREAD_HEIGHT);
      this.#spread.priceScale().applyOptions({ scaleMargins: NAME_ABOVE });
      // At the left, where the oldest bars are: a series' own title covers the newest ones.
      if (pane) this.#name = createTextWatermark(pane, { horzAlign: "left", vertAlign: "top", lines: [] });
    }
    this.#name?.applyOptions({ lines: [{ text: "Spread", color: colors.dim, fontSize: 11 }] });
    this.#spread.applyOptions({
      color: colors.volume,
      priceFormat: priceFormat({ places: SPREAD_PLACES, base: null }),
    });
    this.#spread.setData(spreads(places));
  }
}

/** Averages are dashed: they are of this instrument. */
function styleOf(
  { unit, color }: Line,
  colors: ChartColors,
): { color: string; lineStyle: number; lineWidth: 1 | 2 } {
  return {
    color: colors[`series-${color}` as keyof ChartColors],
    ...(unit === "percent" ? { lineStyle: 0, lineWidth: 2 } : { lineStyle: DASHED, lineWidth: 1 }),
  };
}

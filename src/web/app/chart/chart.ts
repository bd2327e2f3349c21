/**
 * The instrument's chart: candles or a line, band, shaded hours, holes and dividends in one pane, and one each for volume and spread;
 * drawn with lightweight-charts.
 */
import {
  CandlestickSeries,
  createChart,
  LineSeries,
  PriceScaleMode,
  type IChartApi,
  type ISeriesApi,
} from "lightweight-charts";
import { isOfDates } from "../../../archive/ask/widths.ts";
import { type Drawing, numberOf } from "../lib/drawing.ts";
import { placeLabel } from "../lib/format.ts";
import {
  axisFormat,
  HALF_NAME,
  nameWholeTimes,
  pricesOf,
  volumesOf,
  type ChartColors,
  LAYOUT,
  lookOf,
  readColors,
} from "./look.ts";
import { ColumnPane, PLAIN, PaneWord } from "./panes.ts";
import { candles, closeLine, columnsOf, type Place, placed } from "./data.ts";
import { BehindBars } from "./layer.ts";

/** Of fewer bars each is as wide as of so many. */
const LEAST_BARS = 30;

const FRAME = {
  autoSize: true,
  layout: LAYOUT,
  timeScale: {
    timeVisible: true,
    secondsVisible: false,
    minBarSpacing: 0.1,
    rightOffset: 1,
    lockVisibleTimeRangeOnResize: true,
    // What is to follow the newest bar is fitted anew.
    shiftVisibleRangeOnNewBar: false,
    allowBoldLabels: false,
  },
  // The upper room has the word SIMULATED.
  rightPriceScale: { scaleMargins: { top: 0.14, bottom: 0.08 } },
  crosshair: { mode: 0 },
};

/** How far into the empty room before the first bar one scrolls until older bars are asked for, in places. */
const BEFORE_FIRST = 3;

/** How bars are drawn: their closes as a line, and prices on a logarithmic scale. */
export type Shape = { line: boolean; log: boolean };

/** What a chart tells: the place below a mouse or a finger, by its time, and that one scrolls to before the first bar. */
export type ChartListener = { pointAt: (at: string | null) => void; wantOlder: () => void };

export class Chart {
  readonly #element: HTMLElement;
  readonly #chart: IChartApi;
  readonly #line: ISeriesApi<"Line">;
  readonly #bars: ISeriesApi<"Candlestick">;
  readonly #volume: ColumnPane;
  readonly #spread: ColumnPane;
  readonly #behind = new BehindBars();
  readonly #watermark = new PaneWord();
  #drawn: { drawing: Drawing; shape: Shape } | null = null;
  #places: readonly Place[] = [];
  /** The time of the place that the keys have chosen. */
  #chosen: string | null = null;
  #isPointed = false;
  #isMoved = false;

  /** @param element what it fills */
  constructor(element: HTMLElement, { pointAt, wantOlder }: ChartListener) {
    this.#element = element;
    this.#chart = createChart(element, FRAME);
    this.#line = this.#chart.addSeries(LineSeries, { ...PLAIN, lineWidth: 2, crosshairMarkerVisible: false });
    this.#bars = this.#chart.addSeries(CandlestickSeries, { borderVisible: false });
    this.#volume = new ColumnPane(this.#chart, "Volume");
    this.#spread = new ColumnPane(this.#chart, "Spread");
    this.#bars.attachPrimitive(this.#behind);
    this.#bars.getPane().attachPrimitive(this.#watermark);
    nameWholeTimes(this.#chart);
    this.#chart.subscribeCrosshairMove(({ point, logical }) => {
      this.#isPointed = point !== undefined;
      // Each bar reaches half a place to both sides.
      const place = Math.max(0, Math.min(this.#places.length - 1, Math.round(logical ?? 0)));
      pointAt(point ? (this.#places[place]?.slot.at ?? null) : null);
    });
    this.#chart.timeScale().subscribeVisibleLogicalRangeChange((seen) => {
      if (seen && this.#isMoved && seen.from < -BEFORE_FIRST) wantOlder();
    });
    for (const act of ["wheel", "pointerdown", "touchstart"])
      element.addEventListener(act, () => (this.#isMoved = true), { capture: true, passive: true });
    this.repaint();
  }

  /**
   * Draws these bars. Whoever has moved the chart, or looks at a place of it, keeps what is in view.
   *
   * @param options.anew other bars than before: all of them come into view
   */
  show(drawing: Drawing, shape: Shape, { anew }: { anew: boolean }): void {
    this.#drawn = { drawing, shape };
    this.repaint();
    if (anew) [this.#isMoved, this.#chosen] = [false, null];
    if (anew || !(this.#isMoved || this.#isPointed || this.#chosen)) this.#fit();
    if (this.#chosen !== null) this.point(this.#chosen);
  }

  /** All bars fill the width, and few of them stand at its right end; the name of the first one has room. */
  #fit(): void {
    const scale = this.#chart.timeScale();
    const to = this.#places.length;
    const count = Math.max(LEAST_BARS, to) + 1;
    const spacing = Math.max(1, scale.width() - HALF_NAME) / count;
    scale.setVisibleLogicalRange({ from: to + 1 - count - HALF_NAME / spacing, to });
  }

  repaint(): void {
    const colors = readColors(this.#element);
    this.#chart.applyOptions(lookOf(colors));
    if (this.#drawn) this.#draw(this.#drawn, colors);
  }

  remove(): void {
    this.#chart.remove();
  }

  /** Puts the crosshair on a place, by its time, and the place into view; null: takes it away. */
  point(at: string | null): void {
    this.#chosen = at;
    const place = this.#places.findIndex(({ slot }) => slot.at === at);
    const chosen = this.#places[place];
    if (!chosen) return this.#chart.clearCrosshairPosition();
    const scale = this.#chart.timeScale();
    const seen = scale.getVisibleLogicalRange();
    if (seen && (place < seen.from || place > seen.to)) {
      const half = (seen.to - seen.from) / 2;
      scale.setVisibleLogicalRange({ from: place - half, to: place + half });
    }
    this.#chart.setCrosshairPosition(closeAt(this.#places, place) ?? 0, chosen.time, this.#bars);
  }

  #draw({ drawing, shape: { line, log } }: { drawing: Drawing; shape: Shape }, colors: ChartColors): void {
    const { view, slots, places: decimals } = drawing;
    const places = (this.#places = placed(slots, view.interval));
    const daily = isOfDates(view.interval);
    this.#chart.applyOptions({ localization: { timeFormatter: (time: number) => placeLabel(time, daily) } });
    const numbers = pricesOf(decimals);
    const priceFormat = axisFormat(this.#bars, numbers, closeAt(places, places.length - 1));
    const mode = log ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal;
    this.#bars.priceScale().applyOptions({ mode });
    // Candles that are not seen keep the scale, the crosshair and what is drawn behind them.
    this.#bars.applyOptions({ priceFormat, priceLineColor: line ? colors.ink : "" });
    this.#bars.setData(candles(places, line ? null : colors));
    // The first series is the one whose format the axis has.
    this.#line.applyOptions({ color: colors.ink, priceFormat });
    this.#line.setData(line ? closeLine(places) : []);
    const { dim } = colors;
    this.#volume.draw(columnsOf(places, "volume", colors), { numbers: volumesOf, dim });
    this.#spread.draw(columnsOf(places, "meanSpread", colors), { numbers: () => numbers, dim });
    this.#behind.show(drawing, colors);
    const text = view.source === "simulated" ? "SIMULATED" : "";
    this.#watermark.say({ text, color: colors["sim-faint"], size: 22 });
  }
}

/** The close at a place, or the last one before it. */
function closeAt(places: readonly Place[], place: number): number | null {
  return numberOf(places.slice(0, place + 1).findLast(({ slot }) => slot.bar?.close)?.slot.bar?.close);
}

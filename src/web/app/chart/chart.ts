/** The instrument's chart: candles, volume, bid-ask band, shaded hours, dividends; drawn with lightweight-charts. */
import {
  CandlestickSeries,
  createChart,
  createSeriesMarkers,
  createTextWatermark,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type ISeriesMarkersPluginApi,
  type ITextWatermarkPluginApi,
  type Time,
} from "lightweight-charts";
import type { BarsView } from "../../api/types.ts";
import { placeLabel } from "../lib/format.ts";
import { withGaps } from "../lib/chartGaps.ts";
import {
  type ChartColors,
  readColors,
  candles,
  columns,
  dividendMarkers,
  layer,
  placed,
  priceFormat,
} from "./data.ts";
import { BehindBars } from "./layer.ts";

/** What is drawn. */
type Drawing = { view: BarsView; simulated: boolean; nowMs: number };

const FONT = '"IBM Plex Mono", ui-monospace, monospace';

const FRAME = {
  autoSize: true,
  // Its logo brings an inline style, which the security policy refuses; the footer names and links it instead.
  layout: { attributionLogo: false, fontFamily: FONT, fontSize: 11 },
  timeScale: {
    timeVisible: true,
    secondsVisible: false,
    minBarSpacing: 0.1,
    maxBarSpacing: 18,
    rightOffset: 2,
  },
  rightPriceScale: { scaleMargins: { top: 0.08, bottom: 0.24 } },
  crosshair: { mode: 0 },
};

/** Puts a chart into an element. */
export class Chart {
  readonly #element: HTMLElement;
  readonly #chart: IChartApi;
  readonly #bars: ISeriesApi<"Candlestick">;
  readonly #volume: ISeriesApi<"Histogram">;
  readonly #behind = new BehindBars();
  readonly #markers: ISeriesMarkersPluginApi<Time>;
  readonly #watermark: ITextWatermarkPluginApi<Time>;
  #drawn: Drawing | null = null;

  /** @param element what it fills */
  constructor(element: HTMLElement) {
    this.#element = element;
    this.#chart = createChart(element, FRAME);
    this.#bars = this.#chart.addSeries(CandlestickSeries, { priceLineVisible: true });
    this.#volume = this.#chart.addSeries(HistogramSeries, {
      priceScaleId: "volume",
      priceFormat: { type: "volume" },
      priceLineVisible: false,
      lastValueVisible: false,
    });
    this.#volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    this.#bars.attachPrimitive(this.#behind);
    this.#markers = createSeriesMarkers(this.#bars, []);
    this.#watermark = createTextWatermark(this.#chart.panes()[0] ?? never(), { lines: [] });
    this.repaint();
  }

  /** Draws these bars. @param options.fit whether all of them are brought into view */
  show(drawing: Drawing, { fit }: { fit: boolean }): void {
    this.#drawn = drawing;
    this.repaint();
    if (fit) this.#chart.timeScale().fitContent();
  }

  /** Draws again, in the colours that the theme has now. */
  repaint(): void {
    const colors = readColors(this.#element);
    this.#style(colors);
    if (this.#drawn) this.#draw(this.#drawn, colors);
  }

  /** Takes it off the page. */
  remove(): void {
    this.#chart.remove();
  }

  #draw({ view, simulated, nowMs }: Drawing, colors: ChartColors): void {
    const slots = withGaps(view.bars, { interval: view.interval, sessions: view.sessions, nowMs });
    const places = placed(slots, view.interval);
    const { data, scale } = columns(places, colors);
    const daily = view.interval === "1d";
    this.#chart.timeScale().applyOptions({ timeVisible: !daily });
    this.#chart.applyOptions({ localization: { timeFormatter: (time: number) => placeLabel(time, daily) } });
    this.#bars.applyOptions({ priceFormat: priceFormat(slots) });
    this.#bars.setData(candles(places));
    this.#volume.applyOptions({ autoscaleInfoProvider: () => scale });
    this.#volume.setData(data);
    this.#behind.show(layer(places, view.interval), colors);
    this.#markers.setMarkers(dividendMarkers(view, places, colors));
    const lines = [
      { text: "SIMULATED", color: colors["sim-faint"], fontSize: 54, fontFamily: FONT, fontStyle: "500" },
    ];
    this.#watermark.applyOptions({
      visible: simulated,
      horzAlign: "center",
      vertAlign: "center",
      lines: simulated ? lines : [],
    });
  }

  #style(colors: ChartColors): void {
    this.#chart.applyOptions({
      layout: { background: { color: "transparent" }, textColor: colors.dim },
      grid: { vertLines: { color: colors.line }, horzLines: { color: colors.line } },
      rightPriceScale: { borderColor: colors.line },
      timeScale: { borderColor: colors.line },
      crosshair: {
        vertLine: { color: colors.dim, labelBackgroundColor: colors.accent },
        horzLine: { color: colors.dim, labelBackgroundColor: colors.accent },
      },
    });
    const { up, down } = colors;
    this.#bars.applyOptions({
      ...{ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down, borderVisible: false },
      priceLineColor: colors.accent,
    });
  }
}

function never(): never {
  throw new Error("a chart without a pane");
}

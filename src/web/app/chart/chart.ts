/** The instrument's chart: candles, volume, bid-ask band, shaded hours, dividends; drawn with lightweight-charts. */
import {
  CandlestickSeries,
  createChart,
  createSeriesMarkers,
  createTextWatermark,
  HistogramSeries,
  type ISeriesMarkersPluginApi,
  type Time,
} from "lightweight-charts";
import type { BarsView } from "../../api/types.ts";
import { placeLabel } from "../lib/format.ts";
import { withGaps } from "../lib/gaps.ts";
import { type ChartColors, readColors } from "./colors.ts";
import { candles, columns, dividendMarkers, layer, placed, priceFormat } from "./data.ts";
import { BehindBars } from "./layer.ts";

/** What is drawn. */
export type Drawing = { view: BarsView; simulated: boolean; nowMs: number };

/** A chart on the page. */
export type Chart = {
  show: (drawing: Drawing, options: { fit: boolean }) => void;
  /** Takes the colours of another theme. */
  repaint: () => void;
  remove: () => void;
};

const FONT = '"IBM Plex Mono", ui-monospace, monospace';

/** Puts a chart into an element. */
export function openChart(element: HTMLElement): Chart {
  const chart = createChart(element, {
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
  });
  const bars = chart.addSeries(CandlestickSeries, { priceLineVisible: true });
  const volume = chart.addSeries(HistogramSeries, {
    ...{
      priceScaleId: "volume",
      priceFormat: { type: "volume" },
      priceLineVisible: false,
      lastValueVisible: false,
    },
  });
  volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
  const behind = new BehindBars();
  bars.attachPrimitive(behind);
  const markers: ISeriesMarkersPluginApi<Time> = createSeriesMarkers(bars, []);
  const watermark = createTextWatermark(chart.panes()[0] ?? never(), { lines: [] });
  let drawn: Drawing | null = null;

  const draw = (): void => {
    const colors = readColors(element);
    style(colors);
    if (!drawn) return;
    const { view, simulated, nowMs } = drawn;
    const slots = withGaps(view.bars, { interval: view.interval, sessions: view.sessions, nowMs });
    const places = placed(slots, view.interval);
    const { data, scale } = columns(places, colors);
    const daily = view.interval === "1d";
    chart.timeScale().applyOptions({ timeVisible: !daily });
    chart.applyOptions({ localization: { timeFormatter: (time: number) => placeLabel(time, daily) } });
    bars.applyOptions({ priceFormat: priceFormat(slots) });
    bars.setData(candles(places));
    volume.applyOptions({ autoscaleInfoProvider: () => scale });
    volume.setData(data);
    behind.show(layer(places, view.interval), colors);
    markers.setMarkers(dividendMarkers(view, places, colors));
    const lines = [
      { text: "SIMULATED", color: colors["sim-faint"], fontSize: 54, fontFamily: FONT, fontStyle: "500" },
    ];
    watermark.applyOptions({
      visible: simulated,
      horzAlign: "center",
      vertAlign: "center",
      lines: simulated ? lines : [],
    });
  };

  const style = (colors: ChartColors): void => {
    chart.applyOptions({
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
    bars.applyOptions({
      ...{ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down, borderVisible: false },
      priceLineColor: colors.accent,
    });
  };

  draw();
  return {
    show: (drawing, { fit }) => {
      drawn = drawing;
      draw();
      if (fit) chart.timeScale().fitContent();
    },
    repaint: draw,
    remove: () => chart.remove(),
  };
}

function never(): never {
  throw new Error("a chart without a pane");
}

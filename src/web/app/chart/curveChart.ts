/** Curves with their bands over a linear axis of numbers; drawn with lightweight-charts. */
import {
  createOptionsChart,
  LineSeries,
  type IChartApiBase,
  type ISeriesApi,
  type ISeriesPrimitive,
} from "lightweight-charts";
import { percent } from "../../../figures.ts";
import { linearAxis } from "../lib/axes.ts";
import { type Curve, type CurvePoint, usualBand } from "../lib/curves.ts";
import { drawBand } from "./band.ts";
import { type ChartColors, LAYOUT, lookOf, readColors } from "./look.ts";

const FRAME = {
  autoSize: true,
  layout: LAYOUT,
  handleScroll: false,
  handleScale: false,
  timeScale: {
    // Names and the crosshair stand at points, and not at the places between them.
    ignoreWhitespaceIndices: true,
    lockVisibleTimeRangeOnResize: true,
    minBarSpacing: 0.01,
    tickMarkMaxCharacterLength: 5,
    allowBoldLabels: false,
  },
  rightPriceScale: { scaleMargins: { top: 0.08, bottom: 0.08 } },
  crosshair: {
    mode: 0,
    vertLine: { labelVisible: false },
    horzLine: { visible: false, labelVisible: false },
  },
  grid: { vertLines: { visible: false } },
};

/** What all series have. The axis has the format of the first one. */
const SERIES = {
  priceLineVisible: false,
  lastValueVisible: false,
  priceFormat: { type: "custom", minMove: 0.01, formatter: (value: number) => percent(value) },
} as const;

const TONES = { call: "accent", put: "down", term: "accent" } as const;

/** How much of its curve's colour a band has. */
const BAND_ALPHA = 0.16;

/** Solid and dashed, as the library numbers styles. */
const [SOLID, DASHED] = [0, 2];

export class CurveChart {
  readonly #element: HTMLElement;
  readonly #chart: IChartApiBase<number>;
  /** Has all places of the axis, and no value. */
  readonly #axis: ISeriesApi<"Line", number>;
  #series: ISeriesApi<"Line", number>[] = [];
  /** The points' own `x`, by their places. */
  #xs = new Map<number, number>();

  /** @param pointAt is told the `x` of the points below the pointer; null: it points at none */
  constructor(element: HTMLElement, pointAt: (x: number | null) => void) {
    this.#element = element;
    this.#chart = createOptionsChart(element, FRAME);
    this.#axis = this.#chart.addSeries(LineSeries, SERIES);
    const point = ({ time }: { time?: number }): void => pointAt(this.#xs.get(time ?? NaN) ?? null);
    this.#chart.subscribeCrosshairMove(point);
    // A finger that taps moves no crosshair.
    this.#chart.subscribeClick(point);
  }

  /** Draws curves in the colours of the theme. @param decimals of the axis' numbers */
  show(curves: readonly Curve[], decimals: number): void {
    const colors = readColors(this.#element);
    const xs = curves.flatMap(({ points }) => points.map(({ x }) => x));
    const { places, placeOf } = linearAxis(xs);
    this.#chart.applyOptions({ ...lookOf(colors), localization: { precision: decimals } } as object);
    for (const series of this.#series) this.#chart.removeSeries(series);
    this.#xs = new Map(xs.map((x) => [placeOf(x), x]));
    this.#axis.setData(places.map((time) => ({ time })));
    this.#series = curves.map((curve) => this.#draw(curve, { placeOf, colors }));
    this.#chart.timeScale().setVisibleLogicalRange({ from: 0, to: places.length - 1 });
  }

  remove(): void {
    this.#chart.remove();
  }

  #draw(
    { tone, points }: Curve,
    { placeOf, colors }: { placeOf: (x: number) => number; colors: ChartColors },
  ): ISeriesApi<"Line", number> {
    const color = colors[TONES[tone]];
    const series = this.#chart.addSeries(LineSeries, {
      ...SERIES,
      color,
      lineWidth: 2,
      lineStyle: tone === "put" ? DASHED : SOLID,
      pointMarkersVisible: true,
      pointMarkersRadius: 2.6,
    });
    // Points closer to each other than the axis can tell are one.
    const placed = new Map(points.map((point) => [placeOf(point.x), point]));
    series.setData([...placed].map(([time, { y }]) => ({ time, value: y })));
    series.attachPrimitive(bandOf(placed, color));
    return series;
  }
}

/**
 * The band of a curve. The axis has room for all middles and a band as wide as half of them are: a band that is much wider
 * is cut off, because nobody means what is quoted there.
 */
function bandOf(placed: ReadonlyMap<number, CurvePoint>, color: string): ISeriesPrimitive<number> {
  type Attached = Parameters<NonNullable<ISeriesPrimitive<number>["attached"]>>[0];
  let attached: Attached | null = null;
  const points = [...placed.values()];
  const middles = points.map(({ y }) => y);
  const band = usualBand(points);
  const room = { minValue: Math.min(...middles) - band, maxValue: Math.max(...middles) + band };
  const draw = (context: CanvasRenderingContext2D, { chart, series }: Attached): void => {
    const y = (value: number | null): number | null =>
      value === null ? null : series.priceToCoordinate(value);
    context.globalAlpha = BAND_ALPHA;
    const places = [...placed].map(([time, { bid, ask }]) => ({
      x: chart.timeScale().timeToCoordinate(time),
      bid: y(bid),
      ask: y(ask),
    }));
    drawBand(context, places, color);
  };
  return {
    attached: (to) => void (attached = to),
    detached: () => void (attached = null),
    autoscaleInfo: () => ({ priceRange: room }),
    paneViews: () => [
      {
        zOrder: () => "bottom",
        renderer: () => ({
          draw: (target) =>
            target.useMediaCoordinateSpace(({ context }) => attached && draw(context, attached)),
        }),
      },
    ],
  };
}

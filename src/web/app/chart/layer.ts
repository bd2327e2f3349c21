/**
 * What is drawn behind the bars: shaded hours outside the regular session, the band between bid and ask, dividends, and holes: a
 * stretch where bars are missing, and a mark at the pane's foot wherever quotes are.
 */
import type {
  AutoscaleInfo,
  IPrimitivePaneRenderer,
  IPrimitivePaneView,
  ISeriesPrimitive,
  Logical,
  SeriesAttachedParameter,
  Time,
} from "lightweight-charts";
import { isOfDates, WIDTH_MS } from "../../../archive/ask/widths.ts";
import { type Drawing, numberOf } from "../lib/drawing.ts";
import { price } from "../../../ground/figures.ts";
import { type ChartColors, FONT } from "./look.ts";

/** Places farther apart than this many widths have no band between them. */
const APART = 4;

type LayerPoint = {
  /** Whether much time lies between it and the place before: the band does not reach over it. */
  apart: boolean;
  shaded: boolean;
  bid: number | null;
  ask: number | null;
  /** Quotes are missing here. `empty`: there is no bar; `known`: the ledger has the reason. */
  hole: { empty: boolean; known: boolean } | null;
  /** Of the first bar of an ex-date: the dividend. */
  dividend: string | null;
};

function pointsOf({ view: { interval, dividends }, slots, holes }: Drawing): LayerPoint[] {
  const points: LayerPoint[] = slots.map(({ at, session, bar }, index) => {
    const sinceMs = Date.parse(at) - Date.parse(slots[index - 1]?.at ?? at);
    return {
      shaded: session !== null && session !== "regular" && session !== "early",
      apart: !isOfDates(interval) && sinceMs > APART * WIDTH_MS[interval],
      bid: numberOf(bar?.bid),
      ask: numberOf(bar?.ask),
      hole: null,
      dividend: null,
    };
  });
  for (const { exDate, amount } of dividends) {
    const point = points[slots.findIndex(({ date, bar }) => date === exDate && bar)];
    if (point) point.dividend = amount === null ? "D" : `D ${price(amount)}`;
  }
  for (const { from, to, empty, missed } of holes)
    for (const point of points.slice(from, to + 1)) point.hole = { empty, known: missed.length > 0 };
  return points;
}

const MARK = 4;

export class BehindBars implements ISeriesPrimitive<Time> {
  #points: readonly LayerPoint[] = [];
  #colors: ChartColors | null = null;
  #attached: SeriesAttachedParameter<Time> | null = null;
  readonly #views: IPrimitivePaneView[] = [{ zOrder: () => "bottom", renderer: () => this.#renderer() }];

  attached(attached: SeriesAttachedParameter<Time>): void {
    this.#attached = attached;
  }

  detached(): void {
    this.#attached = null;
  }

  show(drawing: Drawing, colors: ChartColors): void {
    this.#points = pointsOf(drawing);
    this.#colors = colors;
    this.#attached?.requestUpdate();
  }

  /** The band is part of what the price scale makes room for. */
  autoscaleInfo(from: Logical, to: Logical): AutoscaleInfo | null {
    const seen = this.#points.slice(Math.max(0, Math.floor(from)), Math.max(0, Math.ceil(to)) + 1);
    const prices = seen.flatMap(({ bid, ask }) => (bid === null || ask === null ? [] : [bid, ask]));
    if (prices.length === 0) return null;
    return { priceRange: { minValue: Math.min(...prices), maxValue: Math.max(...prices) } };
  }

  paneViews(): readonly IPrimitivePaneView[] {
    return this.#views;
  }

  #renderer(): IPrimitivePaneRenderer {
    const [colors, placed] = [this.#colors, this.#placed()];
    return {
      draw: (target) =>
        target.useMediaCoordinateSpace(
          ({ context, mediaSize: { height } }) => colors && drawBehind(context, placed, { height, colors }),
        ),
    };
  }

  #placed(): PlacedPoint[] {
    const { chart, series } = this.#attached ?? {};
    const scale = chart?.timeScale();
    const seen = scale?.getVisibleLogicalRange();
    if (!scale || !series || !seen) return [];
    const first = Math.max(0, Math.floor(seen.from) - 1);
    const half = scale.options().barSpacing / 2;
    const y = (price: number | null): number | null =>
      price === null ? null : series.priceToCoordinate(price);
    return this.#points.slice(first, Math.max(0, Math.ceil(seen.to)) + 2).map((point, index) => {
      const x = scale.logicalToCoordinate((first + index) as Logical);
      return { ...point, half, x, bid: y(point.bid), ask: y(point.ask) };
    });
  }
}

type PlacedPoint = LayerPoint & { x: number | null; half: number };

function drawBehind(
  context: CanvasRenderingContext2D,
  placed: readonly PlacedPoint[],
  { height, colors }: { height: number; colors: ChartColors },
): void {
  const fill = (color: string, isOfKind: (point: PlacedPoint) => boolean, mark?: number): void => {
    context.fillStyle = color;
    for (const { x, half } of placed.filter(isOfKind)) {
      // To whole pixels: neighbours neither overlap nor leave a seam. A mark is seen however narrow its place is.
      const [from, to] = [Math.round((x ?? 0) - half), Math.round((x ?? 0) + half)];
      context.fillRect(from, height - (mark ?? height), Math.max(to - from, mark ? 2 : 0), mark ?? height);
    }
  };
  fill(colors.shade, ({ shaded }) => shaded);
  fill(colors.hole, ({ hole }) => hole?.empty === true);
  drawBand(context, placed, colors.band);
  fill(colors.sim, ({ hole }) => hole?.known === true, MARK);
  fill(colors.dim, ({ hole }) => hole?.known === false, MARK);
  Object.assign(context, { fillStyle: colors.accent, font: `600 11px ${FONT}`, textAlign: "center" });
  for (const { dividend, x } of placed)
    if (dividend !== null) context.fillText(dividend, x ?? 0, height - 2 * MARK);
}

/** Draws one shape for each run of places that have both sides: a gap stays a gap. */
function drawBand(context: CanvasRenderingContext2D, placed: readonly PlacedPoint[], color: string): void {
  context.fillStyle = context.strokeStyle = color;
  context.lineWidth = 1;
  let run: { x: number; bid: number; ask: number }[] = [];
  const flush = (): void => {
    if (run.length > 0) {
      context.beginPath();
      for (const { x, ask } of run) context.lineTo(x, ask);
      for (const { x, bid } of run.toReversed()) context.lineTo(x, bid);
      context.closePath();
      context.fill();
      context.stroke();
    }
    run = [];
  };
  for (const { apart, x, bid, ask } of placed) {
    if (apart) flush();
    if (x === null || bid === null || ask === null) flush();
    else run.push({ x, bid, ask });
  }
  flush();
}

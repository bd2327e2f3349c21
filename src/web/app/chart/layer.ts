/**
 * What is drawn behind the bars: shaded hours outside the regular session, the band between bid and ask, and holes: a
 * stretch where bars are missing, and a mark on the axis wherever quotes are.
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
import { drawBand } from "./band.ts";

export type LayerPoint = {
  /** Whether much time lies between it and the place before: the band does not reach over it. */
  apart: boolean;
  shaded: boolean;
  bid: number | null;
  ask: number | null;
  /** Quotes are missing here. `empty`: there is no bar; `known`: the ledger has the reason. */
  hole: { empty: boolean; known: boolean } | null;
};

type Colors = { band: string; shade: string; hole: string; sim: string; dim: string };

/** Height of the mark of a hole, px. */
const MARK = 4;

export class BehindBars implements ISeriesPrimitive<Time> {
  #points: readonly LayerPoint[] = [];
  #colors: Colors | null = null;
  #attached: SeriesAttachedParameter<Time> | null = null;

  attached(attached: SeriesAttachedParameter<Time>): void {
    this.#attached = attached;
  }

  detached(): void {
    this.#attached = null;
  }

  show(points: readonly LayerPoint[], colors: Colors): void {
    this.#points = points;
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
    return [
      { zOrder: () => "bottom", renderer: () => this.#renderer(drawBehind) },
      // Above the volume's columns.
      { zOrder: () => "top", renderer: () => this.#renderer(drawMarks) },
    ];
  }

  #renderer(
    draw: (canvas: Canvas, placed: readonly Placed[], colors: Colors) => void,
  ): IPrimitivePaneRenderer | null {
    const [attached, colors] = [this.#attached, this.#colors];
    if (!attached || !colors) return null;
    const { chart, series } = attached;
    const scale = chart.timeScale();
    const seen = scale.getVisibleLogicalRange();
    if (!seen) return null;
    const first = Math.max(0, Math.floor(seen.from) - 1);
    const half = scale.options().barSpacing / 2;
    const coordinate = (price: number | null): number | null =>
      price === null ? null : series.priceToCoordinate(price);
    const placed = this.#points.slice(first, Math.max(0, Math.ceil(seen.to)) + 2).map((point, index) => ({
      ...point,
      half,
      x: scale.logicalToCoordinate((first + index) as Logical),
      bid: coordinate(point.bid),
      ask: coordinate(point.ask),
    }));
    return {
      draw: (target) =>
        target.useMediaCoordinateSpace(({ context, mediaSize: { height } }) =>
          draw({ context, height }, placed, colors),
        ),
    };
  }
}

type Canvas = { context: CanvasRenderingContext2D; height: number };

type Placed = LayerPoint & { x: number | null; half: number };

function drawBehind(canvas: Canvas, placed: readonly Placed[], colors: Colors): void {
  const { context, height } = canvas;
  const shade = (isOfKind: (point: Placed) => boolean, color: string): void =>
    stretches(placed, isOfKind, (from, to) => {
      context.fillStyle = color;
      context.fillRect(from, 0, to - from, height);
    });
  shade(({ shaded }) => shaded, colors.shade);
  shade(({ hole }) => hole?.empty === true, colors.hole);
  drawBand(context, placed, colors.band);
}

function drawMarks({ context, height }: Canvas, placed: readonly Placed[], colors: Colors): void {
  for (const known of [true, false])
    stretches(
      placed,
      ({ hole }) => hole?.known === known,
      (from, to) => {
        context.fillStyle = known ? colors.sim : colors.dim;
        // Neighbours of a pixel's width or less are still seen.
        context.fillRect(from, height - MARK, Math.max(2, to - from), MARK);
      },
    );
}

/** Runs of neighbouring places of a kind, from where the first begins to where the last ends. */
function stretches(
  placed: readonly Placed[],
  isOfKind: (point: Placed) => boolean,
  draw: (from: number, to: number) => void,
): void {
  let [from, to]: [number | null, number] = [null, 0];
  for (const point of placed) {
    const { x, half } = point;
    if (x === null) continue;
    if (isOfKind(point)) {
      from ??= x - half;
      to = x + half;
    } else {
      if (from !== null) draw(from, to);
      from = null;
    }
  }
  if (from !== null) draw(from, to);
}

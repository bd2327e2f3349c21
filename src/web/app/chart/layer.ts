/** What is drawn behind the bars: shaded hours outside the regular session, and the band between bid and ask. */
import type {
  AutoscaleInfo,
  IPrimitivePaneRenderer,
  IPrimitivePaneView,
  ISeriesPrimitive,
  Logical,
  SeriesAttachedParameter,
  Time,
  UTCTimestamp,
} from "lightweight-charts";

/** One place of the time axis. */
export type LayerPoint = {
  time: UTCTimestamp;
  /** Whether much time lies between it and the place before: the band does not reach over it. */
  apart: boolean;
  shaded: boolean;
  bid: number | null;
  ask: number | null;
};

type Colors = { band: string; shade: string };

/** A layer behind a series. */
export class BehindBars implements ISeriesPrimitive<Time> {
  #points: readonly LayerPoint[] = [];
  #colors: Colors = { band: "transparent", shade: "transparent" };
  #attached: SeriesAttachedParameter<Time> | null = null;

  attached(attached: SeriesAttachedParameter<Time>): void {
    this.#attached = attached;
  }

  detached(): void {
    this.#attached = null;
  }

  /** Takes other points, ascending. */
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
    const bounds = { minValue: Infinity, maxValue: -Infinity };
    for (const price of prices) {
      bounds.minValue = Math.min(bounds.minValue, price);
      bounds.maxValue = Math.max(bounds.maxValue, price);
    }
    return { priceRange: bounds };
  }

  paneViews(): readonly IPrimitivePaneView[] {
    return [{ zOrder: () => "bottom", renderer: () => this.#renderer() }];
  }

  #renderer(): IPrimitivePaneRenderer | null {
    const attached = this.#attached;
    if (!attached) return null;
    const { chart, series } = attached;
    const scale = chart.timeScale();
    const placed = this.#points.map((point) => ({
      ...{ x: scale.timeToCoordinate(point.time), shaded: point.shaded, apart: point.apart },
      bid: point.bid === null ? null : series.priceToCoordinate(point.bid),
      ask: point.ask === null ? null : series.priceToCoordinate(point.ask),
    }));
    const half = scale.options().barSpacing / 2;
    const colors = this.#colors;
    return {
      draw: (target) =>
        target.useMediaCoordinateSpace(({ context, mediaSize }) => {
          context.fillStyle = colors.shade;
          let from: number | null = null;
          let to = 0;
          const flush = (): void => {
            if (from !== null) context.fillRect(from, 0, to - from, mediaSize.height);
            from = null;
          };
          for (const { x, shaded } of placed) {
            if (x === null) continue;
            if (!shaded) {
              flush();
              continue;
            }
            from ??= x - half;
            to = x + half;
          }
          flush();
          drawBand(context, placed, colors.band);
        }),
    };
  }
}

type Placed = { apart: boolean; x: number | null; bid: number | null; ask: number | null };

/** One shape for each run of places that have both sides: a gap stays a gap. */
function drawBand(context: CanvasRenderingContext2D, placed: readonly Placed[], color: string): void {
  context.fillStyle = color;
  context.strokeStyle = color;
  context.lineWidth = 1;
  let run: { x: number; bid: number; ask: number }[] = [];
  const flush = (): void => {
    if (run.length > 0) {
      context.beginPath();
      run.forEach(({ x, ask }, index) => (index === 0 ? context.moveTo(x, ask) : context.lineTo(x, ask)));
      [...run].reverse().forEach(({ x, bid }) => context.lineTo(x, bid));
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

/** Panes of a chart: a word in the upper left of one, and a pane of columns below the bars. */
import {
  type IPanePrimitive,
  type IPanePrimitivePaneView,
  type PaneAttachedParameter,
  type Time,
  HistogramSeries,
  type HistogramData,
  type IChartApi,
  type ISeriesApi,
  PriceScaleMode,
  type WhitespaceData,
} from "lightweight-charts";
import { FONT, axisFormat, type Numbers } from "./look.ts";

/** Room to the left of it and above it, px. */
const ROOM = 8;

/** `size`: of its letters, px. */
type Word = { text: string; color: string; size: number };

export class PaneWord implements IPanePrimitive<Time> {
  #word: Word = { text: "", color: "", size: 0 };
  #update: (() => void) | null = null;
  readonly #views: IPanePrimitivePaneView[] = [
    {
      zOrder: () => "bottom",
      renderer: () => ({
        draw: (target) => target.useMediaCoordinateSpace(({ context }) => write(context, this.#word)),
      }),
    },
  ];

  attached({ requestUpdate }: PaneAttachedParameter<Time>): void {
    this.#update = requestUpdate;
  }

  paneViews(): readonly IPanePrimitivePaneView[] {
    return this.#views;
  }

  say(word: Word): void {
    this.#word = word;
    this.#update?.();
  }
}

function write(context: CanvasRenderingContext2D, { text, color, size }: Word): void {
  context.font = `${size}px ${FONT}`;
  context.fillStyle = color;
  context.textBaseline = "top";
  context.fillText(text, ROOM, ROOM);
}

/** A series without a line and a tag at its last value. */
export const PLAIN = { priceLineVisible: false, lastValueVisible: false };

/** Its height, where that of the bars' pane is 2. */
const HEIGHT = 0.45;

/** `most`: where the scale ends. */
export type Columns = { data: (HistogramData | WhitespaceData)[]; most: number };

export class ColumnPane {
  readonly #chart: IChartApi;
  readonly #title: string;
  #shown: { series: ISeriesApi<"Histogram">; name: PaneWord } | null = null;

  constructor(chart: IChartApi, title: string) {
    this.#chart = chart;
    this.#title = title;
  }

  /** @param columns null: there are none @param of.dim the colour of the name */
  draw(columns: Columns | null, { numbers, dim }: { numbers: (most: number) => Numbers; dim: string }): void {
    if (columns === null) {
      // The pane goes with its series.
      if (this.#shown) this.#chart.removeSeries(this.#shown.series);
      this.#shown = null;
      return;
    }
    const { series, name } = (this.#shown ??= this.#open());
    const { data, most } = columns;
    name.say({ text: this.#title, color: dim, size: 11 });
    series.applyOptions({
      autoscaleInfoProvider: () => ({ priceRange: { minValue: 0, maxValue: most } }),
      priceFormat: axisFormat(series, numbers(most)),
    });
    series.setData(data);
  }

  #open() {
    const series = this.#chart.addSeries(HistogramSeries, PLAIN, this.#chart.panes().length);
    const pane = series.getPane();
    pane.setStretchFactor(HEIGHT);
    // A new pane begins with the options of the bars' scale. In so little height its values stand closer.
    const scale = {
      mode: PriceScaleMode.Normal,
      tickMarkDensity: 1.5,
      scaleMargins: { top: 0.3, bottom: 0 },
    };
    series.priceScale().applyOptions(scale);
    const name = new PaneWord();
    pane.attachPrimitive(name);
    return { series, name };
  }
}

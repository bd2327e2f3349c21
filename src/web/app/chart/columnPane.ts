/** A pane of columns below the bars. Its name has room of its own above them. It is there as long as it has a value. */
import {
  HistogramSeries,
  type HistogramData,
  type IChartApi,
  type ISeriesApi,
  PriceScaleMode,
  type WhitespaceData,
} from "lightweight-charts";
import { axisFormat, type Numbers } from "./axisNames.ts";
import { PaneWord } from "./paneWord.ts";

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

/** The instrument's chart: candles, volume, band, shaded hours, holes, dividends, and lines; drawn with lightweight-charts. */
import {
  CandlestickSeries,
  createChart,
  createSeriesMarkers,
  createTextWatermark,
  HistogramSeries,
  LineSeries,
  type IChartApi,
  type ISeriesApi,
  type ISeriesMarkersPluginApi,
  type ITextWatermarkPluginApi,
  type Time,
} from "lightweight-charts";
import { isOfDates } from "../../../archive/ask/widths.ts";
import { captionOf, type Drawing, type Caption } from "../lib/drawing.ts";
import { placeLabel } from "../lib/format.ts";
import {
  axisTime,
  candles,
  closeLine,
  columns,
  dividendMarkers,
  layer,
  type Place,
  placed,
  priceFormat,
  scaleOf,
} from "./data.ts";
import { BehindBars } from "./layer.ts";
import { type ChartColors, FONT, LAYOUT, lookOf, readColors } from "./look.ts";
import { Overlays } from "./overlays.ts";
import { giveFile } from "../lib/kept.ts";

/** Widest place of a bar, px: of few bars too a candle is no block. */
const WIDEST = 18;

/** Places between the newest bar and the right edge. */
const RIGHT_ROOM = 2;

const FRAME = {
  autoSize: true,
  layout: LAYOUT,
  timeScale: {
    timeVisible: true,
    secondsVisible: false,
    minBarSpacing: 0.1,
    maxBarSpacing: WIDEST,
    rightOffset: RIGHT_ROOM,
    tickMarkFormatter: axisTime,
  },
  rightPriceScale: { scaleMargins: { top: 0.14, bottom: 0.24 } },
  crosshair: { mode: 0 },
};

/** Half the height of a tag on the price axis, and of a name that it would cover, px. */
const TAG = 16;

/** How far into the empty room before the first bar one scrolls until older bars are asked for, in places. */
const BEFORE_FIRST = 3;

/** What a chart tells. */
type Told = {
  /** The place below a mouse or a finger; null: none. */
  pointAt: (place: number | null) => void;
  /** The first place in view. */
  beginAt: (place: number) => void;
  /** When one scrolls to before the first bar. */
  wantOlder: () => void;
};

export class Chart {
  readonly #element: HTMLElement;
  readonly #chart: IChartApi;
  readonly #line: ISeriesApi<"Line">;
  readonly #bars: ISeriesApi<"Candlestick">;
  readonly #volume: ISeriesApi<"Histogram">;
  readonly #behind = new BehindBars();
  readonly #markers: ISeriesMarkersPluginApi<Time>;
  readonly #watermark: ITextWatermarkPluginApi<Time>;
  readonly #overlays: Overlays;
  #drawn: Drawing | null = null;
  #places: readonly Place[] = [];
  #pointed: number | null = null;
  #isMoved = false;

  /** @param element what it fills */
  constructor(element: HTMLElement, { pointAt, beginAt, wantOlder }: Told) {
    this.#element = element;
    this.#chart = createChart(element, FRAME);
    this.#line = this.#chart.addSeries(LineSeries, {
      lineWidth: 2,
      priceLineVisible: false,
      lastValueVisible: false,
      crosshairMarkerVisible: false,
    });
    this.#bars = this.#chart.addSeries(CandlestickSeries, { priceLineVisible: true, borderVisible: false });
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
    this.#overlays = new Overlays(this.#chart);
    this.#chart.subscribeCrosshairMove(({ point, logical }) =>
      pointAt(point && logical !== undefined ? this.#within(logical) : null),
    );
    this.#chart.timeScale().subscribeVisibleLogicalRangeChange((seen) => {
      const place = seen && this.#within(seen.from);
      if (place !== null) beginAt(place);
      if (seen && this.#isMoved && seen.from < -BEFORE_FIRST) wantOlder();
    });
    for (const act of ["wheel", "pointerdown", "touchstart"])
      element.addEventListener(act, () => (this.#isMoved = true), { capture: true, passive: true });
    this.repaint();
  }

  /** Draws these bars. @param options.fit whether all of them are brought into view */
  show(drawing: Drawing, { fit }: { fit: boolean }): void {
    this.#drawn = drawing;
    this.repaint();
    if (fit) this.#fit();
    // Percents may be of another base now, and the crosshair stands at a percent.
    if (this.#pointed !== null) this.point(this.#pointed);
  }

  /** All bars in view; few of them begin at the left edge, and what is to come has the room at their right. */
  #fit(): void {
    this.#isMoved = false;
    const scale = this.#chart.timeScale();
    const room = Math.floor(scale.width() / WIDEST);
    if (this.#places.length + RIGHT_ROOM >= room) scale.fitContent();
    else scale.setVisibleLogicalRange({ from: -0.5, to: room - 0.5 });
  }

  repaint(): void {
    const colors = readColors(this.#element);
    const { up, down } = colors;
    this.#chart.applyOptions(lookOf(colors));
    this.#bars.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down });
    if (this.#drawn) this.#draw(this.#drawn, colors);
  }

  remove(): void {
    this.#chart.remove();
  }

  /** Puts the crosshair on a place, and the place into view; null: takes it away. */
  point(place: number | null): void {
    this.#pointed = place;
    const at = place === null ? undefined : this.#places[place];
    if (place === null || !at) return this.#chart.clearCrosshairPosition();
    const scale = this.#chart.timeScale();
    const seen = scale.getVisibleLogicalRange();
    if (seen && (place < seen.from || place > seen.to)) {
      const half = (seen.to - seen.from) / 2;
      scale.setVisibleLogicalRange({ from: place - half, to: place + half });
    }
    const bar = this.#places.slice(0, place + 1).findLast(({ slot }) => slot.bar?.close)?.slot.bar;
    const price = scaleOf(this.#drawn?.base ?? null)(bar?.close) ?? 0;
    this.#chart.setCrosshairPosition(price, at.time, this.#bars);
  }

  async save(): Promise<void> {
    const drawing = this.#drawn;
    const seen = this.#chart.timeScale().getVisibleLogicalRange();
    const [from, to] = [this.#within(seen?.from ?? 0), this.#within(seen?.to ?? 0)];
    if (!drawing || from === null || to === null) return;
    const caption = captionOf(drawing, { from, to });
    const canvas = this.#chart.takeScreenshot(true, false);
    const ratio = canvas.width / this.#element.clientWidth;
    const colors = readColors(this.#element);
    await download(pictureOf(canvas, caption, { colors, font: FONT, ratio }), caption.file);
  }

  /** The bar at a place: each reaches half a place to both sides, so that one which the edge cuts off is in view. */
  #within(place: number): number | null {
    const { length } = this.#places;
    return length === 0 ? null : Math.max(0, Math.min(length - 1, Math.round(place)));
  }

  #draw(drawing: Drawing, colors: ChartColors): void {
    const { view, slots, base } = drawing;
    const simulated = view.source === "simulated";
    const places = placed(slots, view.interval);
    this.#places = places;
    const toScale = scaleOf(base);
    const { data, scale } = columns(places, colors);
    const daily = isOfDates(view.interval);
    const seen = this.#chart.timeScale().getVisibleLogicalRange();
    // Where there is room for new bars, they take it, and nothing moves.
    const isFull = seen === null || seen.to <= places.length + RIGHT_ROOM;
    this.#chart.timeScale().applyOptions({ timeVisible: !daily, shiftVisibleRangeOnNewBar: isFull });
    this.#chart.applyOptions({ localization: { timeFormatter: (time: number) => placeLabel(time, daily) } });
    const last = toScale(places.findLast(({ slot }) => slot.bar?.close)?.slot.bar?.close);
    const format = priceFormat(drawing, (value) => this.#isAtTag(value, last));
    this.#bars.applyOptions({ priceFormat: format });
    this.#bars.setData(candles(places, toScale));
    // The first series is the one whose format the axis has.
    this.#line.applyOptions({ color: colors.ink, priceFormat: format });
    this.#line.setData(closeLine(places, toScale));
    this.#volume.applyOptions({ autoscaleInfoProvider: () => scale });
    this.#volume.setData(data);
    this.#overlays.draw(drawing, { places, scale: toScale, colors });
    this.#behind.show(layer(places, drawing, toScale), colors);
    this.#markers.setMarkers(dividendMarkers(view, places, colors));
    const lines = [
      { text: " ", fontSize: 8 },
      { text: "SIMULATED", color: colors["sim-faint"], fontSize: 22, fontFamily: FONT, fontStyle: "500" },
    ];
    this.#watermark.applyOptions({
      visible: simulated,
      // In the room above the bars: none is drawn over it.
      horzAlign: "left",
      vertAlign: "top",
      lines: simulated ? lines : [],
    });
  }

  /** Whether the tag of the last price covers a value of the axis. */
  #isAtTag(value: number, last: number | null): boolean {
    const [at, tag] = [value, last].map((each) =>
      each === null ? null : this.#bars.priceToCoordinate(each),
    );
    return typeof at === "number" && typeof tag === "number" && Math.abs(at - tag) < TAG;
  }
}

function never(): never {
  throw new Error("a chart without a pane");
}

/** Heights and margins, px of the page. */
const LINE = 22;
const MARGIN = 10;

/** What is drawn, below a line that says of what, and in which colours. @param canvas the chart, in pixels of the screen */
function pictureOf(
  canvas: HTMLCanvasElement,
  { title, simulated, lines }: Caption,
  { colors, font, ratio }: { colors: ChartColors; font: string; ratio: number },
): HTMLCanvasElement {
  const picture = document.createElement("canvas");
  const above = (lines.length > 0 ? 2 : 1) * LINE + MARGIN;
  picture.width = canvas.width;
  picture.height = canvas.height + above * ratio;
  const context = picture.getContext("2d");
  if (!context) return canvas;
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(canvas, 0, above * ratio);
  context.scale(ratio, ratio);
  context.textBaseline = "middle";
  const write = (text: string, [x, y]: [number, number], color: keyof ChartColors): number => {
    context.fillStyle = colors[color];
    context.fillText(text, x, y);
    return x + context.measureText(text).width + 2 * MARGIN;
  };
  context.font = `600 13px ${font}`;
  const y = MARGIN + LINE / 2 - 3;
  const behind = simulated ? write("SIMULATED", [MARGIN, y], "sim") : MARGIN;
  write(title, [behind, y], "ink");
  context.font = `12px ${font}`;
  lines.reduce((x, { text, color }) => write(text, [x, y + LINE], color), MARGIN);
  return picture;
}

/** Gives a picture to whoever looks at it, as a file. */
function download(picture: HTMLCanvasElement, name: string): Promise<void> {
  return new Promise((resolve, reject) =>
    picture.toBlob((blob) => {
      if (!blob) return reject(new Error("the browser makes no picture of this chart"));
      resolve(giveFile(blob, name));
    }),
  );
}

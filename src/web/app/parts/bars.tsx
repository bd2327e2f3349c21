/**
 * Bars of an instrument: the chart, whose library is loaded when the first one is drawn, with what stands under its crosshair;
 * and a table.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Chart } from "../chart/chart.ts";
import {
  basedOn,
  type Drawing,
  newestPlace,
  readoutOf,
  spoken,
  holeText,
  holeTime,
  type Line,
  type Readout,
  shortSpread,
} from "../lib/drawing.ts";
import { shownDark } from "../lib/theme.ts";
import { counted, thousands, NOTHING, price, pricePlaces } from "../../../figures.ts";
import type { Hole } from "../lib/chartGaps.ts";
import { Fact } from "./facts.tsx";
import { isOfDates } from "../../../archive/ask/widths.ts";
import type { Bar, BarsView } from "../../../archive/ask/dashboardTypes.ts";
import { exchangeTime, ZONE_NAME } from "../lib/format.ts";
import { Table, type TableColumn } from "./table.tsx";

export type ChartRef = { current: Promise<Chart> | null };

/** How many places a key moves the crosshair by; the others go to the ends. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowUp: 1,
  PageDown: -20,
  PageUp: 20,
  Home: -Infinity,
  End: Infinity,
};

type BarsChartProps = {
  drawing: Drawing;
  name: string;
  chart: ChartRef;
  remove: (key: string) => void;
  wantOlder: () => void;
};

/**
 * @param name of what is drawn; another one, another range or width begins anew
 * @param chart is given the chart when it is there
 * @param remove takes a line away, by its key
 * @param wantOlder is called when one goes on to before the first bar
 */
export function BarsChart({ drawing: whole, name, chart, remove, wantOlder }: BarsChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [first, setFirst] = useState(0);
  const drawing = useMemo(() => basedOn(whole, first), [whole, first]);
  const older = useRef(wantOlder);
  older.current = wantOlder;
  useChart({ element, chart, setPointed, setFirst, older }, { drawing, name });
  useSamePlace(whole, setPointed);
  const last = drawing.slots.length - 1;
  const place = Math.min(pointed ?? newestPlace(drawing), last);
  const readout = useMemo(() => readoutOf(drawing, place), [drawing, place]);
  const point = (to: number | null): void => {
    setPointed(to);
    void chart.current?.then((each) => each.point(to));
  };
  return (
    <>
      <Legend lines={drawing.lines} values={readout.lines} remove={remove} />
      <ReadoutLine readout={readout} />
      <div
        class="chart box below"
        ref={element}
        tabIndex={0}
        role="slider"
        aria-label={`Bars of ${name}: the arrow keys move the crosshair`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={place}
        aria-valuetext={spoken(readout, drawing.lines)}
        onKeyDown={(event) => {
          const step = STEPS[event.key];
          if (step === undefined && event.key !== "Escape") return;
          event.preventDefault();
          if (place === 0 && step !== undefined && step < 0) wantOlder();
          point(step === undefined ? null : Math.max(0, Math.min(last, place + step)));
        }}
      />
      <Holes
        drawing={drawing}
        show={(hole) => {
          point(hole.from);
          element.current?.focus();
        }}
      />
    </>
  );
}

/** The crosshair stays at its bar when older ones come before it. */
function useSamePlace(
  { slots }: Drawing,
  setPointed: (change: (place: number | null) => number | null) => void,
): void {
  const before = useRef(slots);
  useEffect(() => {
    const [was] = before.current;
    before.current = slots;
    const moved = was ? slots.findIndex(({ at }) => at === was.at) : 0;
    if (moved > 0) setPointed((place) => (place === null ? null : place + moved));
  }, [slots]);
}

type OfChart = {
  element: { current: HTMLDivElement | null };
  chart: ChartRef;
  setPointed: (place: number | null) => void;
  setFirst: (place: number) => void;
  older: { current: () => void };
};

/** Opens the chart once, and draws whatever there is to draw. */
function useChart(of: OfChart, { drawing, name }: { drawing: Drawing; name: string }): void {
  const { element, chart, setPointed, setFirst, older } = of;
  const fitted = useRef("");
  const dark = shownDark.value;
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    const opened = import("../chart/chart.ts").then(
      (drawn) =>
        new drawn.Chart(host, {
          pointAt: setPointed,
          beginAt: setFirst,
          wantOlder: () => older.current(),
        }),
    );
    chart.current = opened;
    return () => void opened.then((each) => each.remove());
  }, []);
  useEffect(() => {
    if (fitted.current !== name) setPointed(null);
    void chart.current?.then((each) => {
      each.show(drawing, { fit: fitted.current !== name });
      fitted.current = name;
      element.current?.setAttribute("data-drawn", name);
    });
  }, [drawing, name]);
  useEffect(() => void chart.current?.then((each) => each.repaint()), [dark]);
}

const MOST_LISTED = 100;

/** The bar under the crosshair. Who hears the page has the same from the chart, which is a slider. */
function ReadoutLine({ readout: { time, facts, hole } }: { readout: Readout }) {
  return (
    <div class="readout row small mono" data-testid="readout">
      <b>{time}</b>
      <dl class="row">
        {facts.map((fact) => (
          <Fact key={fact.name} {...fact} />
        ))}
      </dl>
      {hole !== null && <p class="hole wraps">{hole}</p>}
    </div>
  );
}

type LegendProps = { lines: readonly Line[]; values: readonly string[]; remove: (key: string) => void };

/** The lines with their values there; each can be taken away. */
function Legend({ lines, values, remove }: LegendProps) {
  if (lines.length === 0) return null;
  return (
    <ul class="lines-shown row small" aria-label="Lines">
      {lines.map(({ key, label, unit, color }, index) => (
        <li class="row" key={`${unit} ${key}`} data-line={key}>
          <i style={{ "--series": `var(--series-${color})` }} data-unit={unit} /> {label}{" "}
          <b>{values[index]}</b>
          <button class="quiet" aria-label={`Remove ${label}`} onClick={() => remove(key)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The holes, newest first: each leads to its place. */
function Holes({ drawing, show }: { drawing: Drawing; show: (hole: Hole) => void }) {
  const { holes } = drawing;
  if (holes.length === 0) return null;
  const missing = holes.reduce(
    (sum, { missed }) => sum + missed.reduce((all, { count }) => all + count, 0),
    0,
  );
  const newest = [...holes].reverse().slice(0, MOST_LISTED);
  return (
    <details class="holes below">
      <summary>
        {counted(holes.length, "hole")}
        {missing > 0 && `: ${counted(missing, "quote")} missing`}
      </summary>
      <ul>
        {newest.map((hole) => (
          <li key={hole.from}>
            <button onClick={() => show(hole)}>{holeTime(hole, drawing)}</button> {holeText(hole)}
          </li>
        ))}
      </ul>
      {holes.length > newest.length && (
        <p class="dim">The newest {MOST_LISTED} are listed; the chart marks all.</p>
      )}
    </details>
  );
}

const ROWS = 120;

/** Newest first. */
export function BarsTable({ view }: { view: BarsView }) {
  const [shown, setShown] = useState(ROWS);
  const { bars, more } = view;
  return (
    <>
      <Table
        label="Bars"
        scroll="wide"
        kind="bars"
        columns={columnsOf(view)}
        rows={bars.toReversed().slice(0, shown)}
        keyOf={({ at }) => at}
        attributes={({ session }) => ({ "data-session": session })}
      />
      <p class="after dim">
        {counted(bars.length, "bar")}
        {". "}
        {more && "Older ones are stored: scroll the chart to its left, or choose a longer range."}{" "}
        {bars.length > shown && <button onClick={() => setShown(shown + 10 * ROWS)}>Show more</button>}
      </p>
    </>
  );
}

function columnsOf({ bars, interval }: BarsView): TableColumn<Bar>[] {
  const prices = bars.flatMap(({ open, high, low, close, bid, ask }) => [open, high, low, close, bid, ask]);
  const places = pricePlaces(prices);
  const spreadPlaces = pricePlaces(bars.map(({ meanSpread }) => shortSpread(meanSpread)));
  const ofPrice = (name: string, key: "open" | "high" | "low" | "close" | "bid" | "ask") => ({
    name,
    look: key === "close" ? "strong" : "",
    show: (bar: Bar) => price(bar[key], places),
  });
  const time = {
    name: `Time (${ZONE_NAME})`,
    show: ({ at }: Bar) => exchangeTime(at, { seconds: false }),
  };
  return [
    { name: "Date", kind: "text", show: ({ date }) => date },
    ...(isOfDates(interval) ? [] : [time]),
    { name: "Session", kind: "text session", look: "dim", show: ({ session }) => session ?? NOTHING },
    ofPrice("Open", "open"),
    ofPrice("High", "high"),
    ofPrice("Low", "low"),
    ofPrice("Close", "close"),
    ofPrice("Bid", "bid"),
    ofPrice("Ask", "ask"),
    {
      name: "Mean spread",
      look: "dim",
      show: ({ meanSpread }) => price(shortSpread(meanSpread), spreadPlaces),
    },
    { name: "Quotes", look: "dim", show: ({ quoteCount }) => thousands(quoteCount) },
    { name: "Volume", show: ({ volume }) => thousands(volume) },
  ];
}

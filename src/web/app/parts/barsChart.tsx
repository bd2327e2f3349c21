/**
 * Bars of an instrument: the chart, whose library is loaded when the first one is drawn, with what stands under its crosshair;
 * and a table.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Chart, Shape, ChartListener } from "../chart/chart.ts";
import {
  type Drawing,
  holeText,
  holeTime,
  meanText,
  newestPlace,
  type Readout,
  readoutOf,
  spoken,
} from "../lib/drawing.ts";
import { shownDark } from "../lib/pageLook.ts";
import { counted, NOTHING, price, thousands } from "../../../ground/figures.ts";
import { isOfDates } from "../../../archive/ask/widths.ts";
import type { Bar } from "../../../archive/ask/dashboardTypes.ts";
import { exchangeTime, ZONE_NAME } from "../lib/format.ts";
import { Fact } from "./facts.tsx";
import { Table, type TableColumn } from "./rowTable.tsx";

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

type BarsChartProps = { drawing: Drawing; shape: Shape; name: string; wantOlder: () => void };

/**
 * @param name of what is drawn; another one, another range or width begins anew
 * @param wantOlder is called when one goes on to before the first bar
 */
export function BarsChart({ drawing, shape, name, wantOlder }: BarsChartProps) {
  const element = useRef<HTMLDivElement>(null);
  // A place is known by its time: older bars may come before it.
  const [pointed, pointAt] = useState<string | null>(null);
  const chart = useChart(element, { pointAt, wantOlder }, { drawing, shape, name });
  const { slots } = drawing;
  const found = pointed === null ? -1 : slots.findIndex(({ at }) => at === pointed);
  const [place, last] = [found < 0 ? newestPlace(drawing) : found, slots.length - 1];
  const readout = useMemo(() => readoutOf(drawing, place), [drawing, place]);
  const point = (to: number | null): void => {
    const at = to === null ? null : (slots[to]?.at ?? null);
    pointAt(at);
    void chart.current?.then((each) => each.point(at));
  };
  return (
    <>
      <ReadoutLine readout={readout} zone={isOfDates(drawing.view.interval) ? "" : ZONE_NAME} />
      <div
        class="chart box below"
        ref={element}
        tabIndex={0}
        role="slider"
        aria-label={`Bars of ${name}: the arrow keys move the crosshair`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={place}
        aria-valuetext={spoken(readout)}
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
        show={(to) => {
          point(to);
          element.current?.focus();
        }}
      />
    </>
  );
}

/** Opens the chart once, and draws whatever there is to draw. */
function useChart(
  element: { current: HTMLDivElement | null },
  told: ChartListener,
  { drawing, shape, name }: Pick<BarsChartProps, "drawing" | "shape" | "name">,
): { current: Promise<Chart> | null } {
  const chart = useRef<Promise<Chart> | null>(null);
  const tell = useRef(told);
  tell.current = told;
  const drawn = useRef("");
  const dark = shownDark.value;
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    const opened = import("../chart/chart.ts").then(
      (library) =>
        new library.Chart(host, {
          pointAt: (at) => tell.current.pointAt(at),
          wantOlder: () => tell.current.wantOlder(),
        }),
    );
    chart.current = opened;
    return () => void opened.then((each) => each.remove());
  }, []);
  useEffect(() => {
    const anew = drawn.current !== name;
    if (anew) tell.current.pointAt(null);
    drawn.current = name;
    void chart.current?.then((each) => {
      each.show(drawing, shape, { anew });
      element.current?.setAttribute("data-drawn", name);
    });
  }, [drawing, shape.line, shape.log, name]);
  useEffect(() => void chart.current?.then((each) => each.repaint()), [dark]);
  return chart;
}

/** The bar under the crosshair. Who hears the page has the same from the chart, which is a slider. */
function ReadoutLine({ readout: { time, facts, hole }, zone }: { readout: Readout; zone: string }) {
  return (
    <div class="readout row small mono" data-testid="readout">
      <p>
        <b>{time}</b> <span class="dim">{zone}</span>
      </p>
      <dl class="row">
        {facts.map((fact) => (
          <Fact key={fact.name} {...fact} />
        ))}
      </dl>
      {hole !== null && <p class="hole wraps">{hole}</p>}
    </div>
  );
}

const MOST_LISTED = 100;

/** The holes, newest first: each leads to its place. */
function Holes({ drawing, show }: { drawing: Drawing; show: (place: number) => void }) {
  const { holes } = drawing;
  if (holes.length === 0) return null;
  const missing = holes.flatMap(({ missed }) => missed).reduce((sum, { count }) => sum + count, 0);
  const newest = holes.toReversed().slice(0, MOST_LISTED);
  const told = missing > 0 ? `: ${counted(missing, "quote")} missing` : "";
  return (
    <details class="holes below">
      <summary>{counted(holes.length, "hole") + told}</summary>
      <ul>
        {newest.map((hole) => (
          <li key={hole.from}>
            <button onClick={() => show(hole.from)}>{holeTime(hole, drawing)}</button> {holeText(hole)}
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
export function BarsTable({ drawing }: { drawing: Drawing }) {
  const [shown, setShown] = useState(ROWS);
  const { bars, more } = drawing.view;
  return (
    <>
      <Table
        label="Bars"
        scroll="wide"
        kind="bars"
        columns={columnsOf(drawing)}
        rows={bars.toReversed().slice(0, shown)}
        keyOf={({ at }) => at}
        attributes={({ session }) => ({ "data-session": session })}
      />
      <p class="after dim">
        {counted(bars.length, "bar")}.{" "}
        {more && "Older ones are stored: scroll the chart to its left, or choose a longer range."}{" "}
        {bars.length > shown && <button onClick={() => setShown(shown + 10 * ROWS)}>Show more</button>}
      </p>
    </>
  );
}

const PRICES = ["Open", "High", "Low", "Close", "Bid", "Ask"] as const;

function columnsOf({ view: { interval }, places }: Drawing): TableColumn<Bar>[] {
  const time = { name: "Time", show: ({ at }: Bar) => exchangeTime(at, { seconds: false }) };
  const prices = PRICES.map((name) => ({
    name,
    look: name === "Close" ? "strong" : "",
    show: (bar: Bar) => price(bar[name.toLowerCase() as Lowercase<typeof name>], places),
  }));
  return [
    { name: "Date", kind: "text", show: ({ date }) => date },
    ...(isOfDates(interval) ? [] : [time]),
    { name: "Session", kind: "text session", look: "dim", show: ({ session }) => session ?? NOTHING },
    ...prices,
    { name: "Spread", look: "dim", show: ({ meanSpread }) => meanText(meanSpread, places) },
    { name: "Quotes", look: "dim", show: ({ quoteCount }) => thousands(quoteCount) },
    { name: "Volume", show: ({ volume }) => thousands(volume) },
  ];
}

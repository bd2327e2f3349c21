/** A chain's pictures: the smile of its expiration, and volatility at the money by expiration. */
import { useMemo, useEffect, useRef, useState } from "preact/hooks";
import type { Contract, TermPoint } from "../../../archive/ask/dashboardTypes.ts";
import {
  type Curve,
  type CurvePoint,
  type SmileAxis,
  smileCurves,
  termCurve,
  YEAR_DAYS,
} from "../lib/curves.ts";
import { percent, placesOf, thousands } from "../../../figures.ts";
import { setParameters } from "../lib/router.ts";
import type { Loaded } from "../lib/useApi.ts";
import { Await, Empty } from "./notes.tsx";
import { Segments } from "./controls.tsx";
import type { CurveChart as Chart } from "../chart/curveChart.ts";
import { shownDark } from "../lib/theme.ts";

type ChainPicturesProps = { contracts: readonly Contract[]; term: Loaded<TermPoint[]>; axis: SmileAxis };

/** Both, side by side where there is room. @param options.contracts those that are shown */
export function ChainPictures({ contracts, term, axis }: ChainPicturesProps) {
  return (
    <div class="pictures">
      <Smile contracts={contracts} axis={axis} />
      <figure class="panel" data-picture="term">
        <figcaption class="row">
          <h2>Term structure, at the money</h2>
        </figcaption>
        <Await loaded={term} what="the term structure">
          {(points) => <Term points={points} />}
        </Await>
      </figure>
    </div>
  );
}

function Smile({ contracts, axis }: { contracts: readonly Contract[]; axis: SmileAxis }) {
  const curves = useMemo(() => smileCurves(contracts, axis), [contracts, axis]);
  const isStrike = axis === "strike";
  const tell = (x: number): string =>
    [
      isStrike ? `Strike ${thousands(x)}` : `S/K ${x.toFixed(3)}`,
      ...curves.flatMap((curve) => toldOf(curve, x)),
    ].join(", ");
  return (
    <figure class="panel" data-picture="smile">
      <figcaption class="row">
        <h2>Smile</h2>
        <Key curves={curves} />
        <Segments
          label="Against"
          names={[{ name: "strike" }, { name: "moneyness", label: "the underlying's price by the strike" }]}
          chosen={axis}
          choose={(to) => setParameters({ x: to === "strike" ? "" : to })}
        />
      </figcaption>
      {curves.length === 0 ? (
        <Empty title="No volatility to draw">Bids and asks of these contracts do not tell one.</Empty>
      ) : (
        <CurveChart
          label={`Implied volatility against ${axis}, calls and puts. The table above has the same figures.`}
          curves={curves}
          xName={isStrike ? "Strike" : "Moneyness: the underlying's price by the strike"}
          decimals={isStrike ? placesOf(contracts.map(({ strike }) => strike)) : 2}
          tell={tell}
        />
      )}
    </figure>
  );
}

/** Terms shorter than this are drawn by the hour, days. */
const BY_THE_HOUR = 3;

function Term({ points }: { points: readonly TermPoint[] }) {
  const byHour = (points.at(-1)?.years ?? 0) * YEAR_DAYS <= BY_THE_HOUR;
  const curve = useMemo(() => termCurve(points, byHour ? YEAR_DAYS * 24 : YEAR_DAYS), [points, byHour]);
  const curves = useMemo(() => [curve], [curve]);
  if (points.length === 0)
    return <Empty title="No volatility to draw">No contract near the money has one.</Empty>;
  const told = points.map(
    ({ expiration, strike, ivMid }) => `${expiration}, strike ${thousands(strike)}: ${percent(100 * ivMid)}`,
  );
  return (
    <CurveChart
      label={`Implied volatility at the money by expiration. ${told.join("; ")}.`}
      curves={curves}
      xName={`${byHour ? "Hours" : "Days"} until the contracts end`}
      decimals={0}
      tell={(x) => told[curve.points.findIndex((point) => point.x === x)] ?? ""}
    />
  );
}

function Key({ curves }: { curves: readonly Curve[] }) {
  return (
    <ul class="key row small dim">
      {curves.map(({ name, tone }) => (
        <li key={name} data-tone={tone}>
          {name}
        </li>
      ))}
    </ul>
  );
}

function toldOf({ name, points }: Curve, x: number): string[] {
  return points.filter((point) => point.x === x).map((point) => `${name.toLowerCase()} ${bandOf(point)}`);
}

function bandOf({ y, bid, ask }: CurvePoint): string {
  return `${percent(y)} (${percent(bid)} to ${percent(ask)})`;
}

type CurveChartProps = {
  /** Says to a reader by ear what is drawn. */
  label: string;
  curves: readonly Curve[];
  xName: string;
  /** Of the axis' numbers. */
  decimals: number;
  /** What is below the pointer. */
  tell: (x: number) => string;
};

/** A chart of curves, whose library is loaded when the first one is drawn, and what is below the pointer, in words. */
function CurveChart({ label, curves, xName, decimals, tell }: CurveChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<Promise<Chart> | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    const opened = import("../chart/curveChart.ts").then((drawn) => new drawn.CurveChart(host, setPointed));
    chart.current = opened;
    return () => void opened.then((each) => each.remove());
  }, []);
  useEffect(() => {
    void chart.current?.then((each) => {
      each.show(curves, decimals);
      element.current?.setAttribute("data-drawn", "");
    });
  }, [curves, decimals, shownDark.value]);
  const shown = curves.some(({ points }) => points.some(({ x }) => x === pointed)) ? pointed : null;
  return (
    <>
      <div class="curves" ref={element} role="img" aria-label={label} />
      <p class="told dim">{shown === null ? xName : tell(shown)}</p>
    </>
  );
}

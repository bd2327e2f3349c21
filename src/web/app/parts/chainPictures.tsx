/** A chain's pictures: the smile of its expiration, and volatility at the money by expiration. */
import type { Contract, TermPoint } from "../../../archive/ask/dashboardTypes.ts";
import { percent, thousands } from "../../../ground/figures.ts";
import {
  type Curve,
  smileCurves,
  termCurve,
  YEAR_DAYS,
  type Axis,
  axisOf,
  type CurvePoint,
  usualBand,
} from "../lib/curves.ts";
import type { LoadState } from "../lib/useApi.ts";
import { Await, Empty } from "./notes.tsx";
import { useState } from "preact/hooks";

type ChainPicturesProps = { contracts: readonly Contract[]; term: LoadState<TermPoint[]> };

/** Both, side by side where there is room. @param options.contracts those that are shown */
export function ChainPictures({ contracts, term }: ChainPicturesProps) {
  return (
    <div class="pictures">
      <Smile contracts={contracts} />
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

function Smile({ contracts }: { contracts: readonly Contract[] }) {
  const curves = smileCurves(contracts);
  const told = ({ name, points }: Curve, x: number): string[] =>
    points
      .filter((point) => point.x === x)
      .map(({ y, bid, ask }) => `${name.toLowerCase()} ${percent(y)} (${percent(bid)} to ${percent(ask)})`);
  return (
    <figure class="panel" data-picture="smile">
      <figcaption class="row">
        <h2>Smile</h2>
        <ul class="key row small dim">
          {curves.map(({ name, tone }) => (
            <li key={name} data-tone={tone}>
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <CurveChart
        label="Implied volatility by strike, calls and puts. The table above has the same figures."
        curves={curves}
        xName="Strike"
        tell={(x) => [`Strike ${thousands(x)}`, ...curves.flatMap((curve) => told(curve, x))].join(", ")}
      />
    </figure>
  );
}

/** Terms shorter than this are drawn by the hour, days. */
const BY_THE_HOUR = 3;

function Term({ points }: { points: readonly TermPoint[] }) {
  const byHour = (points.at(-1)?.years ?? 0) * YEAR_DAYS <= BY_THE_HOUR;
  const curve = termCurve(points, byHour ? YEAR_DAYS * 24 : YEAR_DAYS);
  const told = points.map(
    ({ expiration, strike, ivMid }) => `${expiration}, strike ${thousands(strike)}: ${percent(100 * ivMid)}`,
  );
  return (
    <CurveChart
      label={`Implied volatility at the money by expiration. ${told.join("; ")}.`}
      curves={[curve]}
      xName={`${byHour ? "Hours" : "Days"} until the contracts end`}
      tell={(x) => told[curve.points.findIndex((point) => point.x === x)] ?? ""}
    />
  );
}

/** How many values of an axis are named, about. */
const NAMED = { x: 8, y: 5 };

type CurveChartProps = {
  /** Says to a reader by ear what is drawn. */
  label: string;
  curves: readonly Curve[];
  xName: string;
  /** What is at the point that is nearest to the pointer. */
  tell: (x: number) => string;
};

function CurveChart({ label, curves, xName, tell }: CurveChartProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const xs = curves.flatMap(({ points }) => points.map((point) => point.x));
  if (xs.length === 0)
    return <Empty title="No volatility to draw">Bids and asks of these contracts do not tell one.</Empty>;
  const x = axisOf(xs, NAMED.x);
  // Room for a usual band: one that is much wider is cut off, because nobody means what is quoted there.
  const ends = curves.flatMap(({ points }) => {
    const band = usualBand(points);
    return points.flatMap((point) => [point.y - band, point.y + band]);
  });
  const y = axisOf(ends, NAMED.y);
  const point = ({ currentTarget, clientX }: MouseEvent): void => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    const away = (value: number): number => Math.abs(x.placeOf(value) - (100 * (clientX - left)) / width);
    setPointed(xs.reduce((best, value) => (away(value) < away(best) ? value : best)));
  };
  const shown = pointed !== null && xs.includes(pointed) ? pointed : null;
  return (
    <>
      <div class="curves">
        <svg
          role="img"
          aria-label={label}
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => setPointed(null)}
        >
          <Axes x={x} y={y} pointed={shown} />
          <svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%">
            {curves.map((curve) => (
              <Drawn key={curve.name} curve={curve} x={x} y={y} />
            ))}
          </svg>
        </svg>
      </div>
      <p class="told dim">{shown === null ? xName : tell(shown)}</p>
    </>
  );
}

type AxesProps = { x: Axis; y: Axis };

function Axes({ x, y, pointed }: AxesProps & { pointed: number | null }) {
  return (
    <>
      {y.named.map((value) => (
        <g key={value}>
          <line x2="100%" y1={`${100 - y.placeOf(value)}%`} y2={`${100 - y.placeOf(value)}%`} />
          <text x="100%" y={`${100 - y.placeOf(value)}%`} dx="6" dy="0.3em">
            {percent(value)}
          </text>
        </g>
      ))}
      {x.named.map((value) => (
        <text key={value} class="below-axis" x={`${x.placeOf(value)}%`} y="100%" dy="1.4em">
          {thousands(value)}
        </text>
      ))}
      {pointed !== null && <line x1={`${x.placeOf(pointed)}%`} x2={`${x.placeOf(pointed)}%`} y2="100%" />}
    </>
  );
}

/** A band reaches from point to point where all its ends are known. */
function Drawn({ curve: { tone, points }, x, y }: AxesProps & { curve: Curve }) {
  const at = (point: CurvePoint, value: number): string => `${x.placeOf(point.x)} ${100 - y.placeOf(value)}`;
  const band = (to: CurvePoint, place: number): string => {
    const from = points[place - 1];
    if (!from || from.bid === null || from.ask === null || to.bid === null || to.ask === null) return "";
    return `M${at(from, from.bid)}L${at(to, to.bid)} ${at(to, to.ask)} ${at(from, from.ask)}Z`;
  };
  return (
    <g data-tone={tone}>
      <path class="band" d={points.map(band).join("")} />
      <path d={`M${points.map((point) => at(point, point.y)).join("L")}`} />
      <path class="points" d={points.map((point) => `M${at(point, point.y)}h0`).join("")} />
    </g>
  );
}

/** Curves with their bands over linear axes, and what is below the pointer, in words. */
import { useState } from "preact/hooks";
import { percent, thousands } from "../../../ground/figures.ts";
import { type Axis, axisOf, type Curve, type CurvePoint, usualBand } from "../lib/curves.ts";
import { Empty } from "./notes.tsx";

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

export function CurveChart({ label, curves, xName, tell }: CurveChartProps) {
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

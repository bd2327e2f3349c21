/** A chain's pictures: the smile of its expiration, and volatility at the money by expiration. */
import type { Contract, TermPoint } from "../../api/types.ts";
import { smileLines, type SmileAxis, termLine } from "../lib/smile.ts";
import { thousands, percent } from "../../../figures.ts";
import { setParameters } from "../lib/router.ts";
import type { PlotLine, PlotPoint } from "../lib/plot.ts";
import type { Loaded } from "../lib/store.ts";
import { Await, Empty } from "./notes.tsx";
import { Plot } from "./plot.tsx";
import { Segments } from "./segments.tsx";

/** Both, side by side where there is room. @param options.contracts those that are shown */
export function ChainPictures({
  contracts,
  term,
  axis,
}: {
  contracts: readonly Contract[];
  term: Loaded<TermPoint[]>;
  axis: SmileAxis;
}) {
  return (
    <div class="pictures">
      <Smile contracts={contracts} axis={axis} />
      <figure class="panel" data-picture="term">
        <figcaption>
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
  const lines = smileLines(contracts, axis);
  const place = (x: number): string => thousands(axis === "strike" ? x : x.toFixed(2));
  const tell = (x: number): string =>
    [
      `${axis === "strike" ? "Strike" : "S/K"} ${thousands(axis === "strike" ? x : x.toFixed(3))}`,
      ...lines.flatMap((line) => toldOf(line, x)),
    ].join(", ");
  return (
    <figure class="panel" data-picture="smile">
      <figcaption>
        <h2>Smile</h2>
        <Key lines={lines} />
        <Segments
          label="Against"
          names={[{ name: "strike" }, { name: "moneyness", label: "the underlying's price by the strike" }]}
          chosen={axis}
          choose={(to) => setParameters({ x: to === "strike" ? "" : to })}
        />
      </figcaption>
      {lines.length === 0 ? (
        <Empty title="No volatility to draw">Bids and asks of these contracts do not tell one.</Empty>
      ) : (
        <Plot
          label={`Implied volatility against ${axis}, calls and puts. The table below has the same figures.`}
          xName={axis === "strike" ? "Strike" : "Moneyness: the underlying's price by the strike"}
          xText={place}
          {...{ lines, tell }}
        />
      )}
    </figure>
  );
}

function Term({ points }: { points: readonly TermPoint[] }) {
  if (points.length === 0)
    return <Empty title="No volatility to draw">No contract near the money has one.</Empty>;
  const line = termLine(points);
  const [unit, days] = (line.points.at(-1)?.x ?? 0) > 3 ? ["d", 1] : ["h", 1 / 24];
  const told = points.map(
    ({ expiration, strike, ivMid }) => `${expiration}, strike ${thousands(strike)}: ${percent(100 * ivMid)}`,
  );
  return (
    <Plot
      label={`Implied volatility at the money by expiration. ${told.join("; ")}.`}
      lines={[line]}
      xName="Time until the contracts end"
      xText={(x) => `${Number((x / days).toPrecision(6))} ${unit}`}
      tell={(x) => told[line.points.findIndex((point) => point.x === x)] ?? ""}
    />
  );
}

function Key({ lines }: { lines: readonly PlotLine[] }) {
  return (
    <ul class="key">
      {lines.map(({ name, tone }) => (
        <li key={name} data-tone={tone}>
          {name}
        </li>
      ))}
    </ul>
  );
}

function toldOf({ name, points }: PlotLine, x: number): string[] {
  return points.filter((point) => point.x === x).map((point) => `${name.toLowerCase()} ${bandOf(point)}`);
}

function bandOf({ y, low, high }: PlotPoint): string {
  return `${percent(y)} (${percent(low)} to ${percent(high)})`;
}

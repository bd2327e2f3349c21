/** A chain's pictures: the smile of its expiration, and volatility at the money by expiration. */
import type { Contract, TermPoint } from "../../../archive/ask/dashboardTypes.ts";
import { percent, thousands } from "../../../ground/figures.ts";
import { type Curve, smileCurves, termCurve, YEAR_DAYS } from "../lib/curves.ts";
import type { LoadState } from "../lib/useApi.ts";
import { CurveChart } from "./curveChart.tsx";
import { Await } from "./notes.tsx";

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

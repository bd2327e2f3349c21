/** Around the chart: what stands under the crosshair, the lines and their colours, and the holes. */
import { type Drawing, holeText, holeTime, type Line, type Readout } from "../lib/drawing.ts";
import { counted } from "../../../figures.ts";
import type { Hole } from "../lib/holes.ts";
import { Fact } from "./facts.tsx";

const MOST_LISTED = 100;

/** The bar under the crosshair. Who hears the page has the same from the chart, which is a slider. */
export function ReadoutLine({ readout: { time, facts, hole } }: { readout: Readout }) {
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

/** The lines with their values there; each can be taken away. */
export function Legend({
  lines,
  values,
  remove,
}: {
  lines: readonly Line[];
  values: readonly string[];
  remove: (key: string) => void;
}) {
  if (lines.length === 0) return null;
  return (
    <ul class="lines-shown row small" aria-label="Lines">
      {lines.map(({ key, label, unit, color }, index) => (
        <li class="row" key={`${unit} ${key}`} data-line={key}>
          <i style={{ "--series": `var(--series-${color})` }} data-unit={unit} /> {label}{" "}
          <b>{values[index]}</b>
          <button type="button" class="quiet" aria-label={`Remove ${label}`} onClick={() => remove(key)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The holes, newest first: each leads to its place. */
export function Holes({ drawing, show }: { drawing: Drawing; show: (hole: Hole) => void }) {
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
            <button type="button" onClick={() => show(hole)}>
              {holeTime(hole, drawing)}
            </button>{" "}
            {holeText(hole)}
          </li>
        ))}
      </ul>
      {holes.length > newest.length && (
        <p class="dim">The newest {MOST_LISTED} are listed; the chart marks all.</p>
      )}
    </details>
  );
}

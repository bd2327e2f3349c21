/** Answers of the last half hour, a column for each minute, under the limit's line. */
import type { MinuteCalls } from "../../api/types.ts";
import { counted } from "../../../figures.ts";
import { exchangeTime, MINUTE_MS, ZONE_NAME } from "../lib/format.ts";

const MINUTES = 30;
const HEIGHT = 96;
const STEP = 12;

/** @param nowMs epoch ms; the last column is the minute under way */
export function Minutes({
  minutes,
  limit,
  nowMs,
}: {
  minutes: readonly MinuteCalls[];
  limit: number;
  nowMs: number;
}) {
  const columns = columnsOf(minutes, nowMs);
  const most = Math.max(limit, ...columns.map(({ good, other }) => good + other));
  const scale = (HEIGHT - 8) / most;
  const total = columns.reduce((all, { good, other }) => all + good + other, 0);
  return (
    <figure class="minutes">
      <svg
        viewBox={`0 0 ${MINUTES * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${counted(total, "answer")} in the last ${MINUTES} minutes`}
      >
        <line
          class="limit"
          x1="0"
          x2={MINUTES * STEP}
          y1={HEIGHT - limit * scale}
          y2={HEIGHT - limit * scale}
        />
        {columns.map(({ atMs, good, other }, index) => (
          <g key={atMs}>
            <title>{`${exchangeTime(new Date(atMs).toISOString(), { seconds: false })} ${ZONE_NAME}: ${good} with quotes, ${other} without`}</title>
            <rect x={index * STEP + 1} width={STEP - 2} y={HEIGHT - good * scale} height={good * scale} />
            <rect
              data-of="them"
              x={index * STEP + 1}
              width={STEP - 2}
              y={HEIGHT - (good + other) * scale}
              height={other * scale}
            />
          </g>
        ))}
      </svg>
      <figcaption>
        <span>30 min ago</span>
        <span>line: the limit of {limit} a minute</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

/** Answers with quotes and without, of each minute, the newest last. */
function columnsOf(
  minutes: readonly MinuteCalls[],
  nowMs: number,
): { atMs: number; good: number; other: number }[] {
  const newest = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: MINUTES }, (_, index) => {
    const atMs = newest - (MINUTES - 1 - index) * MINUTE_MS;
    const of = minutes.filter(({ at }) => Date.parse(at) === atMs);
    const good = sum(of.filter(({ outcome }) => outcome === "quotes"));
    return { atMs, good, other: sum(of) - good };
  });
}

function sum(of: readonly MinuteCalls[]): number {
  return of.reduce((all, { calls }) => all + calls, 0);
}

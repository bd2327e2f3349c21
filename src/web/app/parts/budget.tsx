/** The budget in pictures: answers of the last half hour under the limit's line, and calls used as a dial and as a line. */
import type { MinuteCalls } from "../../../archive/ask/dashboardTypes.ts";
import { counted } from "../../../figures.ts";
import { exchangeTime, MINUTE_MS, ZONE_NAME } from "../lib/format.ts";

const MINUTES = 30;
const HEIGHT = 96;
const STEP = 12;

type MinutesProps = { minutes: readonly MinuteCalls[]; limit: number; nowMs: number };

/** A column for each minute. @param nowMs epoch ms; the last column is the minute under way */
export function Minutes({ minutes, limit, nowMs }: MinutesProps) {
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

const FROM_DEGREES = 150;
const SWEEP_DEGREES = 240;

/** Most ticks; a larger limit shares them. */
const MOST_TICKS = 60;

type Used = {
  used: number;
  /** Calls that are left to other programs on the same account. */
  left: number;
  limit: number;
  label: string;
};

/** What a reader by ear is told of calls used. */
const meter = ({ used, left, limit, label }: Used) =>
  ({
    role: "meter",
    "aria-label": label,
    "aria-valuemin": 0,
    "aria-valuemax": limit,
    "aria-valuenow": Math.min(used, limit),
    "aria-valuetext": `${used} of ${limit} calls used${left > 0 ? `, ${left} left to another program` : ""}`,
  }) as const;

/** Calls used as a line, for a row. */
export function UsedLine(calls: Used) {
  const { used, left, limit } = calls;
  return (
    <svg class="used-line" viewBox={`0 0 ${limit} 1`} preserveAspectRatio="none" {...meter(calls)}>
      <rect width={Math.min(used, limit)} height="1" />
      <rect data-of="them" x={limit - Math.min(left, limit)} width={Math.min(left, limit)} height="1" />
    </svg>
  );
}

/** The same as a dial: a tick for each call of the window. */
export function Gauge(calls: Used) {
  const { used, left, limit } = calls;
  const ticks = Math.min(limit, MOST_TICKS);
  const share = ticks / Math.max(1, limit);
  const ours = Math.round(used * share);
  const theirs = Math.round(left * share);
  return (
    <svg class="gauge" viewBox="0 0 240 200" {...meter(calls)}>
      {Array.from({ length: ticks }, (_, index) => (
        <line
          key={index}
          {...tick(index, ticks)}
          data-of={index < ours ? "us" : index >= ticks - theirs ? "them" : "none"}
        />
      ))}
      <text class="gauge-used" x="120" y="124" data-testid="calls-used">
        {used}
      </text>
      <text class="gauge-limit" x="120" y="152">
        of {limit} calls
      </text>
    </svg>
  );
}

function tick(index: number, ticks: number): Record<"x1" | "y1" | "x2" | "y2", string> {
  const degrees = FROM_DEGREES + (SWEEP_DEGREES * index) / Math.max(1, ticks - 1);
  const [x, y] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  const at = (radius: number, unit: number, middle: number): string => (middle + radius * unit).toFixed(2);
  return { x1: at(84, x, 120), y1: at(84, y, 115), x2: at(106, x, 120), y2: at(106, y, 115) };
}

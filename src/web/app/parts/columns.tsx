/** Columns over time, each of several parts, with axes and the figures of the column that is pointed at. */
import { useMemo, useState } from "preact/hooks";
import { thousands } from "../../../figures.ts";
import { heightsOf, timesOf } from "../lib/columnAxes.ts";
import type { Column } from "../lib/healthColumns.ts";
import { narrow } from "../lib/narrow.ts";

const HEIGHT = 100;

/** More columns than these stand without a gap: of a pixel nothing can be spared. */
const MOST_APART = 200;

/** Columns this near to the pointer are pointed at, px. */
const NEAR = 6;

/** Most times that are named below, and on a phone. */
const MOST_TIMES = 7;
const MOST_TIMES_NARROW = 3;

type Props = {
  label: string;
  columns: readonly Column[];
  span: { from: string; to: string; widthMs: number };
  /** A height as its axis says it. */
  figure?: (value: number) => string;
  /** Drawn as a line; null: none. */
  limit?: number | null;
  /** What a click on a column does; the arrow keys go from one to the next. */
  choose?: (at: string) => void;
  chosen?: string;
};

/** The picture. Columns stand where their time is, so that a time without one is a hole. */
export function Columns({
  label,
  columns,
  span,
  figure = thousands,
  limit = null,
  choose,
  chosen = "",
}: Props) {
  const [focus, setFocus] = useState("");
  const [pointed, setPointed] = useState<Column | null>(null);
  const fromMs = Math.floor(Date.parse(span.from) / span.widthMs) * span.widthMs;
  const width = Math.max(1, Math.ceil((Date.parse(span.to) - fromMs) / span.widthMs));
  const placeOf = ({ at }: Column): number => (Date.parse(at) - fromMs) / span.widthMs;
  const sums = columns.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const most = Math.max(1, limit ?? 0, ...sums);
  const scale = (HEIGHT - 6) / most;
  const heights = heightsOf(most);
  const first = columns.some(({ at }) => at === focus) ? focus : columns.at(-1)?.at;
  // Pointing at a column draws none of them anew.
  const drawn = useMemo(
    () =>
      columns.map((column) => (
        <g
          key={column.at}
          data-at={column.at}
          data-chosen={column.at === chosen ? "" : undefined}
          {...(choose && {
            role: "button",
            "aria-label": column.title,
            tabIndex: column.at === first ? 0 : -1,
            onFocus: () => (setFocus(column.at), setPointed(column)),
            onClick: () => choose(column.at),
          })}
        >
          <Stack
            {...{ column, scale }}
            x={placeOf(column)}
            gap={width > MOST_APART ? 0 : 0.08}
            pressed={choose !== undefined}
          />
        </g>
      )),
    [columns, first, chosen, scale, width],
  );
  const told = pointed ?? columns.find(({ at }) => at === chosen);
  return (
    <figure class="columns">
      <div class="drawn">
        <Heights heights={heights} of={(value) => (value * scale) / HEIGHT} figure={figure} />
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          role={choose ? "group" : "img"}
          aria-label={label}
          onKeyDown={(event) => moveFocus(event, columns, setFocus)}
          onPointerMove={(event) => setPointed(columnAt(event, { columns, placeOf, width }))}
          onPointerLeave={() => setPointed(null)}
        >
          {heights.map((value) => (
            <Across key={value} name="grid" width={width} y={HEIGHT - value * scale} />
          ))}
          {drawn}
          {limit !== null && <Across name="limit" width={width} y={HEIGHT - limit * scale} />}
        </svg>
        <Times
          span={{
            from: new Date(fromMs).toISOString(),
            to: new Date(fromMs + width * span.widthMs).toISOString(),
          }}
        />
      </div>
      <figcaption class="told">
        {told?.title ??
          (limit === null
            ? "Point at a column for its figures."
            : `The line is the limit of ${thousands(limit)}.`)}
      </figcaption>
    </figure>
  );
}

/** The column below the pointer, or very near to it. */
function columnAt(
  { clientX, currentTarget }: PointerEvent,
  {
    columns,
    placeOf,
    width,
  }: { columns: readonly Column[]; placeOf: (column: Column) => number; width: number },
): Column | null {
  const box = (currentTarget as Element).getBoundingClientRect();
  const place = ((clientX - box.left) / box.width) * width - 0.5;
  const away = (column: Column): number => Math.abs(placeOf(column) - place);
  const best = columns.reduce<Column | null>(
    (near, column) => (near && away(near) <= away(column) ? near : column),
    null,
  );
  return best && away(best) <= Math.max(0.5, (NEAR / box.width) * width) ? best : null;
}

function Across({ name, width, y }: { name: string; width: number; y: number }) {
  return <line class={name} x1="0" x2={width} y1={y} y2={y} />;
}

/** The figures of the heights. @param options.of from a height to its share of the picture */
function Heights({
  heights,
  of,
  figure,
}: {
  heights: readonly number[];
  of: (value: number) => number;
  figure: (value: number) => string;
}) {
  return (
    <div class="heights" aria-hidden="true">
      {heights.map((value) => (
        <span key={value} style={{ bottom: `${100 * of(value)}%` }}>
          {figure(value)}
        </span>
      ))}
    </div>
  );
}

/** Names nearer than this to the right end would stand out over it, share of the width. */
const RIGHT_END = 0.95;

function Times({ span }: { span: { from: string; to: string } }) {
  return (
    <div class="times" aria-hidden="true">
      {timesOf(span, narrow.value ? MOST_TIMES_NARROW : MOST_TIMES)
        .filter(({ share }) => share < RIGHT_END)
        .map(({ name, share }) => (
          <span key={share} style={{ left: `${100 * share}%` }}>
            {name}
          </span>
        ))}
    </div>
  );
}

function Stack({
  column: { parts },
  x,
  scale,
  gap,
  pressed,
}: {
  column: Column;
  x: number;
  scale: number;
  gap: number;
  pressed: boolean;
}) {
  let top = HEIGHT;
  return (
    <>
      {pressed && <rect class="field" x={x} width="1" y="0" height={HEIGHT} />}
      {parts
        .filter(({ value }) => value > 0)
        .map(({ tone, value }) => {
          // What is there is seen, however little it is beside the rest.
          const height = Math.max(2, value * scale);
          top -= height;
          // Neighbours without a gap overlap, with sharp edges: otherwise one sees stripes between them.
          const [width, shape] = gap === 0 ? [1.5, "crispEdges"] : [1 - 2 * gap, undefined];
          return (
            <rect
              key={tone}
              data-tone={tone}
              shape-rendering={shape}
              {...{ x: x + gap, y: top, width, height }}
            />
          );
        })}
    </>
  );
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  Home: -Infinity,
  End: Infinity,
};

function moveFocus(event: KeyboardEvent, columns: readonly Column[], setFocus: (at: string) => void): void {
  const target = event.target as Element;
  const at = target.getAttribute("data-at");
  if (at === null) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    return;
  }
  const step = STEPS[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const place = columns.findIndex((column) => column.at === at) + step;
  const to = columns[Math.max(0, Math.min(columns.length - 1, place))];
  if (!to) return;
  setFocus(to.at);
  (event.currentTarget as Element).querySelector<SVGElement>(`[data-at="${to.at}"]`)?.focus();
}

/** What the parts mean, with how much there is of each. @param choose what a click on one does */
export function ToneLegend({
  tones,
  choose,
  chosen = "",
}: {
  tones: readonly { tone: string; name: string; text: string }[];
  choose?: (tone: string) => void;
  chosen?: string;
}) {
  return (
    <ul class="tones" aria-label="Colours">
      {tones.map(({ tone, name, text }) => {
        const label = (
          <>
            <i data-tone={tone} aria-hidden="true" /> {name} <b>{text}</b>
          </>
        );
        return (
          <li key={tone}>
            {choose ? (
              <button type="button" class="plain" aria-pressed={tone === chosen} onClick={() => choose(tone)}>
                {label}
              </button>
            ) : (
              label
            )}
          </li>
        );
      })}
    </ul>
  );
}

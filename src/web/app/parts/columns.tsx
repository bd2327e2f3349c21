/** Columns over time, each of several parts, with axes and the figures of the column that is pointed at. */
import { useMemo, useState } from "preact/hooks";
import { thousands } from "../../../figures.ts";
import { heightsOf, timesOf } from "../lib/axes.ts";
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
  figure?: (value: number) => string;
  limit?: number | null;
  /** What a click on a column does; the arrow keys go from one to the next. */
  choose?: (at: string) => void;
  chosen?: string;
};

export function Columns(props: Props) {
  const { label, columns, figure = thousands, limit = null, choose, chosen = "" } = props;
  const [focus, setFocus] = useState("");
  const [pointed, setPointed] = useState<string | null>(null);
  const drawing = drawingOf(props);
  const { width, scale, heights } = drawing;
  const first = columns.some(({ at }) => at === focus) ? focus : columns.at(-1)?.at;
  const focusAt = (at: string): void => {
    setFocus(at);
    setPointed(at);
  };
  // Pointing at a column draws no column again.
  const drawn = useMemo(
    () =>
      columns.map((column) => (
        <Group
          key={column.at}
          column={column}
          drawing={drawing}
          chosen={chosen}
          choose={choose}
          focusAt={focusAt}
          tabbed={column.at === first}
        />
      )),
    [columns, first, chosen, scale, width],
  );
  const told = columns.find(({ at }) => at === (pointed ?? chosen));
  return (
    <figure class="columns">
      <div class="drawn">
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          role={choose ? "group" : "img"}
          aria-label={label}
          onKeyDown={(event) => moveFocus(event, columns, setFocus)}
          onPointerMove={(event) => setPointed(columnAt(event, columns, drawing)?.at ?? null)}
          onPointerLeave={() => setPointed(null)}
        >
          {heights.map((value) => (
            <Across key={value} name="grid" width={width} y={HEIGHT - value * scale} />
          ))}
          {drawn}
          {limit !== null && <Across name="limit" width={width} y={HEIGHT - limit * scale} />}
        </svg>
        <Axes drawing={drawing} figure={figure} />
      </div>
      <figcaption class="told dim">
        {told?.title ??
          (limit === null
            ? "Point at a column for its figures."
            : `The line is the limit of ${thousands(limit)}.`)}
      </figcaption>
    </figure>
  );
}

/** Where columns stand, in columns from the left, and how high they are. `span`: what all of the width stands for. */
type Drawing = ReturnType<typeof drawingOf>;

function drawingOf({ columns, span: { from, to, widthMs }, limit = null }: Props) {
  const fromMs = Math.floor(Date.parse(from) / widthMs) * widthMs;
  const width = Math.max(1, Math.ceil((Date.parse(to) - fromMs) / widthMs));
  const sums = columns.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const most = Math.max(1, limit ?? 0, ...sums);
  const iso = (ms: number): string => new Date(ms).toISOString();
  return {
    width,
    scale: (HEIGHT - 6) / most,
    heights: heightsOf(most),
    placeOf: ({ at }: Column): number => (Date.parse(at) - fromMs) / widthMs,
    span: { from: iso(fromMs), to: iso(fromMs + width * widthMs) },
  };
}

type GroupProps = Pick<Props, "choose"> & {
  column: Column;
  drawing: Drawing;
  chosen: string;
  focusAt: (at: string) => void;
  /** Whether the Tab key leads to it. */
  tabbed: boolean;
};

/** One column, which may be a button. */
function Group({ column, drawing, chosen, choose, focusAt, tabbed }: GroupProps) {
  const { at, title, parts } = column;
  const { scale, width, placeOf } = drawing;
  const isButton = choose && {
    role: "button" as const,
    "aria-label": title,
    tabIndex: tabbed ? 0 : -1,
    onFocus: () => focusAt(at),
    onClick: () => choose(at),
  };
  const x = placeOf(column);
  const gap = width > MOST_APART ? 0 : 0.08;
  // Neighbours without a gap overlap, with sharp edges: otherwise one sees stripes between them.
  const [wide, shape] = gap === 0 ? [1.5, "crispEdges"] : [1 - 2 * gap, undefined];
  let top = HEIGHT;
  return (
    <g data-at={at} data-chosen={at === chosen ? "" : undefined} {...isButton}>
      {choose && <rect class="field" x={x} width="1" y="0" height={HEIGHT} />}
      {parts
        .filter(({ value }) => value > 0)
        .map(({ tone, value }) => {
          // What is there is seen, however little it is beside the rest.
          const height = Math.max(2, value * scale);
          top -= height;
          const box = { x: x + gap, y: top, width: wide, height };
          return <rect key={tone} data-tone={tone} fill={colorOf(tone)} shape-rendering={shape} {...box} />;
        })}
    </g>
  );
}

/** The column below the pointer, or very near to it. */
function columnAt(
  { clientX, currentTarget }: PointerEvent,
  columns: readonly Column[],
  { placeOf, width }: Drawing,
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

/** Names nearer than this to the right end would stand out over it, share of the width. */
const RIGHT_END = 0.95;

type AxesProps = { drawing: Drawing; figure: (value: number) => string };

/** The figures of the heights, and the times below. */
function Axes({ drawing: { heights, scale, span }, figure }: AxesProps) {
  const times = timesOf(span, narrow.value ? MOST_TIMES_NARROW : MOST_TIMES);
  return (
    <>
      <div class="heights" aria-hidden="true">
        {heights.map((value) => (
          <span key={value} style={{ bottom: `${(100 * value * scale) / HEIGHT}%` }}>
            {figure(value)}
          </span>
        ))}
      </div>
      <div class="times" aria-hidden="true">
        {times
          .filter(({ share }) => share < RIGHT_END)
          .map(({ name, share }) => (
            <span key={share} style={{ left: `${100 * share}%` }}>
              {name}
            </span>
          ))}
      </div>
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

/** The colour of a part, which the style sheet names. */
const colorOf = (tone: string): string => `var(--tone-${tone}, var(--dim))`;

type ToneLegendProps = {
  tones: readonly { tone: string; name: string; text: string }[];
  choose?: (tone: string) => void;
  chosen?: string;
};

/** What the parts mean, with how much there is of each. @param choose what a click on one does */
export function ToneLegend({ tones, choose, chosen = "" }: ToneLegendProps) {
  return (
    <ul class="tones row small" aria-label="Colours">
      {tones.map(({ tone, name, text }) => {
        const label = (
          <>
            <i style={{ "--tone": colorOf(tone) }} aria-hidden="true" /> {name} <b>{text}</b>
          </>
        );
        return (
          <li key={tone}>
            {choose ? (
              <button class="plain" aria-pressed={tone === chosen} onClick={() => choose(tone)}>
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

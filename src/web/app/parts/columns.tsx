/** Columns over time, each of several parts, for figures that the ledger and the answers add up to. */
import { useState } from "preact/hooks";
import { exchangeMoment } from "../lib/format.ts";
import type { Column } from "../lib/healthColumns.ts";

const HEIGHT = 100;

/** More columns than these stand without a gap: of a pixel nothing can be spared. */
const MOST_APART = 200;

/**
 * The picture. Columns stand where their time is, so that a time without one is a hole.
 *
 * @param limit drawn as a line; null: none
 * @param choose what a click on a column does; the arrow keys go from one to the next
 */
export function Columns({
  label,
  columns,
  span,
  limit = null,
  choose,
  chosen = "",
}: {
  label: string;
  columns: readonly Column[];
  span: { from: string; to: string; widthMs: number };
  limit?: number | null;
  choose?: (at: string) => void;
  chosen?: string;
}) {
  const [focus, setFocus] = useState("");
  const fromMs = Math.floor(Date.parse(span.from) / span.widthMs) * span.widthMs;
  const width = Math.max(1, Math.ceil((Date.parse(span.to) - fromMs) / span.widthMs));
  const sums = columns.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const scale = (HEIGHT - 6) / Math.max(1, limit ?? 0, ...sums);
  const first = columns.some(({ at }) => at === focus) ? focus : columns.at(-1)?.at;
  return (
    <figure class="columns">
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role={choose ? "group" : "img"}
        aria-label={label}
        onKeyDown={(event) => moveFocus(event, columns, setFocus)}
      >
        {limit !== null && (
          <line class="limit" x1="0" x2={width} y1={HEIGHT - limit * scale} y2={HEIGHT - limit * scale} />
        )}
        {columns.map((column) => (
          <g
            key={column.at}
            data-at={column.at}
            data-chosen={column.at === chosen ? "" : undefined}
            {...(choose && {
              role: "button",
              "aria-label": column.title,
              tabIndex: column.at === first ? 0 : -1,
              onFocus: () => setFocus(column.at),
              onClick: () => choose(column.at),
            })}
          >
            <title>{column.title}</title>
            <Stack
              {...{ column, scale }}
              x={(Date.parse(column.at) - fromMs) / span.widthMs}
              gap={width > MOST_APART ? 0 : 0.08}
              pressed={choose !== undefined}
            />
          </g>
        ))}
      </svg>
      <Ends span={span} limit={limit} />
    </figure>
  );
}

function Ends({ span, limit }: { span: { from: string; to: string }; limit: number | null }) {
  return (
    <figcaption>
      <span>{exchangeMoment(span.from)}</span>
      {limit !== null && <span>line: the limit of {limit}</span>}
      <span>{exchangeMoment(span.to)}</span>
    </figcaption>
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

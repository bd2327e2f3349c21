/** A picture of lines with bands around them, and what stands below the pointer. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { bandPath, linePath, MARGIN, nearest, type PlotLine, scalesOf, ticksOf } from "../lib/plot.ts";
import { thousands } from "../../../figures.ts";

const HEIGHT = 230;

/** Pixels that a tick's name needs. */
const TICK_WIDTH = 64;
const TICK_HEIGHT = 38;

type PlotOptions = {
  /** Told to who does not see it. */
  label: string;
  lines: readonly PlotLine[];
  xName: string;
  xText: (x: number) => string;
  /** What is below the pointer, in words. */
  tell: (x: number) => string;
};

/** Heights are percent a year. */
export function Plot({ label, lines, xName, xText, tell }: PlotOptions) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [under, setUnder] = useState<number | null>(null);
  const clip = useId();
  const scales = scalesOf(lines, { width, height: HEIGHT });
  const { x, y } = scales;
  const shown = under !== null && lines.some(({ points }) => points.some((point) => point.x === under));
  return (
    <div class="plot" ref={frame}>
      <svg
        role="img"
        aria-label={label}
        width={width}
        height={HEIGHT}
        onPointerMove={(event) =>
          setUnder(nearest(lines, x, event.clientX - event.currentTarget.getBoundingClientRect().left))
        }
        onPointerLeave={() => setUnder(null)}
      >
        <clipPath id={clip}>
          <rect
            x={MARGIN.left}
            y={MARGIN.top}
            width={Math.max(0, width - MARGIN.left - MARGIN.right)}
            height={HEIGHT - MARGIN.top - MARGIN.bottom}
          />
        </clipPath>
        <Axes {...{ width, scales, xText }} />
        {shown && (
          <line class="under" x1={x.at(under)} x2={x.at(under)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
        )}
        {lines.map(({ name, tone, points }) => (
          <g key={name} data-tone={tone} clip-path={`url(#${clip})`}>
            <path class="band" d={bandPath(points, scales)} />
            <path class="line" d={linePath(points, scales)} />
            {points.map((point) => (
              <circle key={point.x} cx={x.at(point.x)} cy={y.at(point.y)} r={point.x === under ? 4.5 : 2.6} />
            ))}
          </g>
        ))}
      </svg>
      <p class="told">{shown ? tell(under) : xName}</p>
    </div>
  );
}

function Axes({
  width,
  scales: { x, y },
  xText,
}: {
  width: number;
  scales: ReturnType<typeof scalesOf>;
  xText: (x: number) => string;
}) {
  const floor = HEIGHT - MARGIN.bottom;
  return (
    <g class="axes">
      {ticksOf(y, (floor - MARGIN.top) / TICK_HEIGHT).map((tick) => (
        <g key={tick}>
          <line x1={MARGIN.left} x2={width - MARGIN.right} y1={y.at(tick)} y2={y.at(tick)} />
          <text class="y" x={MARGIN.left - 6} y={y.at(tick)} data-tick={tick}>
            {thousands(tick)} %
          </text>
        </g>
      ))}
      {ticksOf(x, (width - MARGIN.left) / TICK_WIDTH).map((tick) => (
        <text key={tick} class="x" x={x.at(tick)} y={floor + 17} data-tick={tick}>
          {xText(tick)}
        </text>
      ))}
    </g>
  );
}

/** The element's width in pixels, as it changes. */
function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(480);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.round(entry.contentRect.width)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

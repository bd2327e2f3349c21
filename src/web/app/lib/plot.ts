/** Where the points of a picture lie: scales, ticks and paths. Pure. */

/** A point with the band around it: between them lies the market's own doubt. */
export type PlotPoint = { x: number; y: number; low: number | null; high: number | null };

/** A line of a picture. */
export type PlotLine = { name: string; tone: "call" | "put" | "term"; points: readonly PlotPoint[] };

/** From a value to a place in pixels. */
type Scale = { from: number; to: number; at: (value: number) => number };

/** Pixels around the drawn area, for the names of ticks. */
export const MARGIN = { left: 58, right: 14, top: 10, bottom: 26 };

/** Linear, with some room at both ends. */
export function scaleOf(values: readonly number[], pixels: readonly [number, number], room: number): Scale {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const around = most > least ? (most - least) * room : Math.abs(most) * 0.1 || 1;
  const [from, to] = [least - around, most + around];
  const [start, end] = pixels;
  return { from, to, at: (value) => start + ((value - from) / (to - from)) * (end - start) };
}

/**
 * Both scales of a picture. The height has room for all middles and a band as wide as half of them are: one that is much wider is
 * cut off, because nobody means what they quote there.
 */
export function scalesOf(
  lines: readonly PlotLine[],
  { width, height }: { width: number; height: number },
): { x: Scale; y: Scale } {
  const points = lines.flatMap((line) => line.points);
  const band = usualBand(points);
  const { left, right, top, bottom } = MARGIN;
  return {
    x: scaleOf(
      points.map(({ x }) => x),
      [left, width - right],
      0.03,
    ),
    y: scaleOf(
      points.flatMap(({ y }) => [y - band, y + band]),
      [height - bottom, top],
      0.12,
    ),
  };
}

/** The median of how far the sides are from the middle; 0 where none is known. */
function usualBand(points: readonly PlotPoint[]): number {
  const away = points
    .flatMap(({ y, low, high }) => [low === null ? [] : [y - low], high === null ? [] : [high - y]].flat())
    .sort((a, b) => a - b);
  return away[Math.floor(away.length / 2)] ?? 0;
}

/** Round values on a scale: steps of 1, 2 or 5 times a power of ten. @param most how many fit */
export function ticksOf({ from, to }: Pick<Scale, "from" | "to">, most: number): number[] {
  const least = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((times) => times * power >= least) ?? 10);
  const first = Math.ceil(from / step);
  const count = Math.floor(to / step) - first + 1;
  // Made from whole numbers: sums of 0.1 are none of 0.1.
  return Array.from({ length: Math.max(0, count) }, (_, place) =>
    Number(((first + place) * step).toPrecision(12)),
  );
}

type Scales = { x: Scale; y: Scale };

/** The line through the middles. */
export function linePath(points: readonly PlotPoint[], { x, y }: Scales): string {
  return points
    .map((point, place) => `${place === 0 ? "M" : "L"}${spot(x.at(point.x), y.at(point.y))}`)
    .join("");
}

/** The bands of neighbours that have one: a gap where a side is not known. */
export function bandPath(points: readonly PlotPoint[], { x, y }: Scales): string {
  const runs: { x: number; low: number; high: number }[][] = [[]];
  for (const { x: place, low, high } of points)
    if (low === null || high === null) runs.push([]);
    else runs.at(-1)?.push({ x: place, low, high });
  return runs
    .filter((run) => run.length > 1)
    .map((run) => {
      const above = run.map((each) => spot(x.at(each.x), y.at(each.high)));
      const below = run.map((each) => spot(x.at(each.x), y.at(each.low))).reverse();
      return `M${[...above, ...below].join("L")}Z`;
    })
    .join("");
}

/** The place of the points that is nearest to a pixel; null where there are none. */
export function nearest(lines: readonly PlotLine[], x: Scale, pixel: number): number | null {
  const places = lines.flatMap((line) => line.points.map((point) => point.x));
  const away = (place: number): number => Math.abs(x.at(place) - pixel);
  return places.reduce<number | null>(
    (best, place) => (best === null || away(place) < away(best) ? place : best),
    null,
  );
}

function spot(x: number, y: number): string {
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}

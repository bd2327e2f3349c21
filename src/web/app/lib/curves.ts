/** A chain's volatilities as the curves of its pictures, the smile and the term structure, with their axes. Pure. */
import type { Contract, TermPoint } from "../../../archive/ask/dashboardTypes.ts";

/** A point: `y` is the volatility at the middle of bid and ask, percent a year; `bid` and `ask` are the ends of the band. */
export type CurvePoint = { x: number; y: number; bid: number | null; ask: number | null };

export type Curve = { name: string; tone: "call" | "put" | "term"; points: readonly CurvePoint[] };

export const YEAR_DAYS = 365;

type Band = Pick<Contract, "ivBid" | "ivMid" | "ivAsk">;

/** Whether bid and ask are so far apart that their band of volatilities is wider than the one in its middle. It may have no end. */
export function isVague({ ivBid, ivMid, ivAsk }: Band): boolean {
  return ivMid !== null && (ivBid === null || ivAsk === null || ivAsk - ivBid > ivMid);
}

/** Calls and puts apart. Contracts whose volatility is vague, or not known, are no points. */
export function smileCurves(contracts: readonly Contract[]): Curve[] {
  const curve = (name: string, tone: Curve["tone"], type: Contract["optionType"]): Curve => ({
    name,
    tone,
    points: contracts
      .filter((contract) => contract.optionType === type && !isVague(contract))
      .flatMap((one) => pointOf(Number(one.strike), one))
      .sort((a, b) => a.x - b.x),
  });
  return [curve("Calls", "call", "CALL"), curve("Puts", "put", "PUT")].filter(
    ({ points }) => points.length > 0,
  );
}

/** Volatility at the money against the time that is left. @param perYear how many units of `x` a year has */
export function termCurve(points: readonly TermPoint[], perYear: number): Curve {
  return {
    name: "At the money",
    tone: "term",
    points: points.flatMap((point) => pointOf(point.years * perYear, point)),
  };
}

function pointOf(x: number, { ivBid, ivMid, ivAsk }: Band): CurvePoint[] {
  if (ivMid === null) return [];
  const percent = (iv: number | null): number | null => (iv === null ? null : 100 * iv);
  return [{ x, y: 100 * ivMid, bid: percent(ivBid), ask: percent(ivAsk) }];
}

/** The median distance of the bands' ends from the middle; 0 where no end is known. */
export function usualBand(points: readonly CurvePoint[]): number {
  const away = points
    .flatMap(({ y, bid, ask }) => [bid, ask].flatMap((end) => (end === null ? [] : Math.abs(end - y))))
    .sort((a, b) => a - b);
  return away[Math.floor(away.length / 2)] ?? 0;
}

/** Room at both ends of an axis, as a part of what lies between them. */
const ROOM = 0.03;

/** Values that differ by less, as a part of the greatest, have room as a single one has. */
const SAME = 1e-4;

/** A linear axis: where a value lies, in percent of it, and the round values that are named. */
export type Axis = { placeOf: (value: number) => number; named: number[] };

/** @param most how many values are named at most, about */
export function axisOf(values: readonly number[], most: number): Axis {
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const size = Math.abs(greatest);
  const room = ROOM * (greatest - least > SAME * size ? greatest - least : size || 1);
  const [from, to] = [least - room, greatest + room];
  const power = 10 ** Math.floor(Math.log10((to - from) / most));
  const step = power * ([1, 2, 5].find((times) => times * power * most >= to - from) ?? 10);
  const first = Math.ceil(from / step);
  return {
    placeOf: (value) => (100 * (value - from)) / (to - from),
    // Made from whole numbers: sums of 0.1 are not multiples of 0.1.
    named: Array.from({ length: Math.floor(to / step) - first + 1 }, (_, number) =>
      Number(((first + number) * step).toPrecision(12)),
    ),
  };
}

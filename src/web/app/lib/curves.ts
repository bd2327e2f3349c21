/** A chain's volatilities as the curves of its pictures: the smile and the term structure. Pure. */
import type { Contract, TermPoint } from "../../../archive/ask/dashboardTypes.ts";

/** A point: `y` is the volatility at the middle of bid and ask, percent a year; `bid` and `ask` are the ends of the band. */
export type CurvePoint = { x: number; y: number; bid: number | null; ask: number | null };

export type Curve = { name: string; tone: "call" | "put" | "term"; points: readonly CurvePoint[] };

export type SmileAxis = "strike" | "moneyness";

export const YEAR_DAYS = 365;

/** Calls and puts apart. Contracts without a volatility are no points. */
export function smileCurves(contracts: readonly Contract[], axis: SmileAxis): Curve[] {
  const curve = (name: string, tone: Curve["tone"], type: Contract["optionType"]): Curve => ({
    name,
    tone,
    points: contracts
      .filter(({ optionType }) => optionType === type)
      .flatMap((contract) =>
        pointOf(axis === "strike" ? Number(contract.strike) : contract.moneyness, contract),
      )
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

function pointOf(
  x: number | null,
  { ivBid, ivMid, ivAsk }: Pick<Contract, "ivBid" | "ivMid" | "ivAsk">,
): CurvePoint[] {
  if (x === null || ivMid === null) return [];
  return [{ x, y: 100 * ivMid, bid: percent(ivBid), ask: percent(ivAsk) }];
}

function percent(iv: number | null): number | null {
  return iv === null ? null : 100 * iv;
}

/** The median distance of the bands' ends from the middle; 0 where no end is known. */
export function usualBand(points: readonly CurvePoint[]): number {
  const away = points
    .flatMap(({ y, bid, ask }) => [bid, ask].flatMap((end) => (end === null ? [] : Math.abs(end - y))))
    .sort((a, b) => a - b);
  return away[Math.floor(away.length / 2)] ?? 0;
}

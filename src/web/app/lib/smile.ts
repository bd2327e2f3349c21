/** A chain's volatilities as the lines of its pictures. Pure. */
import type { Contract, TermPoint } from "../../api/types.ts";
import type { PlotLine, PlotPoint } from "./plot.ts";

/** Along what the smile is drawn. */
export type SmileAxis = "strike" | "moneyness";

const percent = (iv: number | null): number | null => (iv === null ? null : 100 * iv);

/** Volatility against strike or moneyness, calls and puts apart, from bid to ask. Contracts without one are no points. */
export function smileLines(contracts: readonly Contract[], axis: SmileAxis): PlotLine[] {
  const line = (name: string, optionType: Contract["optionType"]): PlotLine => ({
    ...{ name, tone: optionType === "CALL" ? "call" : "put" },
    points: contracts
      .filter((contract) => contract.optionType === optionType)
      .flatMap((contract) => pointOf(contract, axis))
      .sort((a, b) => a.x - b.x),
  });
  return [line("Calls", "CALL"), line("Puts", "PUT")].filter(({ points }) => points.length > 0);
}

function pointOf({ strike, moneyness, ivBid, ivMid, ivAsk }: Contract, axis: SmileAxis): PlotPoint[] {
  const x = axis === "strike" ? Number(strike) : moneyness;
  return x === null || ivMid === null
    ? []
    : [{ x, y: 100 * ivMid, low: percent(ivBid), high: percent(ivAsk) }];
}

/** Days of a year, as the volatilities have them. */
const YEAR_DAYS = 365;

/** Volatility at the money against the days that are left. */
export function termLine(points: readonly TermPoint[]): PlotLine {
  return {
    ...{ name: "At the money", tone: "term" },
    points: points.map(({ years, ivBid, ivMid, ivAsk }) => ({
      ...{ x: years * YEAR_DAYS, y: 100 * ivMid, low: percent(ivBid), high: percent(ivAsk) },
    })),
  };
}

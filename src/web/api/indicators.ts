/** What is computed from bars: VWAP and moving averages; for the page, which draws them, and for files. Pure. */
import type { Bar } from "../../archive/ask/dashboardTypes.ts";

export type Indicator = { name: "vwap" | "spread" } | { name: "sma" | "ema"; length: number };

export const MOST_AVERAGES = 4;

export const LONGEST = 999;

/** How indicators are written in an address: `vwap,spread,sma20,ema50`. */
export const INDICATORS = new RegExp(
  `^(?:(?:vwap|spread|[se]ma[1-9]\\d{0,${String(LONGEST).length - 1}})(?:,|$))*$`,
);

/** Them as in an address; what is none, and what is there twice or too often, is left out. */
export function indicatorsOf(text: string): Indicator[] {
  const names = [...new Set(text.split(","))].filter((name) => name !== "" && INDICATORS.test(name));
  const averages = names.filter((name) => name.includes("ma")).slice(0, MOST_AVERAGES);
  return names
    .filter((name) => !name.includes("ma") || averages.includes(name))
    .map((name) =>
      name === "vwap" || name === "spread"
        ? { name }
        : { name: name.slice(0, 3) as "sma" | "ema", length: Number(name.slice(3)) },
    );
}

export function indicatorKey(indicator: Indicator): string {
  return "length" in indicator ? `${indicator.name}${indicator.length}` : indicator.name;
}

/** One as people call it: `VWAP`, `SMA 20`. */
export function indicatorLabel(indicator: Indicator): string {
  if ("length" in indicator) return `${indicator.name.toUpperCase()} ${indicator.length}`;
  return indicator.name === "vwap" ? "VWAP" : "Spread";
}

/** What is computed of a bar. */
type Priced = Pick<Bar, "date" | "high" | "low" | "close" | "volume" | "meanSpread">;

/** Its value at each bar, null where there is none. */
export function valuesOf(indicator: Indicator, bars: readonly Priced[]): (number | null)[] {
  const closes = bars.map(({ close }) => numberOf(close));
  switch (indicator.name) {
    case "vwap":
      return vwap(bars);
    case "spread":
      return bars.map(({ meanSpread }) => numberOf(meanSpread));
    case "sma":
      return sma(closes, indicator.length);
    case "ema":
      return ema(closes, indicator.length);
  }
}

/**
 * Volume-weighted average price: of each bar the mean of high, low and close, weighted by its volume. It begins anew with
 * each exchange date. Bars without a volume or a price leave it as it was.
 */
function vwap(bars: readonly Priced[]): (number | null)[] {
  let [date, turnover, traded] = ["", 0, 0];
  return bars.map((bar) => {
    if (bar.date !== date) [date, turnover, traded] = [bar.date, 0, 0];
    const high = numberOf(bar.high);
    const low = numberOf(bar.low);
    const close = numberOf(bar.close);
    const volume = numberOf(bar.volume);
    if (high !== null && low !== null && close !== null && volume !== null) {
      turnover += ((high + low + close) / 3) * volume;
      traded += volume;
    }
    return traded > 0 ? turnover / traded : null;
  });
}

/** Mean of the newest closes; bars without one are not counted. Null until there are as many as its length. */
function sma(closes: readonly (number | null)[], length: number): (number | null)[] {
  const newest: number[] = [];
  return closes.map((close) => {
    if (close === null) return null;
    newest.push(close);
    if (newest.length > length) newest.shift();
    return newest.length < length ? null : newest.reduce((sum, one) => sum + one) / length;
  });
}

/** Each close weighs 2 / (length + 1), what was before it the rest. It begins with the mean of as many as its length. */
function ema(closes: readonly (number | null)[], length: number): (number | null)[] {
  const weight = 2 / (length + 1);
  let [seen, average] = [0, 0];
  return closes.map((close) => {
    if (close === null) return null;
    seen += 1;
    average = seen <= length ? average + (close - average) / seen : average + weight * (close - average);
    return seen < length ? null : average;
  });
}

/** A number of decimal text, for drawing. */
export function numberOf(text: string | null | undefined): number | null {
  return typeof text === "string" ? Number(text) : null;
}

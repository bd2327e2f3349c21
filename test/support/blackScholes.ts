/** European options by plain arithmetic, without a dividend: the normal distribution by Simpson's rule, greeks by differences. */

/** One contract, years and rates as the archive has them. */
export type Option = { type: "CALL" | "PUT"; spot: number; strike: number; years: number; rate: number };

export function valueOf({ type, spot, strike, years, rate }: Option, volatility: number): number {
  const deviation = volatility * Math.sqrt(years);
  const d1 = (Math.log(spot / strike) + rate * years) / deviation + deviation / 2;
  const sign = type === "CALL" ? 1 : -1;
  const discounted = strike * Math.exp(-rate * years);
  return sign * (spot * normal(sign * d1) - discounted * normal(sign * (d1 - deviation)));
}

/** Change of the value for each 1 of the spot. */
export function deltaOf(option: Option, volatility: number): number {
  const step = option.spot * 1e-4;
  const at = (spot: number): number => valueOf({ ...option, spot }, volatility);
  return (at(option.spot + step) - at(option.spot - step)) / (2 * step);
}

/** P(X <= x) of a standard normal X. */
function normal(x: number): number {
  const steps = 2_000;
  const density = (at: number): number => Math.exp((-at * at) / 2) / Math.sqrt(2 * Math.PI);
  let sum = density(0) + density(x);
  for (let step = 1; step < steps; step++) sum += (step % 2 === 0 ? 2 : 4) * density((x * step) / steps);
  return 0.5 + (sum * x) / steps / 3;
}

/** European option prices (Black and Scholes, 1973), without dividends. */
import type { OptionType } from "../../market/instrument.ts";

/** Dollars, years, and rates and volatilities as a fraction per year. */
type OptionTerms = {
  optionType: OptionType;
  spot: number;
  strike: number;
  /** Time to expiration, years. */
  years: number;
  volatility: number;
  rate: number;
};

/** Value in dollars, and delta: 0 to 1 for a call, -1 to 0 for a put. */
export type OptionValue = { value: number; delta: number };

/** A second, in years: the least time to expiration, so that nothing divides by 0. */
const SHORTEST = 1 / (365 * 86_400);

/** The Black-Scholes value. Call and put agree with put-call parity: C - P = S - K e^(-rT). */
export function optionValue({ optionType, spot, strike, years, volatility, rate }: OptionTerms): OptionValue {
  const time = Math.max(years, SHORTEST);
  const spread = volatility * Math.sqrt(time);
  const d1 = (Math.log(spot / strike) + (rate + volatility ** 2 / 2) * time) / spread;
  const d2 = d1 - spread;
  const presentStrike = strike * Math.exp(-rate * time);
  const { value, delta } =
    optionType === "CALL"
      ? { value: spot * normalBelow(d1) - presentStrike * normalBelow(d2), delta: normalBelow(d1) }
      : { value: presentStrike * normalBelow(-d2) - spot * normalBelow(-d1), delta: -normalBelow(-d1) };
  return { value: Math.max(0, value), delta };
}

/**
 * The standard normal distribution function, to about 15 digits: Hart's algorithm as given by G. West,
 * "Better approximations to cumulative normal functions" (2005).
 */
function normalBelow(x: number): number {
  const z = Math.abs(x);
  if (z > 37) return x > 0 ? 1 : 0;
  const density = Math.exp((-z * z) / 2);
  const above =
    z < 7.07106781186547 ? (density * horner(NUMERATOR, z)) / horner(DENOMINATOR, z) : farTail(density, z);
  return x > 0 ? 1 - above : above;
}

const NUMERATOR = [
  3.52624965998911e-2, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871,
  221.213596169931, 220.206867912376,
] as const;

const DENOMINATOR = [
  8.83883476483184e-2, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674,
  637.333633378831, 793.826512519948, 440.413735824752,
] as const;

function horner(coefficients: readonly number[], z: number): number {
  return coefficients.reduce((sum, coefficient) => sum * z + coefficient, 0);
}

function farTail(density: number, z: number): number {
  return density / (z + 1 / (z + 2 / (z + 3 / (z + 4 / (z + 0.65))))) / 2.506628274631;
}

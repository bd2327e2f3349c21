/**
 * Greeks beside the simulated market's delta. The others have no meaning but to be plausible: differences of the market's
 * own formula.
 */
import type { OptionType } from "../../src/market/instrument.ts";
import { optionValue } from "../../src/serve/simulated/blackScholes.ts";
import type { Company } from "../../src/serve/simulated/companies.ts";
import { RATE } from "../../src/serve/simulated/option.ts";

const YEAR_MS = 365 * 24 * 3_600_000;

export type GreeksTerms = {
  company: Company;
  optionType: OptionType;
  strike: string;
  expiresAt: Date;
  /** When they were made. */
  madeAt: Date;
  /** The underlying's price then, decimal text. */
  spot: string;
};

/** Theta is that of a day; vega, rho and phi are those of a percent. */
export type Greeks = Record<"gamma" | "theta" | "vega" | "rho" | "phi", number>;

export function greeksOf(terms: GreeksTerms): Greeks {
  const { company, optionType, expiresAt, madeAt } = terms;
  const volatility = volatilityOf(company);
  const spot = Number(terms.spot);
  const years = Math.max(1e-4, (expiresAt.getTime() - madeAt.getTime()) / YEAR_MS);
  const at = { optionType, spot, strike: Number(terms.strike), years, volatility, rate: RATE };
  const of = (changed: Partial<typeof at>) => optionValue({ ...at, ...changed });
  const [up, down] = [spot * 1.001, spot * 0.999];
  return {
    gamma: (of({ spot: up }).delta - of({ spot: down }).delta) / (up - down),
    theta: (of({ years: years * 0.999 }).value - of({}).value) / (years * 0.001 * 365),
    vega: of({ volatility: volatility + 0.005 }).value - of({ volatility: volatility - 0.005 }).value,
    rho: of({ rate: RATE + 0.005 }).value - of({ rate: RATE - 0.005 }).value,
    phi: -(spot * years * of({}).delta) / 100,
  };
}

/** Of a year, a fraction. */
export function volatilityOf({ dailyVolatility }: Company): number {
  return dailyVolatility * Math.sqrt(365);
}

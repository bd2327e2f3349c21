/**
 * Greeks and implied volatilities as Tradier has them from ORATS, about once an hour (docs.tradier.com, greeks).
 */
import { decimalText } from "../../../src/serve/simulated/decimalText.ts";
import { chance, fork } from "../../../src/serve/simulated/hash.ts";
import { greeksOf, type GreeksTerms, volatilityOf } from "../greeks.ts";
import { number, type Value } from "../wire.ts";

const HOUR_MS = 3_600_000;

/** Decimals behind the point: recorded answers have up to 18 digits, the smallest with exponents. */
const PLACES = 18;

/** When the greeks of an instant were made: at the end of the hour before it. */
export function greeksAt(at: Date): Date {
  return new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS - 33_000);
}

export type WrittenGreeks = GreeksTerms & {
  /** The simulated market's delta then, decimal text. */
  delta: string;
  /** No bid, and so no volatility of one. */
  hasBid: boolean;
  /** Never traded: all volatilities but the smoothed one are 0.0. A sample of the documentation shows it. */
  isTraded: boolean;
  seed: number;
};

/** @param terms made at `greeksAt` */
export function writtenGreeks(terms: WrittenGreeks): Value {
  const { company, madeAt, delta, seed } = terms;
  // A strike has one set, the call's: only delta is the put's own (orats.com, "Option Greeks are the same for calls and puts").
  const greeks = greeksOf({ ...terms, optionType: "CALL" });
  const written = (value: number) => number(decimalText(value, PLACES));
  return {
    delta: number(lengthened(delta, seed)),
    gamma: written(greeks.gamma),
    theta: written(greeks.theta),
    vega: written(greeks.vega),
    rho: written(greeks.rho),
    phi: written(greeks.phi),
    ...volatilities(terms, volatilityOf(company)),
    // UTC, and the text does not say so: as New York's time it would lie behind the Date of the recorded answer.
    updated_at: madeAt.toISOString().slice(0, 19).replace("T", " "),
  };
}

/** Fractions, with six decimals; the smoothed one with three. */
function volatilities({ hasBid, isTraded, seed }: WrittenGreeks, volatility: number): Record<string, Value> {
  const apart = 0.005 + 0.02 * chance(seed, 20);
  const [bid, ask] = [volatility * (1 - apart), volatility * (1 + apart)];
  const ivs = !isTraded ? [0, 0, 0] : hasBid ? [bid, (bid + ask) / 2, ask] : [0, ask, ask];
  const [bidIv = 0, midIv = 0, askIv = 0] = ivs;
  return {
    bid_iv: number(decimalText(bidIv, 6)),
    mid_iv: number(decimalText(midIv, 6)),
    ask_iv: number(decimalText(askIv, 6)),
    smv_vol: number(decimalText(volatility * (0.99 + 0.02 * chance(seed, 21)), 3)),
  };
}

/** Digits behind the six of a decimal: `-0.5` becomes `-0.5000004759140743`, and `-6.8E-5` becomes `-6.847591407431256E-5`. */
function lengthened(text: string, seed: number): string {
  if (Math.abs(Number(text)) === 1) return text;
  const [mantissa = "", exponent] = text.split("E");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const known = exponent === undefined ? fraction.padEnd(6, "0") : fraction;
  const digits = Array.from({ length: 16 - known.length }, (_, index) =>
    Math.floor(10 * chance(fork(seed, 22), index)),
  );
  // A last 0 would not be written.
  const more = digits.join("").replace(/0$/, "1");
  return `${whole}.${known}${more}${exponent === undefined ? "" : `E${exponent}`}`;
}

/** Strikes around a price, exactly: decimals are whole numbers of a small enough unit, never floats. */
import { QuotekeeperError } from "../ground/errors.ts";
import { plainStrike } from "./instrument.ts";

/** A decimal as `units` of 10^-`scale`. */
type ScaledDecimal = { units: bigint; scale: number };

const DECIMAL = /^(\d{1,18})(?:\.(\d{0,18}))?(?:[eE]([+-]?\d{1,2}))?$/;

/**
 * The multiples of `step` from `percent` below `last` to `percent` above it, bounds included, ascending.
 *
 * @param last decimal text, perhaps with an exponent. 0 gives no strike.
 * @param most stops after this many plus one, so that a tiny step cannot fill the memory
 * @throws CHAIN_INVALID when a number is no decimal
 */
export function strikesAround(
  last: string,
  { percent, step }: { percent: string; step: string },
  most: number,
): string[] {
  const price = scaled(last);
  const stride = scaled(step);
  const width = scaled(percent);
  const scale = Math.max(price.scale, stride.scale);
  const priceUnits = price.units * 10n ** BigInt(scale - price.scale);
  const stepUnits = stride.units * 10n ** BigInt(scale - stride.scale);
  if (stepUnits === 0n) throw new QuotekeeperError("CHAIN_INVALID", "the step of the strikes is 0");

  const whole = 100n * 10n ** BigInt(width.scale);
  const divisor = stepUnits * whole;
  const lowest = (priceUnits * (whole - width.units) + divisor - 1n) / divisor;
  const highest = (priceUnits * (whole + width.units)) / divisor;
  const strikes: string[] = [];
  for (let k = lowest > 0n ? lowest : 1n; k <= highest && strikes.length <= most; k++) {
    strikes.push(decimalText({ units: k * stepUnits, scale }));
  }
  return strikes;
}

export function byDecimal(a: string, b: string): number {
  const [x, y] = [scaled(a), scaled(b)];
  return Number(x.units * 10n ** BigInt(y.scale) - y.units * 10n ** BigInt(x.scale));
}

function scaled(text: string): ScaledDecimal {
  const match = DECIMAL.exec(text);
  if (!match) throw new QuotekeeperError("CHAIN_INVALID", `"${text}" is no decimal number`);
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const scale = fraction.length - Number(exponent);
  const units = BigInt(whole + fraction);
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}

function decimalText({ units, scale }: ScaledDecimal): string {
  const digits = units.toString().padStart(scale + 1, "0");
  const split = digits.length - scale;
  return plainStrike(`${digits.slice(0, split)}.${digits.slice(split)}`);
}

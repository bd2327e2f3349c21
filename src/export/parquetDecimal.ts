/** PostgreSQL's decimals as Parquet's DECIMAL: a whole number and a scale. Nothing is ever rounded. */

/** A DECIMAL of so many digits, `scale` of them behind the point. */
export type DecimalType = { precision: number; scale: number };

/** What a column of decimals begins with: prices to ten thousand million, eight places, eight bytes a value. */
export const COMMON_DECIMAL: DecimalType = { precision: 18, scale: 8 };

/** The most digits that Parquet's readers agree on. */
const MOST_DIGITS = 38;

/** Places that a column gets at least once the common type is too narrow for it. */
const WIDE_SCALE = 18;

/** How many digits a value needs before and behind the point. */
export type Digits = { whole: number; fraction: number };

const PLAIN = /^(-?)0*(\d*)(?:\.(\d*?)0*)?$/;

/** Fifteen digits are exact in a double, which becomes a bigint faster than text does. */
const EXACT_DIGITS = 15;

/**
 * @param text a decimal without exponent, as PostgreSQL writes `numeric`
 * @returns the value times 10^scale; null when it does not fit the type
 */
export function scaledDecimal(text: string, { precision, scale }: DecimalType): bigint | null {
  const point = text.indexOf(".");
  const whole = point < 0 ? text : text.slice(0, point);
  let fraction = point < 0 ? "" : text.slice(point + 1);
  if (fraction.length > scale) {
    if (/[^0]/.test(fraction.slice(scale))) return null;
    fraction = fraction.slice(0, scale);
  }
  const digits = whole + fraction.padEnd(scale, "0");
  if (digits.length <= EXACT_DIGITS) {
    const value = Number(digits);
    return Number.isNaN(value) ? null : BigInt(value);
  }
  if (!/^-?\d+$/.test(digits)) return null;
  const value = BigInt(digits);
  const bound = 10n ** BigInt(precision);
  return value < bound && value > -bound ? value : null;
}

/** The digits of a value without the zeros that mean nothing; null for what is no plain decimal (`NaN`, `Infinity`). */
export function digitsOf(text: string): Digits | null {
  const match = PLAIN.exec(text);
  return match && { whole: match[2]?.length ?? 0, fraction: match[3]?.length ?? 0 };
}

/** The larger of both, before and behind the point. */
export function moreDigits(a: Digits, b: Digits): Digits {
  return { whole: Math.max(a.whole, b.whole), fraction: Math.max(a.fraction, b.fraction) };
}

/**
 * A type that holds what `type` holds and such values as well.
 *
 * @returns null when no DECIMAL has so many digits
 */
export function widened(type: DecimalType, needed: Digits): DecimalType | null {
  const { whole, fraction } = moreDigits(needed, {
    whole: type.precision - type.scale,
    fraction: type.scale,
  });
  // What was narrower on purpose becomes what is common first.
  const common = { whole: COMMON_DECIMAL.precision - COMMON_DECIMAL.scale, fraction: COMMON_DECIMAL.scale };
  if (type.scale < common.fraction && needed.whole <= common.whole && needed.fraction <= common.fraction)
    return COMMON_DECIMAL;
  if (whole + fraction > MOST_DIGITS) {
    // The room that nobody used so far is given up.
    return needed.whole + needed.fraction > MOST_DIGITS
      ? null
      : { precision: MOST_DIGITS, scale: Math.max(needed.fraction, MOST_DIGITS - whole) };
  }
  return { precision: MOST_DIGITS, scale: Math.min(Math.max(fraction, WIDE_SCALE), MOST_DIGITS - whole) };
}

/** A decimal without the zeros that its column's type adds. */
export function decimalText(whole: bigint, scale: number): string {
  const digits = (whole < 0n ? -whole : whole).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  const fraction = digits.slice(point).replace(/0+$/u, "");
  return `${whole < 0n ? "-" : ""}${digits.slice(0, point)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Numbers of the service stay decimal text from the wire to the `numeric` column; nothing here is a float. */
import { cutText, inShort } from "../ground/outsideText.ts";

/**
 * Texts that stand for "no value". Empty, `null` and `na` are seen in samples (field notes, "Answers").
 *
 * Assumed: `n/a` and Java's `NaN` mean the same wherever a number is expected.
 */
export const ABSENT_TEXTS: ReadonlySet<string> = new Set(["", "null", "na", "n/a", "nan"]);

/**
 * Assumed: no number of the service has an exponent beyond +-400 (the text `4.9E-324` does occur).
 * Larger ones are taken for damage, not for prices.
 */
const MAX_EXPONENT = 400;

/** Assumed: no number of the service has more digits than this; `numeric` would take 131,072. */
export const MAX_DIGITS = 400;

/**
 * Digits that a decimal has at most in the archive, before and behind the point: 38 together, as `DECIMAL(38,23)` has them in
 * Parquet and in every engine that reads it.
 *
 * Assumed: a number with more digits before its point is no price, count or ratio, but damage or a sentinel such as
 * `1.7976931348623157E308`. Digits further behind the point mean nothing: what is written so is a double.
 */
export const HELD_DIGITS = { whole: 15, fraction: 23 } as const;

/** The smallest positive double: a yield of it means "no dividend" (field notes, "Answers"). It is no other value either. */
const NO_VALUE = "4.9E-324";

/** A value, nothing (null), or a problem in words. */
export type ReadResult<T> =
  | { ok: true; value: T | null }
  | {
      ok: false;
      problem: string;
      /** It is a number all the same, but none that the column holds. */ isNumber?: true;
    };

const PLAIN = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,6}))?$/;

/** `0,123` is none: a comma before three digits is a decimal comma there. */
const GROUPED = /^[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?$/;

/**
 * Reads decimal text: plain, with an exponent, or with thousands separators (`21,261,045`), which are dropped. Digits beyond
 * `HELD_DIGITS.fraction` are rounded, halves away from zero, as PostgreSQL rounds. Signs of a unit are read by `units.ts`.
 *
 * @returns text that PostgreSQL's `numeric` reads to the number; null when absent; a problem for a number that is too
 *   large
 */
export function readDecimal(text: string): ReadResult<string> {
  if (ORDINARY_DECIMAL.test(text)) return { ok: true, value: text };
  const written = readWritten(text);
  return written.ok && written.value !== null ? heldDecimal(written.value) : written;
}

/** Like `readDecimal`, for numbers of any size and exactness, not rounded. */
export function readWritten(text: string): ReadResult<string> {
  const number = text.trim();
  if (ABSENT_TEXTS.has(number.toLowerCase())) return ABSENT;
  if (number.length > MAX_DIGITS)
    return { ok: false, problem: `"${inShort(number, SHOWN_LENGTH)}" has ${number.length} characters` };
  if (GROUPED.test(number)) return { ok: true, value: number.replaceAll(",", "") };
  const match = PLAIN.exec(number);
  if (!match) return { ok: false, problem: `"${cutText(number, SHOWN_LENGTH)}" is not a decimal number` };
  if (Math.abs(Number(match[1] ?? 0)) > MAX_EXPONENT) {
    return { ok: false, problem: `"${number}" has an exponent beyond ${MAX_EXPONENT}` };
  }
  return { ok: true, value: number };
}

/** Rounds to `HELD_DIGITS.fraction` digits; a problem for a number that is too large. */
function heldDecimal(number: string): ReadResult<string> {
  const canonical = canonicalDecimal(number);
  if (isNoValue(canonical)) return unheld(number, "is the smallest double, which is no value");
  const fraction = canonical.split(".")[1] ?? "";
  const held = fraction.length > HELD_DIGITS.fraction ? rounded(canonical) : canonical;
  const whole = held.replace(/^-|\..*/g, "");
  if (whole.length > HELD_DIGITS.whole)
    return unheld(number, `has more than ${HELD_DIGITS.whole} digits before the point`);
  return { ok: true, value: held === canonical ? number : held };
}

export function unheld(number: string, why: string): ReadResult<never> {
  return { ok: false, problem: `"${inShort(number, SHOWN_LENGTH)}" ${why}`, isNumber: true };
}

/** In whatever form the number is written. */
export function isNoValue(number: string): boolean {
  if (number.length < NO_VALUE.length && !/e/i.test(number)) return false;
  return canonicalDecimal(number) === CANONICAL_NO_VALUE;
}

/** @param canonical with more digits behind the point than are held */
function rounded(canonical: string): string {
  const [signAndWhole = "", fraction = ""] = canonical.split(".");
  const sign = signAndWhole.startsWith("-") ? "-" : "";
  const kept = signAndWhole.slice(sign.length) + fraction.slice(0, HELD_DIGITS.fraction);
  const isUp = (fraction[HELD_DIGITS.fraction] ?? "0") >= "5";
  const digits = String(BigInt(kept) + (isUp ? 1n : 0n)).padStart(HELD_DIGITS.fraction + 1, "0");
  const point = digits.length - HELD_DIGITS.fraction;
  return canonicalDecimal(`${sign}${digits.slice(0, point)}.${digits.slice(point)}`);
}

const ABSENT: ReadResult<string> = Object.freeze({ ok: true, value: null });

const SHOWN_LENGTH = 40;

/** Digits, perhaps with a minus before and a point among them, as nearly every number is; and few enough to be held as they stand. */
export const ORDINARY_DECIMAL = new RegExp(
  `^-?\\d{1,${HELD_DIGITS.whole}}(?:\\.\\d{0,${HELD_DIGITS.fraction}})?$`,
);

/** Digits without a leading zero, so few that they certainly fit into 64 bits. */
export const ORDINARY_COUNT = /^(?:0|[1-9]\d{0,17})$/;

/** Whether a number is 0, however that is written. */
export function isZero(number: string): boolean {
  return /^-?0[0.]*(?:e[+-]?\d+)?$/i.test(number);
}

const MAX_BIGINT = 9_223_372_036_854_775_807n;

/**
 * Reads a count (volume, size) as text that `bigint` accepts exactly. A fraction of zeros and an exponent are accepted
 * as long as the number is whole (`9440588.0`, `1.2E7`).
 */
export function readInteger(text: string): ReadResult<string> {
  if (ORDINARY_COUNT.test(text)) return { ok: true, value: text };
  const decimal = readWritten(text);
  if (!decimal.ok || decimal.value === null) return decimal;
  const whole = wholeNumber(decimal.value);
  if (whole === null) return { ok: false, problem: `"${decimal.value}" is not a whole number` };
  if (whole > MAX_BIGINT || whole < -MAX_BIGINT)
    return { ok: false, problem: `"${decimal.value}" exceeds 64 bits` };
  return { ok: true, value: whole.toString() };
}

/** Null when the number has a fraction. @param decimal as `readWritten` returns it */
function wholeNumber(decimal: string): bigint | null {
  const parts = /([+-]?)(\d*)\.?(\d*)(?:[eE](.*))?/.exec(decimal) ?? [];
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const digits = whole + fraction;
  const point = Math.max(whole.length + Number(exponent), 0);
  if (/[1-9]/.test(digits.slice(point))) return null;
  const value = BigInt(digits.slice(0, point).padEnd(point, "0"));
  return sign === "-" ? -value : value;
}

/**
 * One text per number, for comparing, never for storing: `285`, `285.0`, `2.85E2` and `0285.00` all become `285`. Text
 * that is no number stays as it is.
 */
export function canonicalDecimal(text: string): string {
  // As nearly all strikes are written.
  if (/^[1-9]\d*(?:\.\d*[1-9])?$/.test(text)) return text;
  if (/^[1-9]\d*\.0$/.test(text)) return text.slice(0, -2);
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text.trim());
  if (!match || (!match[2] && !match[3])) return text;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const point = whole.length + Number(exponent);
  const cut = Math.max(point, 0);
  const digits = (whole + fraction).padEnd(cut, "0");
  const left = digits.slice(0, cut).replace(/^0+/, "");
  // The zeros of 4.9E-324 are 323: without the look behind each of them would be tried as the beginning of those at the end.
  const right = ("0".repeat(cut - point) + digits.slice(cut)).replace(/(?<!0)0+$/, "");
  const number = `${left || "0"}${right ? `.${right}` : ""}`;
  return sign === "-" && number !== "0" ? `-${number}` : number;
}

const CANONICAL_NO_VALUE = canonicalDecimal(NO_VALUE);

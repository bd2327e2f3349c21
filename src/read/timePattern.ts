/** Times written by a pattern in the manner of strptime, in file names. Pure. */

import { type LocalTime, type TimeResult, isLocalTime, microsAsUtc } from "./wallTime.ts";

const ZONE = "Z|UTC|GMT|[+-]\\d{2}(?::?\\d{2})?";

type Token<Name = string> = { field: Name; two: string; free: string };

/** What a pattern may hold besides itself. */
const TOKENS = {
  Y: { field: "year", two: "\\d{4}", free: "\\d{4}" },
  y: { field: "shortYear", two: "\\d{2}", free: "\\d{2}" },
  m: { field: "month", two: "\\d{2}", free: "\\d{1,2}" },
  b: { field: "monthName", two: "[A-Za-z]{3}", free: "[A-Za-z]{3}" },
  d: { field: "day", two: "\\d{2}", free: "\\d{1,2}" },
  H: { field: "hour", two: "\\d{2}", free: "\\d{1,2}" },
  I: { field: "hour12", two: "\\d{2}", free: "\\d{1,2}" },
  p: { field: "half", two: "[AaPp][Mm]", free: "[AaPp][Mm]" },
  M: { field: "minute", two: "\\d{2}", free: "\\d{1,2}" },
  S: { field: "second", two: "\\d{2}", free: "\\d{1,2}" },
  f: { field: "fraction", two: "\\d{1,9}", free: "\\d{1,9}" },
  s: { field: "epoch", two: "\\d{1,11}", free: "\\d{1,11}" },
  z: { field: "zone", two: ZONE, free: ZONE },
} as const satisfies Record<string, Token>;

export type Field = (typeof TOKENS)[keyof typeof TOKENS]["field"];

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

export type TimePattern = {
  /** The time in a text, or why there is none; null where the pattern is not to be found. */
  read: (text: string, local: (time: LocalTime) => TimeResult) => TimeResult | null;
};

/**
 * `%Y %y %m %b %d %H %I %p %M %S`, `%f` a fraction of the second, `%s` seconds since 1970, `%z` the offset, `%%` a
 * percent sign, `*` or `%*` anything. A number beside another one has all its digits: `%H%M` is `0930`.
 *
 * @returns what is wrong with the pattern, in words, when it is none
 */
export function compilePattern(
  pattern: string,
): { ok: true; pattern: TimePattern } | { ok: false; problem: string } {
  const pieces = pattern.match(/%.|[^%]/gsu) ?? [];
  if (pieces.join("") !== pattern) return { ok: false, problem: "it ends with a single %" };
  const fields: Field[] = [];
  let source = "";
  for (const [index, piece] of pieces.entries()) {
    const token = (TOKENS as Readonly<Record<string, Token<Field>>>)[piece.slice(1)];
    if (piece === "*" || piece === "%*") source += ".*?";
    else if (piece === "%%") source += "%";
    else if (!piece.startsWith("%")) source += piece.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
    else if (token === undefined) return { ok: false, problem: `${piece} is not known` };
    else if (fields.includes(token.field)) return { ok: false, problem: `${piece} is there twice` };
    else {
      fields.push(token.field);
      const beside = isNumber(pieces[index - 1]) || isNumber(pieces[index + 1]);
      source += `(${beside ? token.two : token.free})`;
    }
  }
  const problem = missing(fields);
  if (problem !== null) return { ok: false, problem };
  // A number at an end of the pattern is not the end of a longer one.
  const [before, after] = [isNumber(pieces[0]) ? "(?<!\\d)" : "", isNumber(pieces.at(-1)) ? "(?!\\d)" : ""];
  const expression = new RegExp(`${before}${source}${after}`, "su");
  return {
    ok: true,
    pattern: {
      read: (text, local) => {
        const match = expression.exec(text);
        return match === null ? null : timeOf(fields, match.slice(1), local);
      },
    },
  };
}

function isNumber(piece = ""): boolean {
  return /%[YymdHIMSfs]|\d/u.test(piece);
}

function missing(fields: readonly Field[]): string | null {
  const has = (...names: Field[]): boolean => names.some((name) => fields.includes(name));
  if (has("epoch")) return null;
  if (!has("year", "shortYear") || !has("month", "monthName") || !has("day"))
    return "it needs year, month and day, or %s";
  if (has("hour12") !== has("half")) return "%I and %p go together";
  if (has("minute") && !has("hour", "hour12")) return "%M needs %H, or %I with %p";
  if (has("second") && !has("minute")) return "%S needs %M";
  return has("fraction") && !has("second") ? "%f needs %S or %s" : null;
}

/** The time that the texts of some fields make, or why they make none. */
export function timeOf(
  fields: readonly Field[],
  texts: readonly string[],
  local: (time: LocalTime) => TimeResult,
): TimeResult {
  const read = wholeMicros(fields, texts, local);
  const beyond = (texts[fields.indexOf("fraction")] ?? "").slice(MICRO_DIGITS);
  return read.ok && /[1-9]/u.test(beyond) ? { ...read, cut: true } : read;
}

/** Digits of a second's fraction that a time keeps. */
const MICRO_DIGITS = 6;

function wholeMicros(
  fields: readonly Field[],
  texts: readonly string[],
  local: (time: LocalTime) => TimeResult,
): TimeResult {
  const text = (field: Field): string | undefined => texts[fields.indexOf(field)];
  const number = (field: Field): number => Number(text(field) ?? 0);
  const micros = Number((text("fraction") ?? "").padEnd(MICRO_DIGITS, "0").slice(0, MICRO_DIGITS));
  const epoch = text("epoch");
  if (epoch !== undefined) return { ok: true, micros: BigInt(epoch) * 1_000_000n + BigInt(micros) };
  const half = text("half");
  const hour = half === undefined ? number("hour") : hourOf(number("hour12"), half);
  const monthName = text("monthName");
  const time: LocalTime = {
    year: text("year") === undefined ? centuryOf(number("shortYear")) : number("year"),
    month: monthName === undefined ? number("month") : MONTHS.indexOf(monthName.toLowerCase()) + 1,
    day: number("day"),
    hour,
    minute: number("minute"),
    second: number("second"),
    micros,
  };
  if (!isLocalTime(time)) return { ok: false, problem: "there is no such time" };
  const zone = text("zone");
  return zone === undefined ? local(time) : { ok: true, micros: microsAsUtc(time) - offsetMicros(zone) };
}

/** POSIX: 69 to 99 are of the last century. */
function centuryOf(year: number): number {
  return year < 69 ? 2000 + year : 1900 + year;
}

function hourOf(hour12: number, half: string): number {
  if (hour12 < 1 || hour12 > 12) return NaN;
  return (hour12 % 12) + (/p/iu.test(half) ? 12 : 0);
}

/** What is to be taken from a local time: `-05:00` is 5 hours behind UTC. */
function offsetMicros(zone: string): bigint {
  const [, sign, hours = "0", minutes = "0"] = /([+-])(\d{2}):?(\d{2})?/u.exec(zone) ?? [];
  const size = BigInt(Number(hours) * 60 + Number(minutes)) * 60_000_000n;
  return sign === "-" ? -size : size;
}

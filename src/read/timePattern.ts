/** Times written by a pattern in the manner of strptime, in file names and in columns. Pure. */
import { Temporal } from "temporal-polyfill";

/** What a pattern may hold besides itself. */
const TOKENS: Readonly<Record<string, { field: Field; two: string; free: string }>> = {
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
  z: { field: "zone", two: ZONE(), free: ZONE() },
};

/** A part of a time. */
type Field =
  | "year"
  | "shortYear"
  | "month"
  | "monthName"
  | "day"
  | "hour"
  | "hour12"
  | "half"
  | "minute"
  | "second"
  | "fraction"
  | "epoch"
  | "zone";

function ZONE(): string {
  return "Z|UTC|GMT|[+-]\\d{2}(?::?\\d{2})?";
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** A pattern, ready. */
export type TimePattern = {
  /** The time in a text, or why there is none; null where the pattern is not to be found. */
  read: (text: string, local: (time: LocalTime) => TimeRead) => TimeRead | null;
  /** Whether every time that it reads says its own offset. */
  saysZone: boolean;
};

/**
 * `%Y %y %m %b %d %H %I %p %M %S`, `%f` a fraction of the second, `%s` seconds since 1970, `%z` the offset, `%%` a
 * percent sign, `*` or `%*` anything. A number beside another one has all its digits: `%H%M` is `0930`.
 *
 * @param whole whether the text is the time and nothing else; otherwise it is looked for in the text
 * @returns what is wrong with the pattern, in words, when it is none
 */
export function compilePattern(
  pattern: string,
  { whole }: { whole: boolean },
): { ok: true; pattern: TimePattern } | { ok: false; problem: string } {
  const pieces = pattern.match(/%.|[^%]/gsu) ?? [];
  if (pieces.join("") !== pattern) return { ok: false, problem: "it ends with a single %" };
  const fields: Field[] = [];
  let source = "";
  for (const [index, piece] of pieces.entries()) {
    const token = TOKENS[piece.slice(1)];
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
  const expression = new RegExp(whole ? `^${source}$` : `${before}${source}${after}`, "su");
  return {
    ok: true,
    pattern: {
      saysZone: fields.includes("zone") || fields.includes("epoch"),
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
function timeOf(
  fields: readonly Field[],
  texts: readonly string[],
  local: (time: LocalTime) => TimeRead,
): TimeRead {
  const read = wholeMicros(fields, texts, local);
  const beyond = (texts[fields.indexOf("fraction")] ?? "").slice(MICRO_DIGITS);
  return read.ok && /[1-9]/u.test(beyond) ? { ...read, cut: true } : read;
}

/** Digits of a second's fraction that a time keeps. */
const MICRO_DIGITS = 6;

function wholeMicros(
  fields: readonly Field[],
  texts: readonly string[],
  local: (time: LocalTime) => TimeRead,
): TimeRead {
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
    ...{ day: number("day"), hour, minute: number("minute"), second: number("second"), micros },
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

// Times in ISO 8601, in columns and in file names. Pure.

const ISO =
  /(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2})(?:[:._-]?(\d{2})(?:[:._-]?(\d{2})(?:[.,](\d{3}|\d{6}|\d{9}))?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?(?!\d)/u;
const ISO_WHOLE =
  /^(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/iu;

/** ISO 8601, basic or extended, date alone or date and time, with or without offset; the text is nothing else. */
export function readIso(text: string, local: (time: LocalTime) => TimeRead): TimeRead | null {
  return isoTime(ISO_WHOLE.exec(text), local);
}

/**
 * ISO 8601 somewhere in a file's name, with its `T`; `:` may have become `-`, `_` or `.` there, as file systems want
 * it. A fraction has 3, 6 or 9 digits: one of one digit is the number of a copy.
 */
export function findIso(text: string, local: (time: LocalTime) => TimeRead): TimeRead | null {
  const match = ISO.exec(text);
  return match?.[4] === undefined || match[5] === undefined ? null : isoTime(match, local);
}

/** What the groups of both expressions are. */
const ISO_FIELDS: readonly Field[] = ["year", "month", "day", "hour", "minute", "second", "fraction", "zone"];

function isoTime(match: RegExpExecArray | null, local: (time: LocalTime) => TimeRead): TimeRead | null {
  return match === null ? null : timeOf(ISO_FIELDS, match.slice(1), local);
}

// From what clocks on the wall showed to UTC. Pure.

/** What a clock on the wall shows: calendar fields, microseconds included. */
export type LocalTime = {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  micros: number;
};

/** Which of the two instants is meant when clocks show a time twice; `refuse`: neither. */
export type Ambiguous = "earlier" | "later" | "refuse";

/** The two readings of a local minute, in minutes since 1970 UTC: equal, or twice there (autumn), or never (spring). */
type Minute = { earlier: number; later: number; skipped: boolean };

/** A time, or why there is none. `cut`: the text says more than microseconds. */
export type TimeRead = { ok: true; micros: bigint; cut?: true } | { ok: false; problem: string };

/** Whether the fields name a moment of the calendar; a leap second does not. */
export function isLocalTime({ year, month, day, hour, minute, second }: LocalTime): boolean {
  const date = new Date(0);
  // A day that the month has not is one of another month.
  date.setUTCFullYear(year, month - 1, day);
  return year >= 1 && date.getUTCMonth() === month - 1 && hour <= 23 && minute <= 59 && second <= 59;
}

/** Microseconds since 1970 as if the zone were UTC. */
function microsAsUtc({ year, month, day, hour, minute, second, micros }: LocalTime): bigint {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return BigInt(date.getTime()) * 1_000n + BigInt(micros);
}

/**
 * Reads local times of one zone. A local time that clocks skip in spring is refused: whoever wrote it down kept
 * another zone. One that they show twice in autumn is the one that `ambiguous` says.
 *
 * @param zone IANA name; Temporal throws a RangeError for an unknown one
 */
export function createLocalReader(zone: string, ambiguous: Ambiguous): (time: LocalTime) => TimeRead {
  const minutes = new Map<number, Minute>();
  return (time) => {
    const asUtc = microsAsUtc({ ...time, second: 0, micros: 0 });
    const key = Number(asUtc / 60_000_000n);
    let minute = minutes.get(key);
    if (minute === undefined) {
      minute = readMinute(time, zone);
      if (minutes.size >= MOST_MINUTES) minutes.clear();
      minutes.set(key, minute);
    }
    if (minute.skipped)
      return { ok: false, problem: `clocks of ${zone} never showed it: they were put forward` };
    if (minute.earlier !== minute.later && ambiguous === "refuse")
      return { ok: false, problem: `clocks of ${zone} showed it twice: they were put back` };
    const start = BigInt(ambiguous === "later" ? minute.later : minute.earlier) * 60_000_000n;
    return { ok: true, micros: start + BigInt(time.second) * 1_000_000n + BigInt(time.micros) };
  };
}

/** A look into the rules of a zone takes long, and quotes come many to the minute. */
const MOST_MINUTES = 10_000;

function readMinute({ year, month, day, hour, minute }: LocalTime, zone: string): Minute {
  const plain = Temporal.PlainDateTime.from({ year, month, day, hour, minute });
  const reading = (disambiguation: "earlier" | "later") => plain.toZonedDateTime(zone, { disambiguation });
  const [earlier, later] = [reading("earlier"), reading("later")];
  const minutesOf = (at: Temporal.ZonedDateTime) => at.epochMilliseconds / 60_000;
  const skipped = !earlier.toPlainDateTime().equals(plain);
  return { earlier: minutesOf(earlier), later: minutesOf(later), skipped };
}

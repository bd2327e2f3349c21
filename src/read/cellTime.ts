/** Times and dates in cells, as a map says that they are written. Pure. */
import { dateOf, type Instant, instantOf } from "../clock.ts";
import { exchangeDate } from "../market/calendar/dates.ts";
import type { Cell } from "./cell.ts";
import { type CsvReading, EPOCH_UNITS } from "./csvCall.ts";
import { createMover, readKnownAt } from "./knownAt.ts";
import { compilePattern, type Field, timeOf } from "./timePattern.ts";
import { createLocalReader, isLocalTime, type LocalTime, localTimeOf, type TimeRead } from "./wallTime.ts";

/**
 * Assumed: no quote that somebody imports is older or younger than this. Milliseconds that are taken for seconds or
 * microseconds, and two-digit years, lie outside.
 */
export const EARLIEST = "1980-01-01T00:00:00.000000Z";

/** The first instant behind them. */
export const LATEST = "2100-01-01T00:00:00.000000Z";

/**
 * Reads times as a map says: the instant at which the values of a row were known.
 *
 * @throws RangeError for a time zone, a pattern or a `knownAt` nobody knows; whoever journals a call has checked them
 */
export function createTimeReader({ time }: Pick<CsvReading, "time">): (text: string) => Cell<Instant> {
  const written = createWrittenReader(time);
  if (time.knownAt === undefined) return written;
  const known = readKnownAt(time.knownAt);
  if (known === null) throw new RangeError(`knownAt: ${time.knownAt}`);
  const { ofTime, ofDate } = createMover(known, time.calendar ?? []);
  const dateIn = dateReader(time.format);
  return (text) => {
    const read: Cell<string> = known.from === "close" ? dateIn(text) : written(text);
    if (!read.ok) return read;
    if (known.from === "time") return { ...read, value: ofTime(read.value) };
    return isCovered(read.value) ? ofDate(read.value) : OUTSIDE;
  };
}

/**
 * Reads times as they are written, whenever the values of a row were known.
 *
 * @throws RangeError for a time zone or a pattern nobody knows; whoever journals a call has checked them
 */
export function createWrittenReader(
  time: Pick<CsvReading["time"], "format" | "timezone" | "ambiguous">,
): (text: string) => Cell<Instant> {
  const { format, timezone, ambiguous } = time;
  const read = createFormatReader(format);
  const local = timezone === null ? withoutZone : createLocalReader(timezone, ambiguous);
  return (text) =>
    within(read(text, local) ?? { ok: false, problem: EXPECTED[format] ?? `expected ${format}` });
}

const EXPECTED: Readonly<Record<string, string>> = {
  iso: "expected ISO 8601",
  excel: "expected a spreadsheet's number of a day, such as 46344 or 46344.5",
  ...Object.fromEntries(Object.keys(EPOCH_UNITS).map((unit) => [unit, "expected a number since 1970"])),
};

type FormatReader = (text: string, local: (time: LocalTime) => TimeRead) => TimeRead | null;

/** @throws RangeError for a pattern that is none */
function createFormatReader(format: string): FormatReader {
  const unit = EPOCH_UNITS[format];
  if (unit !== undefined) return (text) => epochTime(text, unit);
  if (format === "iso") return readIso;
  if (format === "excel") return readSerial;
  const compiled = compilePattern(format, { whole: true });
  if (!compiled.ok) throw new RangeError(`${format}: ${compiled.problem}`);
  return (text, local) => compiled.pattern.read(text, local);
}

function withoutZone(): TimeRead {
  return { ok: false, problem: "it has no offset, and the map names no timezone" };
}

function epochTime(text: string, { scale, divisor }: { scale: bigint; divisor: bigint }): TimeRead | null {
  const [, whole, fraction = ""] = /^(\d{1,20})(?:\.(\d{1,12}))?$/u.exec(text) ?? [];
  if (whole === undefined) return null;
  const digits = 10n ** BigInt(fraction.length);
  const [micros, unit] = [BigInt(whole + fraction) * scale, digits * divisor];
  return { ok: true, micros: micros / unit, ...(micros % unit > 0n && { cut: true }) };
}

const [FIRST_MICROS, END_MICROS] = [Date.parse(EARLIEST), Date.parse(LATEST)].map(
  (ms) => BigInt(ms) * 1_000n,
);

const OUTSIDE = {
  ok: false as const,
  problem: "that is before 1980 or after 2099; see the map's time format",
};

/** Whether an import may have the date. */
function isCovered(date: string): boolean {
  return date >= EARLIEST.slice(0, date.length) && date < LATEST.slice(0, date.length);
}

function within(read: TimeRead): Cell<Instant> {
  if (!read.ok) return read;
  const { micros, cut = false } = read;
  if (micros < (FIRST_MICROS ?? 0n) || micros >= (END_MICROS ?? 0n)) return OUTSIDE;
  return { ok: true, value: instantOf(micros), ...(cut && { cut: 1 }) };
}

/** An offset behind a time of ISO 8601. */
const ISO_OFFSET = /(?<=[T ].*)(?:Z|[+-]\d{2}:?\d{2})$/iu;

/**
 * The calendar date of a text, `YYYY-MM-DD`: the one that is written there, whatever time and offset stand behind it; of a
 * number since 1970 the exchange's.
 *
 * @throws RangeError for a pattern that is none
 */
export function dateReader(format: string): (text: string) => Cell<string> {
  const readTime = createFormatReader(format);
  const expected = format === "iso" ? "YYYY-MM-DD" : (EXPECTED[format]?.replace("expected ", "") ?? format);
  return (text) => {
    let date: LocalTime | null = null;
    const keep = (time: LocalTime): TimeRead => {
      date = time;
      return { ok: true, micros: 0n };
    };
    const read = readTime(format === "iso" ? text.replace(ISO_OFFSET, "") : text, keep);
    const found = date as LocalTime | null;
    if (found !== null && isLocalTime(found)) {
      const { year, month, day } = found;
      return { ok: true, value: `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}` };
    }
    const at = found === null && read?.ok === true ? within(read) : null;
    if (at?.ok === true) return { ok: true, value: exchangeDate(dateOf(at.value)) };
    return { ok: false, problem: `expected a date, ${expected}` };
  };
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

/** Of 1900-03-01: Excel counts a 29th of February before it that never was. */
const FIRST_DAY = 61;
const DAY_MS = 86_400_000;

/**
 * The time of a serial number, of a clock on the wall; a number has about nine digits of a day, so it tells milliseconds.
 *
 * @returns null for a text that is no such number
 */
function readSerial(text: string, local: (time: LocalTime) => TimeRead): TimeRead | null {
  const number = /^\d{2,6}(?:[.,]\d{1,15})?$/u.test(text) ? Number(text.replace(",", ".")) : 0;
  if (number < FIRST_DAY) return null;
  return local(localTimeOf(new Date(Date.UTC(1899, 11, 30) + Math.round(number * DAY_MS))));
}

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

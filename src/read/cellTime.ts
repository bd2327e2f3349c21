/** Times and dates in cells, as a map says that they are written. Pure. */
import { type Instant, instantOf } from "../clock.ts";
import type { Cell } from "./cell.ts";
import { type CsvReading, EPOCH_UNITS } from "./csvCall.ts";
import {
  readIso,
  createLocalReader,
  isLocalTime,
  type LocalTime,
  type TimeRead,
  compilePattern,
} from "./timePattern.ts";

/**
 * Assumed: no quote that somebody imports is older or younger than this. Milliseconds that are taken for seconds or
 * microseconds, and two-digit years, lie outside.
 */
export const EARLIEST = "1980-01-01T00:00:00.000000Z";

/** The first instant behind them. */
export const LATEST = "2100-01-01T00:00:00.000000Z";

/**
 * Reads times as a map says.
 *
 * @throws RangeError for a time zone or a pattern nobody knows; whoever journals a call has checked them
 */
export function createTimeReader({ time }: CsvReading): (text: string) => Cell<Instant> {
  const { format, timezone, ambiguous } = time;
  const local = timezone === null ? withoutZone : createLocalReader(timezone, ambiguous);
  const unit = EPOCH_UNITS[format];
  if (unit !== undefined) return (text) => within(epochTime(text, unit));
  if (format === "iso")
    return (text) => within(readIso(text, local) ?? { ok: false, problem: "expected ISO 8601" });
  const compiled = compilePattern(format, { whole: true });
  if (!compiled.ok) throw new RangeError(`${format}: ${compiled.problem}`);
  return (text) => within(compiled.pattern.read(text, local) ?? { ok: false, problem: `expected ${format}` });
}

function withoutZone(): TimeRead {
  return { ok: false, problem: "it has no offset, and the map names no timezone" };
}

function epochTime(text: string, { scale, divisor }: { scale: bigint; divisor: bigint }): TimeRead {
  const [, whole, fraction = ""] = /^(\d{1,20})(?:\.(\d{1,12}))?$/u.exec(text) ?? [];
  if (whole === undefined) return { ok: false, problem: "expected a number since 1970" };
  const digits = 10n ** BigInt(fraction.length);
  const [micros, unit] = [BigInt(whole + fraction) * scale, digits * divisor];
  return { ok: true, micros: micros / unit, ...(micros % unit > 0n && { cut: true }) };
}

const [FIRST_MICROS, END_MICROS] = [Date.parse(EARLIEST), Date.parse(LATEST)].map(
  (ms) => BigInt(ms) * 1_000n,
);

function within(read: TimeRead): Cell<Instant> {
  if (!read.ok) return read;
  const { micros, cut = false } = read;
  if (micros < (FIRST_MICROS ?? 0n) || micros >= (END_MICROS ?? 0n))
    return { ok: false, problem: "that is before 1980 or after 2099; see the map's time format" };
  return { ok: true, value: instantOf(micros), ...(cut && { cut: 1 }) };
}

/** The calendar date of an expiration, `YYYY-MM-DD`. */
export function dateReader(format: string): (text: string) => Cell<string> {
  const pattern = format === "iso" ? null : compilePattern(format, { whole: true });
  return (text) => {
    let date: LocalTime | null = null;
    const keep = (time: LocalTime): TimeRead => {
      date = time;
      return { ok: true, micros: 0n };
    };
    const withoutOffset = text.replace(/(?<=T.*)(Z|[+-]\d{2}:?\d{2})$/u, "");
    if (pattern === null) readIso(withoutOffset, keep);
    else if (pattern.ok) pattern.pattern.read(text, keep);
    const found = date as LocalTime | null;
    if (found === null || !isLocalTime(found))
      return { ok: false, problem: `expected a date, ${format === "iso" ? "YYYY-MM-DD" : format}` };
    const { year, month, day } = found;
    return { ok: true, value: `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}` };
  };
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

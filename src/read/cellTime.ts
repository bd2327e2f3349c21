/** Times as ISO 8601 writes them, in cells and in names of files. Pure. */
import { type Instant, instantOf, microsOf } from "../ground/clock.ts";
import { isDateText } from "../market/calendar/dates.ts";
import type { Cell } from "./cell.ts";
import { type Field, timeOf } from "./timePattern.ts";
import { type LocalTime, isLocalTime, microsAsUtc, type TimeResult } from "./wallTime.ts";

/**
 * Assumed: no quote that somebody imports is older or younger than this. Milliseconds that are taken for seconds or
 * microseconds, and two-digit years, lie outside.
 */
export const EARLIEST = "1980-01-01T00:00:00.000000Z";

/** The first instant behind them. */
export const LATEST = "2100-01-01T00:00:00.000000Z";

const [FIRST_MICROS, END_MICROS] = [microsOf(EARLIEST), microsOf(LATEST)];

/** The instant of a cell: ISO 8601 with its offset, or in UTC. `cut`: digits beyond microseconds were left out. */
export function readInstant(text: string): Cell<Instant> {
  const [, date = "", time = "", fraction = ""] = AS_STORED.exec(text) ?? [];
  const value = `${date}T${time}.${fraction.padEnd(6, "0")}Z`;
  if (EARLIEST <= value && value < LATEST && isDateText(date)) return { ok: true, value };
  const read = DATE_ALONE.test(text) ? null : readIso(text, inUtc);
  if (read === null) return { ok: false, problem: "expected ISO 8601, such as 2026-11-18T14:30:00Z" };
  if (!read.ok) return read;
  const { micros, cut = false } = read;
  if (micros < FIRST_MICROS || micros >= END_MICROS)
    return { ok: false, problem: "that is before 1980 or after 2099" };
  return { ok: true, value: instantOf(micros), ...(cut && { cut: 1 }) };
}

/** Nearly every cell, and a fifth of the time that a row takes to read if it is taken apart as the others are. */
const AS_STORED = /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,6}))?Z$/u;

/** A date is no instant: midnight in UTC is an evening in New York. */
const DATE_ALONE = /^[\d-]+$/u;

function inUtc(time: LocalTime): TimeResult {
  if (!isLocalTime(time)) return { ok: false, problem: "no calendar has that date, or no clock that time" };
  return { ok: true, micros: microsAsUtc(time) };
}

const ISO =
  /(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2})(?:[:._-]?(\d{2})(?:[:._-]?(\d{2})(?:[.,](\d{3}|\d{6}|\d{9}))?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?(?!\d)/u;
const ISO_WHOLE =
  /^(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/iu;

/** ISO 8601, basic or extended, date alone or date and time, with or without offset; the text is nothing else. */
export function readIso(text: string, local: (time: LocalTime) => TimeResult): TimeResult | null {
  return isoTime(ISO_WHOLE.exec(text), local);
}

/**
 * ISO 8601 somewhere in a file's name, with its `T`; `:` may have become `-`, `_` or `.` there, as file systems want
 * it. A fraction has 3, 6 or 9 digits: one of one digit is the number of a copy.
 */
export function findIso(text: string, local: (time: LocalTime) => TimeResult): TimeResult | null {
  const match = ISO.exec(text);
  return match?.[4] === undefined || match[5] === undefined ? null : isoTime(match, local);
}

/** What the groups of both expressions are. */
const ISO_FIELDS: readonly Field[] = ["year", "month", "day", "hour", "minute", "second", "fraction", "zone"];

function isoTime(match: RegExpExecArray | null, local: (time: LocalTime) => TimeResult): TimeResult | null {
  return match === null ? null : timeOf(ISO_FIELDS, match.slice(1), local);
}

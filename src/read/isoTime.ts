/** Times in ISO 8601, in columns and in file names. Pure. */
import { type LocalTime, type TimeRead } from "./wallTime.ts";
import { type Field, timeOf } from "./timePattern.ts";

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

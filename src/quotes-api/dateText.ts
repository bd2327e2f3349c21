import { ABSENT_TEXTS, type Read } from "./decimal.ts";

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * The calendar date of a date-time such as `2011-06-24T00:00:00-04:00`. It is taken from the text:
 * the instant is midnight US Eastern, and any other zone would move it to the day before (field notes, "Answers").
 *
 * @returns `YYYY-MM-DD`; null when absent, also for .NET's empty date `0001-01-01` (field notes, samples of 2016)
 */
export function readDate(text: string | undefined): Read<string> {
  const trimmed = (text ?? "").trim();
  if (ABSENT_TEXTS.has(trimmed.toLowerCase())) return { ok: true, value: null };
  const date = DATE_TIME.exec(trimmed)?.[1];
  // PostgreSQL's calendar, as people's, has no year 0.
  if (date === undefined || !isCalendarDate(date) || date.startsWith("0000-")) {
    return { ok: false, problem: `"${trimmed.slice(0, 40)}" is not a date` };
  }
  return { ok: true, value: date.startsWith("0001-") ? null : date };
}

const DAYS_OF_MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether `YYYY-MM-DD` names a day that exists (`2026-02-30` does not). */
export function isCalendarDate(date: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return false;
  const [year, month, day] = [Number(date.slice(0, 4)), Number(date.slice(5, 7)), Number(date.slice(8))];
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeapYear ? 29 : (DAYS_OF_MONTHS[month - 1] ?? 0);
  return day >= 1 && day <= days;
}

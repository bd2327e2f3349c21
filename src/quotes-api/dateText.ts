import { isDateText } from "../market/calendar/dates.ts";
import { ABSENT_TEXTS, type Read } from "./decimal.ts";
import { cutText } from "../outsideText.ts";

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * Reads the calendar date of a date-time such as `2011-06-24T00:00:00-04:00` from the text: the instant is midnight US
 * Eastern, and any other zone would move it to the day before (field notes, "Answers").
 *
 * @returns `YYYY-MM-DD`; null when absent, also for .NET's empty date `0001-01-01` (field notes, samples of 2016)
 */
export function readDate(text: string | undefined): Read<string> {
  const trimmed = (text ?? "").trim();
  if (ABSENT_TEXTS.has(trimmed.toLowerCase())) return { ok: true, value: null };
  const date = DATE_TIME.exec(trimmed)?.[1] ?? "";
  // PostgreSQL's calendar has no year 0.
  if (!isDateText(date) || date.startsWith("0000-")) {
    return { ok: false, problem: `"${cutText(trimmed, 40)}" is not a date` };
  }
  return { ok: true, value: date.startsWith("0001-") ? null : date };
}

/** The calendar as a table, for `quotekeeper calendar`. */
import { datesBetween } from "./calendar.ts";
import type { Calendar } from "./calendar.ts";

/** One day of the table; instants in UTC, null on a closed day. */
export type CalendarRow = {
  /** Exchange date, `YYYY-MM-DD`. */
  date: string;
  kind: "regular" | "early" | "closed";
  pre: Date | null;
  open: Date | null;
  close: Date | null;
  post: Date | null;
  /** Why it is closed, closes early or opens late. */
  reason: string | null;
};

/**
 * The days from one exchange date to another, both included.
 *
 * @param options.closed also the days without a session; default false
 */
export function calendarRows(
  calendar: Calendar,
  from: string,
  to: string,
  { closed = false }: { closed?: boolean } = {},
): CalendarRow[] {
  if (!closed) return calendar.sessions(from, to);
  return datesBetween(from, to).map(
    (date) =>
      calendar.session(date) ?? {
        date,
        kind: "closed",
        pre: null,
        open: null,
        close: null,
        post: null,
        reason: calendar.closedReason(date),
      },
  );
}

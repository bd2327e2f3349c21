/** `--from` and `--to`: exchange dates, or times with their offset. */
import { InvalidArgumentError } from "commander";
import { Temporal } from "temporal-polyfill";
import { type Instant, instantFromDate } from "../../clock.ts";
import { addDays, exchangeInstant } from "../../market/calendar/dates.ts";
import { isCalendarDate } from "../../quotes-api/dateText.ts";
import { parseInstant } from "../arguments.ts";

/** The first instant that is meant: of a date, its midnight at the exchange. */
export function parseFrom(text: string): Instant {
  return isCalendarDate(text) ? midnight(text) : parseTime(text);
}

/** The first instant that is no longer meant: of a date, the next one's midnight at the exchange. */
export function parseTo(text: string): Instant {
  return isCalendarDate(text) ? midnight(addDays(text, 1)) : parseTime(text);
}

function midnight(date: string): Instant {
  return instantFromDate(exchangeInstant(Temporal.PlainDate.from(date), "00:00"));
}

function parseTime(text: string): Instant {
  try {
    return parseInstant(text);
  } catch {
    throw new InvalidArgumentError(
      "Expected an exchange date, 2026-11-17, or a time with its offset, 2026-11-17T10:00:00-05:00.",
    );
  }
}

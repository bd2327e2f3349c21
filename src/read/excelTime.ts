/** Times as spreadsheets keep them: days since 1899-12-30, of which the fraction is the time of day. Pure. */
import type { LocalTime, TimeRead } from "./wallTime.ts";

/** Of 1900-03-01: Excel counts a 29th of February before it that never was. */
const FIRST_DAY = 61;
const DAY_MS = 86_400_000;

/**
 * The time of a serial number, of a clock on the wall; a number has about nine digits of a day, so it tells milliseconds.
 *
 * @returns null for a text that is no such number
 */
export function readSerial(text: string, local: (time: LocalTime) => TimeRead): TimeRead | null {
  const number = /^\d{2,6}(?:[.,]\d{1,15})?$/u.test(text) ? Number(text.replace(",", ".")) : 0;
  if (number < FIRST_DAY) return null;
  const at = new Date(Date.UTC(1899, 11, 30) + Math.round(number * DAY_MS));
  return local({
    year: at.getUTCFullYear(),
    month: at.getUTCMonth() + 1,
    day: at.getUTCDate(),
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
    second: at.getUTCSeconds(),
    micros: at.getUTCMilliseconds() * 1_000,
  });
}

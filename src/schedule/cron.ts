/**
 * Reads cron expressions in the grammar of node-cron: five fields, or six with seconds first, names, `L`, `W`, `#` and
 * nicknames such as `@hourly`. Day of month AND day of week must both match, unlike in crontab.
 */
import { createTask, parse, validateDetailed } from "node-cron";
import type { Temporal } from "temporal-polyfill";
import { QuotekeeperError } from "../ground/errors.ts";

const DAYS_OF_A_WEEK = 7;

type CronTimes = {
  /** Times of day, ms after midnight on the wall, ascending, each once. */
  timesOfDayMs: readonly number[];
  /** Whether every hour is named: the expression then means elapsed time rather than hours on the wall. */
  everyHour: boolean;
  /** Whether any minute holds more than one time, or one at another second than 0. */
  subMinute: boolean;
  namesDate: (date: Temporal.PlainDate) => boolean;
};

export function validateCron(expression: string): string | null {
  const { valid, errors } = validateDetailed(expression);
  if (valid) return null;
  return errors
    .map(({ field, message }) => (message.includes(field) ? message : `${field}: ${message}`))
    .join("; ");
}

/** @throws SCHEDULE_INVALID when the text is no cron expression */
export function readCron(expression: string): CronTimes {
  const problem = validateCron(expression);
  if (problem !== null) throw new QuotekeeperError("SCHEDULE_INVALID", `cron "${expression}": ${problem}`);
  const named = parse(expression);
  const hour = ascendingOnce(named.hour);
  const minute = ascendingOnce(named.minute);
  const second = ascendingOnce(named.second);
  const timesOfDayMs: number[] = [];
  for (const h of hour)
    for (const m of minute) for (const s of second) timesOfDayMs.push(((h * 60 + m) * 60 + s) * 1_000);
  const [first = 0] = timesOfDayMs;
  return {
    timesOfDayMs,
    everyHour: hour.length === 24,
    subMinute: second.some((s) => s !== 0),
    namesDate: dateMatcher(expression, first),
  };
}

export function ascendingOnce(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

/**
 * Where a day is named in words (`L`, `15W`, `MON#1`), node-cron's own matcher decides, run in UTC, where no clock ever changes: one
 * grammar decides what an expression means. The task is never started, and is removed from the registry.
 *
 * @param timeOfDayMs one that the expression names
 */
function dateMatcher(expression: string, timeOfDayMs: number): CronTimes["namesDate"] {
  const { month, dayOfMonth, dayOfWeek } = parse(expression);
  if ([...dayOfMonth, ...dayOfWeek].every((value) => typeof value === "number"))
    return (date) =>
      month.includes(date.month) &&
      dayOfMonth.includes(date.day) &&
      dayOfWeek.includes(date.dayOfWeek % DAYS_OF_A_WEEK);
  const task = createTask(expression, () => undefined, { timezone: "UTC" });
  void task.destroy();
  return (date) => task.match(new Date(date.toZonedDateTime("UTC").epochMilliseconds + timeOfDayMs));
}

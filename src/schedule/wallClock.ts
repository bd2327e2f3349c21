/**
 * Which instants a clock on the wall shows a time of day, on a given date and in a given zone: usually one, none in
 * the hour that spring skips, two in the hour that autumn repeats.
 */
import type { Temporal } from "temporal-polyfill";

/** A stretch of one local date during which the distance to UTC stays the same. */
type Stretch = { fromMs: number; toMs: number; offsetMs: number };

/** One local date: midnight as if the zone were UTC, its stretches ascending, and the offset before the spring gap. */
export type LocalDate = { midnightMs: number; stretches: readonly Stretch[]; standardOffsetMs: number };

/**
 * @param date the local date
 * @param timezone IANA name; Temporal throws a RangeError for an unknown one
 * @returns no stretch at all for a date that the zone skipped (Apia, 2011-12-30)
 */
export function localDate(date: Temporal.PlainDate, timezone: string): LocalDate {
  const start = date.toZonedDateTime(timezone);
  const end = date.add({ days: 1 }).toZonedDateTime(timezone);
  const offsetMs = (at: Temporal.ZonedDateTime) => at.offsetNanoseconds / 1e6;
  const stretches: Stretch[] = [];
  for (let from = start; from.epochMilliseconds < end.epochMilliseconds;) {
    const change = from.getTimeZoneTransition("next");
    const to = change && change.epochMilliseconds < end.epochMilliseconds ? change : end;
    stretches.push({ fromMs: from.epochMilliseconds, toMs: to.epochMilliseconds, offsetMs: offsetMs(from) });
    from = to;
  }
  // The gap can begin with the date itself (Havana, 00:00 to 01:00): look at the moment before it too.
  const offsets = [
    offsetMs(start.subtract({ milliseconds: 1 })),
    ...stretches.map(({ offsetMs }) => offsetMs),
  ];
  const midnightMs = date.toZonedDateTime("UTC").epochMilliseconds;
  return { midnightMs, stretches, standardOffsetMs: Math.min(...offsets) };
}

/**
 * The instants (epoch ms UTC, ascending) at which clocks show `timeOfDayMs` on that date. A time inside the gap of
 * spring gives none.
 */
export function instantsOf({ midnightMs, stretches }: LocalDate, timeOfDayMs: number): number[] {
  return stretches.flatMap(({ fromMs, toMs, offsetMs }) => {
    const at = midnightMs + timeOfDayMs - offsetMs;
    return at >= fromMs && at < toMs ? [at] : [];
  });
}

/** The instant for a time inside the gap of spring, counted on as if clocks had not changed: 02:30 becomes 03:30. */
export function shiftedInstant({ midnightMs, standardOffsetMs }: LocalDate, timeOfDayMs: number): number {
  return midnightMs + timeOfDayMs - standardOffsetMs;
}

/** The service's dates on the wire: midnight US Eastern with that date's offset (specification samples, field notes). */
import { Temporal } from "temporal-polyfill";

/** The zone in which the service's dates begin. */
export const SERVICE_ZONE = "America/New_York";

/**
 * A calendar date as the service writes it: `2026-12-18` becomes `2026-12-18T00:00:00-05:00`.
 *
 * @throws {RangeError} when the text is no date that exists
 */
export function easternMidnight(date: string): string {
  const known = midnights.get(date);
  if (known !== undefined) return known;
  if (midnights.size >= MOST_MIDNIGHTS) midnights.clear();
  const text = midnightOf(date);
  midnights.set(date, text);
  return text;
}

/** Expirations and ex-dates come again and again, and a look into the rules of a zone takes long. */
const midnights = new Map<string, string>();
const MOST_MIDNIGHTS = 5_000;

function midnightOf(date: string): string {
  return Temporal.PlainDate.from(date, { overflow: "reject" })
    .toZonedDateTime(SERVICE_ZONE)
    .toString({ timeZoneName: "never" });
}

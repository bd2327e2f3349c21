/** What headers of an answer say of the limit of calls, as numbers, and `Retry-After`. They are hints: any may be absent or garbage. */

/** An absent or unusable value is null. */
export type RateLimit = {
  /** Calls counted against the current limit, a whole number from 0. */
  readonly used: number | null;
  /** Calls still allowed, a whole number from 0. */
  readonly remaining: number | null;
  /** Calls allowed in all, a whole number from 1. */
  readonly limit: number | null;
  /** When the limit expires, epoch seconds UTC, perhaps with decimals; not to be trusted. */
  readonly expire: number | null;
};

export const NO_RATE_LIMIT: RateLimit = { used: null, remaining: null, limit: null, expire: null };

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3): seconds, or a date. A date is compared with the answer's own `Date`,
 * for the machine's clock may differ. Never throws.
 *
 * @param headers names in lower case
 * @returns how long to wait in ms, 0 for a date that has passed; null when it is absent, unusable, or a date in an
 *   answer without `Date`
 */
export function readRetryAfter(headers: Readonly<Record<string, string>>): number | null {
  const text = headers["retry-after"]?.trim() ?? "";
  if (/^\d{1,15}$/.test(text)) return Number(text) * 1_000;
  const untilMs = readHttpDate(text);
  const sentMs = readHttpDate(headers["date"]);
  return untilMs === null || sentMs === null ? null : Math.max(0, untilMs - sentMs);
}

/** Dates in HTTP, RFC 9110 section 5.6.7: the form in use, and two that a reader must still accept. */
const FORMS = [
  // Fri, 20 Nov 2026 22:50:00 GMT
  /^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  // Friday, 20-Nov-26 22:50:00 GMT
  /^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  // Fri Nov 20 22:50:00 2026
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/,
];

/**
 * The instant of a header such as `Date`.
 *
 * @returns epoch ms UTC; null when it is absent, or no date of HTTP. Never throws
 */
export function readHttpDate(text: string | undefined): number | null {
  const trimmed = text?.trim() ?? "";
  for (const form of FORMS) {
    const found = form.exec(trimmed)?.groups;
    if (!found) continue;
    const { day, month, year = "", time } = found;
    // Two digits are of this century: a service of today sent the date.
    const ms = Date.parse(`${day} ${month} ${year.padStart(4, "20")} ${time} GMT`);
    if (!Number.isNaN(ms)) return ms;
  }
  return null;
}

/** The forms of a date in HTTP, RFC 9110 section 5.6.7: the one in use, and two that a reader must still take. */
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
    // Two digits are of this century: the date is one of a service that answers now.
    const ms = Date.parse(`${day} ${month} ${year.padStart(4, "20")} ${time} GMT`);
    if (!Number.isNaN(ms)) return ms;
  }
  return null;
}

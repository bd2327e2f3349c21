/** Values as people read them. Prices stay the text they came as: no digit is added or dropped. Pure. */

const ZONE = "America/New_York";

/** Stands behind every time that is shown by itself; in a column, in its heading. */
export const ZONE_NAME = "New York";

/** Shown where the service sent nothing. */
const NOTHING = "–";

/** Decimal text, or the sign for nothing. */
export function decimal(text: string | null): string {
  return text ?? NOTHING;
}

/** Decimals of the longest of some values, at most 4. */
export function placesOf(texts: readonly (string | null)[]): number {
  return Math.min(4, Math.max(0, ...texts.map((text) => (text === null ? 0 : decimalsOf(text)))));
}

/** The same text, followed by as much room as puts its point below those of its column. */
export function padded(text: string, places: number): string {
  if (!/\d/.test(text)) return text;
  const missing = places - decimalsOf(text) + (places > 0 && !text.includes(".") ? 1 : 0);
  return text + "\u2007".repeat(Math.max(0, missing));
}

function decimalsOf(text: string): number {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}

/** A change with its sign: `+1.25`. */
export function signed(text: string | null): string {
  if (text === null) return NOTHING;
  return text.startsWith("-") || Number(text) === 0 ? text : `+${text}`;
}

/** `up`, `down` or neither. */
export function direction(text: string | null): "up" | "down" | "" {
  const value = Number(text ?? 0);
  return value > 0 ? "up" : value < 0 ? "down" : "";
}

/** Whole numbers grouped by thousands: `1 234 567` with thin spaces; text that is none as it is. */
export function grouped(text: string | number | null): string {
  if (text === null) return NOTHING;
  const digits = String(text);
  return /^-?\d+$/.test(digits) ? digits.replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits;
}

/** How long ago, for a column: `4 s`, `12 min`, `3 h`, `5 d`. */
export function age(iso: string, nowMs: number): string {
  return span(nowMs - Date.parse(iso));
}

/** A span of time in its largest unit. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

/** A countdown: `0:42`, `12:05`, `3 h 10 min`. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const pad = (value: number): string => String(value).padStart(2, "0");
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
  if (seconds >= 172_800)
    return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`;
  return `${Math.floor(seconds / 3_600)} h ${pad(Math.floor((seconds % 3_600) / 60))} min`;
}

/** Bytes in decimal units. */
export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(1)} kB`;
  return count < 1e9 ? `${(count / 1e6).toFixed(1)} MB` : `${(count / 1e9).toFixed(2)} GB`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function inNewYork(iso: string, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat("en-GB", { timeZone: ZONE, ...options });
  formats.set(key, format);
  return format.format(new Date(iso));
}

/** Time of day at the exchange, `09:31:05`; whoever shows it says whose it is. */
export function exchangeTime(iso: string, { seconds = true } = {}): string {
  return inNewYork(iso, { hour: "2-digit", minute: "2-digit", ...(seconds && { second: "2-digit" }) });
}

/** Day and time at the exchange, `Fri 20 Nov 09:31 New York`. */
export function exchangeMoment(iso: string): string {
  const day = inNewYork(iso, { weekday: "short", day: "numeric", month: "short" }).replace(",", "");
  return `${day} ${exchangeTime(iso, { seconds: false })} ${ZONE_NAME}`;
}

/** The map of Coverage says a date in each of its fields, and to format one takes long. */
const shortDates = new Map<string, string>();

/** An exchange date, `Fri 20 Nov`. */
export function shortDate(date: string): string {
  const known = shortDates.get(date);
  if (known !== undefined) return known;
  const options = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" } as const;
  const text = new Intl.DateTimeFormat("en-GB", options)
    .format(new Date(`${date}T00:00:00Z`))
    .replace(",", "");
  shortDates.set(date, text);
  return text;
}

/** An expiration with its year, `18 Dec 2026`. */
export function expirationDate(date: string): string {
  const options = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" } as const;
  return new Intl.DateTimeFormat("en-GB", options).format(new Date(`${date}T00:00:00Z`));
}

/** The calendar date at the exchange, `YYYY-MM-DD`. */
export function exchangeDateOf(ms: number): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone: ZONE }).format(new Date(ms));
}

/**
 * Seconds whose UTC reading is what exchange clocks show: charts label their axes in UTC.
 *
 * @param iso an instant
 */
export function exchangeSeconds(iso: string): number {
  const at = new Date(iso);
  const parts = inNewYork(iso, {
    ...{ year: "numeric", month: "2-digit", day: "2-digit", hourCycle: "h23" },
    ...{ hour: "2-digit", minute: "2-digit", second: "2-digit" },
  });
  const [, day, month, year, time] = /^(\d+)\/(\d+)\/(\d+), ([\d:]+)$/.exec(parts) ?? [];
  const shown = Date.parse(`${year}-${month}-${day}T${time}Z`);
  return Number.isNaN(shown) ? Math.floor(at.getTime() / 1_000) : shown / 1_000;
}

/**
 * What a place of the time axis is called: `2026-11-20 09:31 New York`, or its date.
 *
 * @param time as `exchangeSeconds` gives it
 */
export function placeLabel(time: number, daily: boolean): string {
  const shown = new Date(time * 1_000).toISOString();
  return daily ? shown.slice(0, 10) : `${shown.slice(0, 16).replace("T", " ")} ${ZONE_NAME}`;
}

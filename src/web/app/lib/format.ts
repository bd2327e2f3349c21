/** Times and durations as the page shows them; times are the exchange's. Numbers are in src/ground/figures.ts. Pure. */

export const MINUTE_MS = 60_000;

export const DAY_MS = 86_400_000;

const ZONE = "America/New_York";

/** Stands behind every time that is shown by itself; in a column, in its heading. */
export const ZONE_NAME = "New York";

/** How long ago, for a column: `4 s`, `12 min`, `3 h`, `5 d`. */
export function age(iso: string, nowMs: number): string {
  return span(nowMs - Date.parse(iso));
}

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

const TO_THE_MINUTE = { timeZone: ZONE, hour: "2-digit", minute: "2-digit" } as const;
const MINUTES = new Intl.DateTimeFormat("en-GB", TO_THE_MINUTE);
const SECONDS = new Intl.DateTimeFormat("en-GB", { ...TO_THE_MINUTE, second: "2-digit" });

/** Time of day at the exchange, `09:31:05`; whoever shows it says whose it is. */
export function exchangeTime(iso: string, { seconds = true } = {}): string {
  return (seconds ? SECONDS : MINUTES).format(new Date(iso));
}

/** A day and time of the exchange, for a column that says the zone in its heading: `2026-11-20 09:31:05`. */
export function dayAndTime(iso: string, { seconds = true } = {}): string {
  return `${exchangeDateOf(Date.parse(iso))} ${exchangeTime(iso, { seconds })}`;
}

/** Day and time at the exchange, `2026-11-20 09:31 New York`, as a terminal has them too. */
export function exchangeMoment(iso: string): string {
  return `${dayAndTime(iso, { seconds: false })} ${ZONE_NAME}`;
}

const DATES = new Intl.DateTimeFormat("en-CA", { timeZone: ZONE });

export function exchangeDateOf(ms: number): string {
  return DATES.format(new Date(ms));
}

/**
 * Seconds whose UTC reading is what exchange clocks show: charts label their axes in UTC.
 *
 * @param iso an instant
 */
export function exchangeSeconds(iso: string): number {
  return Date.parse(`${exchangeDateOf(Date.parse(iso))}T${exchangeTime(iso)}Z`) / 1_000;
}

/**
 * What a place of the time axis is called: `2026-11-20 09:31`, or its date.
 *
 * @param time as `exchangeSeconds` gives it
 */
export function placeLabel(time: number, daily: boolean): string {
  const shown = new Date(time * 1_000).toISOString();
  return daily ? shown.slice(0, 10) : shown.slice(0, 16).replace("T", " ");
}

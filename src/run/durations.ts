/** Times and spans as people say them. Pure. */
import { exchangeTime } from "../market/calendar/dates.ts";

/** `45 s`, `12 min`, `17 h` or `3 days`. */
export function roughly(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** `2026-11-20 09:30:05 New York`: every time that a person is shown is the exchange's, and says so. */
export function inNewYork(at: Date): string {
  return `${exchangeTime(at)} New York`;
}

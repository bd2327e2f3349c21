/** Times and spans in words, for a terminal and a log. Pure. */
import { exchangeTime } from "./calendar/dates.ts";

/** `45 s`, `12 min`, `17 h` or `3 days`. */
export function roughly(ms: number): string {
  const seconds = secondsOf(ms);
  return seconds < 172_800 ? inHours(ms) : `${Math.round(seconds / 86_400)} days`;
}

/** `45 s`, `12 min` or `65 h`: no unit is longer than an hour. */
export function inHours(ms: number): string {
  const seconds = secondsOf(ms);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

/** The window of a limit up to now: `this minute`, or `in the last 1 s`. */
export function inWindow(ms: number): string {
  return ms === 60_000 ? "this minute" : `in the last ${inSeconds(ms)}`;
}

/** `13 h 20 min` or `20 min`. */
export function inHoursAndMinutes(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return hours === 0 ? `${rest} min` : `${hours} h ${rest} min`;
}

/** `45 s`, `5 min` or `5 min 12 s`, at least a second. */
export function inMinutes(ms: number): string {
  const seconds = Math.max(1, secondsOf(ms));
  if (seconds < 120) return `${seconds} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)} min${rest === 0 ? "" : ` ${rest} s`}`;
}

/** `60 s` or `1.5 s`, exactly. */
export function inSeconds(ms: number): string {
  return `${ms / 1_000} s`;
}

/** `2026-11-20 09:30:05 New York`: every time shown to people is in the exchange's zone, and names it. */
export function inNewYork(at: Date): string {
  return `${exchangeTime(at)} New York`;
}

function secondsOf(ms: number): number {
  return Math.max(0, Math.ceil(ms / 1_000));
}

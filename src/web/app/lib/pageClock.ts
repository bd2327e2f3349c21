/** The page's clock: the server's time, told anew with each answer, so that ages and countdowns agree with it. */
import { signal } from "@preact/signals";

/** The page's own clock, epoch ms: it goes on while the machine sleeps. */
export const pageMs = (): number => Date.now();

let offsetMs = 0;

/** The server's time now, epoch ms; it changes every second. */
export const nowMs = signal(Date.now());

/** The server's time at an instant of the page's clock, ISO 8601. */
export function serverTime(pageMs: number): string {
  return new Date(pageMs + offsetMs).toISOString();
}

export function setServerTime(at: string): void {
  offsetMs = Date.parse(at) - Date.now();
  nowMs.value = Date.now() + offsetMs;
}

/** Lets the seconds pass. */
export function startClock(): void {
  setInterval(() => (nowMs.value = Date.now() + offsetMs), 1_000);
}

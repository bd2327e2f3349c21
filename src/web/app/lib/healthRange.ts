/** Which time Health shows: the address says it, as a preset that moves with the clock or as two instants. Pure. */
import { DAY_MS, exchangeSeconds, MINUTE_MS } from "./format.ts";

export const HEALTH_SPANS = [
  { name: "1 day", days: 1 },
  { name: "1 week", days: 7 },
  { name: "4 weeks", days: 28 },
] as const;

type HealthSpan = (typeof HEALTH_SPANS)[number]["name"];

/** What is shown; `preset` is undefined where somebody has chosen both ends. Instants are ISO 8601, in whole minutes. */
type Shown = { from: string; to: string; preset: HealthSpan | undefined };

/** @param address the parameters `from`, `to` and `span`; what is none of these counts as not given */
export function healthRange(address: { from: string; to: string; span: string }, nowMs: number): Shown {
  const [fromMs, toMs] = [Date.parse(address.from), Date.parse(address.to)];
  if (fromMs < toMs) return { from: isoMinute(fromMs), to: isoMinute(toMs), preset: undefined };
  const { name, days } = HEALTH_SPANS.find((span) => span.name === address.span) ?? HEALTH_SPANS[0];
  // The minute under way is shown too.
  const endMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  return { from: isoMinute(endMs - days * DAY_MS), to: isoMinute(endMs), preset: name };
}

function isoMinute(ms: number): string {
  return new Date(Math.floor(ms / MINUTE_MS) * MINUTE_MS).toISOString();
}

/** What a field of day and time is given: `2026-11-20T09:30`, as exchange clocks show an instant. */
export function exchangeField(iso: string): string {
  return new Date(exchangeSeconds(iso) * 1_000).toISOString().slice(0, 16);
}

/**
 * The instant at which exchange clocks show what such a field says; of an hour that clocks show twice, the first. Null: it is
 * no time.
 */
export function instantOfField(text: string): string | null {
  const shownMs = Date.parse(`${text}Z`);
  if (Number.isNaN(shownMs)) return null;
  // Behind by four or five hours.
  for (const hours of [4, 5]) {
    const iso = new Date(shownMs + hours * 3_600_000).toISOString();
    if (exchangeSeconds(iso) * 1_000 === shownMs) return iso;
  }
  // An hour that clocks skip in spring.
  return new Date(shownMs + 5 * 3_600_000).toISOString();
}

/** When a column that begins at an instant is over: days are the exchange's, of 23 to 25 hours. */
export function columnEnd(at: string, step: "minute" | "hour" | "day"): string {
  if (step !== "day") return new Date(Date.parse(at) + (step === "hour" ? 60 : 1) * MINUTE_MS).toISOString();
  const next = exchangeField(new Date(Date.parse(at) + DAY_MS + 6 * 60 * MINUTE_MS).toISOString());
  return instantOfField(`${next.slice(0, 10)}T00:00`) ?? at;
}

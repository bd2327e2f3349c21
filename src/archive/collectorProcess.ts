import { exchangeTime } from "../market/calendar/dates.ts";

/** A collector as others see it. */
type CollectorProcess = {
  pid: number;
  /** The machine's name. */
  host: string;
  /** Since when it collects, ISO 8601 UTC. */
  since: string;
};

/** `process 4711 on quotes-1 since 2026-11-22 00:49 New York`. */
export function processInWords({ pid, host, since }: CollectorProcess): string {
  return `process ${pid} on ${host} since ${minuteOf(since)} New York`;
}

/** `2026-11-22 00:49`, the exchange's time. What is no time, for others can write the table, is shown as it is. */
function minuteOf(since: string): string {
  const at = new Date(since);
  return Number.isNaN(at.getTime())
    ? since.slice(0, 40)
    : exchangeTime(at).slice(0, "2026-11-22 00:49".length);
}

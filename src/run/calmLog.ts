/** A log in which what goes on happening is one line a minute with a count, not one line each time. */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** How long a complaint stands for those like it, in ms. */
const REPEAT_MS = 60_000;

type Level = "warn" | "error";
type Complaint = {
  level: Level;
  message: string;
  whose: { account?: unknown };
  reason: string;
  saidAtMs: number;
  repeated: number;
};

/** A log that complains calmly, and how to have it say what it has kept back. */
type CalmLog = { log: Log; flush: () => void };

/**
 * Warnings and errors of an account with the same code, or the same words and reason, are said once a minute; those between are counted, and the
 * count is said when the minute is over and something is logged, or at `flush`. The ledger and the journal have each of
 * them. Everything else passes at once.
 */
export function calmLog(log: Log, clock: Pick<Clock, "monotonicMs">): CalmLog {
  const complaints = new Map<string, Complaint>();

  const sayKept = (overBeforeMs: number): void => {
    for (const [key, { level, message, whose, reason, saidAtMs, repeated }] of complaints) {
      if (saidAtMs > overBeforeMs) continue;
      complaints.delete(key);
      if (repeated > 0) log[level]({ ...whose, ...(reason && { reason }), repeated }, `again: ${message}`);
    }
  };

  const complain = (level: Level) => (fields: object, message: string) => {
    const nowMs = clock.monotonicMs();
    sayKept(nowMs - REPEAT_MS);
    const { account, reason: why = "" } = fields as { account?: unknown; reason?: unknown };
    const reason = String(why);
    const key = JSON.stringify([level, /^[A-Z][A-Z_]+(?=:)/.exec(message)?.[0] ?? message, reason, account]);
    const known = complaints.get(key);
    if (known) {
      known.repeated += 1;
      return;
    }
    const whose = account === undefined ? {} : { account };
    complaints.set(key, { level, message, whose, reason, saidAtMs: nowMs, repeated: 0 });
    log[level](fields, message);
  };

  return {
    log: {
      debug: (fields, message) => log.debug(fields, message),
      info: (fields, message) => log.info(fields, message),
      warn: complain("warn"),
      error: complain("error"),
    },
    flush: () => sayKept(Infinity),
  };
}

/** A log in which what goes on happening is one line a minute with a count, not one line each time. */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

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

export type CalmLog = Log & {
  /** Says at once what it has kept back. */
  flush: () => void;
};

/**
 * Warnings and errors of an account with the same code, or the same words and reason, are said once a minute; those
 * between are counted, and the count is said with the next of them, or when the minute is over and something else is
 * logged, or at `flush`. The ledger and the journal have each of them. Everything else passes at once. One for a whole
 * run: so what two parts of it complain of is said once.
 */
export function calmLog(log: Log, clock: Pick<Clock, "monotonicMs">): CalmLog {
  const complaints = new Map<string, Complaint>();

  const sayKept = (overBeforeMs: number, nowMs: number, but?: string): void => {
    for (const [key, complaint] of complaints) {
      const { level, message, whose, reason, saidAtMs, repeated } = complaint;
      if (saidAtMs > overBeforeMs || key === but) continue;
      if (repeated === 0) complaints.delete(key);
      else {
        // Its remedy was said with the first of them.
        log[level]({ ...whose, ...(reason && { reason }), repeated }, `again: ${codeOf(message) ?? message}`);
        Object.assign(complaint, { saidAtMs: nowMs, repeated: 0 });
      }
    }
  };

  const complain = (level: Level) => (fields: object, message: string) => {
    const nowMs = clock.monotonicMs();
    const { account, reason: why = "" } = fields as { account?: unknown; reason?: unknown };
    const reason = String(why);
    const key = JSON.stringify([level, codeOf(message) ?? message, reason, account]);
    sayKept(nowMs - REPEAT_MS, nowMs, key);
    const known = complaints.get(key);
    if (known && known.saidAtMs > nowMs - REPEAT_MS) {
      known.repeated += 1;
      return;
    }
    const whose = account === undefined ? {} : { account };
    complaints.set(key, { level, message, whose, reason, saidAtMs: nowMs, repeated: 0 });
    // One that lasts is one line a minute, and not two.
    const repeated = known?.repeated ?? 0;
    log[level](repeated > 0 ? { ...fields, repeated } : fields, message);
  };

  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: complain("warn"),
    error: complain("error"),
    flush: () => {
      sayKept(Infinity, clock.monotonicMs());
      complaints.clear();
    },
  };
}

function codeOf(message: string): string | undefined {
  return /^[A-Z][A-Z_]+(?=:)/.exec(message)?.[0];
}

/** What a process that calls on an account must know of the calls before it, and where it notes its own. */
import { resolve } from "node:path";
import { type Clock, dateOf, type Instant } from "../clock.ts";
import { type CallLog, NO_CALL_LOG, openCallLog, readCalls, recentCalls } from "../collect/callLog.ts";
import type { CallHistory, GovernorConfig } from "../collect/governor/governor.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { readSegment } from "../journal/reader.ts";
import { listSegments } from "../journal/segments.ts";

/** The account's limit, as the governor wants it. */
export function governorOf({ limit, limitGiven, limitWindowMs }: Limits): GovernorConfig {
  return { limit, windowMs: limitWindowMs, mayRise: !limitGiven };
}

type Limits = Pick<Config, "limit" | "limitGiven" | "limitWindowMs">;

/** The calls of all processes on this data directory. A null history: nothing is known to count. */
export type Calls = { log: CallLog; history: CallHistory | null };

/** What is needed of the surroundings. */
export type CallsOptions = {
  journalDir: string;
  clock: Clock;
  /** What tells this boot of the machine from all others; null where the system does not say. */
  bootId: string | null;
  /** Told once when calls cannot be noted. */
  onProblem: (message: string) => void;
};

/**
 * Opens them. Calls to the simulated service count with its process alone.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function openCalls(
  config: Config,
  { journalDir, onProblem, ...present }: CallsOptions,
): Promise<Calls> {
  if (config.feed.kind === "simulated") return { log: NO_CALL_LOG, history: null };
  const options = {
    ...{ dataDir: resolve(config.dataDir), governor: governorOf(config), ...present },
    onProblem: ({ message }: Error) =>
      onProblem(
        `Calls cannot be noted (${message}): after a kill the next run makes fewer of them at first.`,
      ),
  };
  const noted = readCalls(options);
  const answers = await readRecentAnswers(journalDir, noted, config.limitWindowMs);
  return { log: openCallLog(options), history: recentCalls(noted, answers) };
}

/**
 * Arrival times of the answers that the journal holds of the last `windowMs`, whichever process kept them, and that are
 * not noted: those of an older version, or of before a power failure.
 */
export async function readRecentAnswers(
  dir: string,
  { requestIds, thenNow }: { requestIds: ReadonlySet<string>; thenNow: Date },
  windowMs: number,
): Promise<Instant[]> {
  const sinceMs = thenNow.getTime() - windowMs;
  const recent: Instant[] = [];
  for (const { name, mtimeMs } of await listSegments(dir)) {
    if (mtimeMs < sinceMs) continue;
    for await (const item of readSegment(dir, name, { mayBeGone: true })) {
      if (item.kind !== "record" || item.record.kind !== "response") continue;
      const { observedAt, requestId } = item.record;
      if (dateOf(observedAt).getTime() > sinceMs && !requestIds.has(requestId)) recent.push(observedAt);
    }
  }
  return recent;
}

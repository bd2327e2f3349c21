/** How long an answer of the database is waited for. Questions never wait for one another: an answer counts whenever it comes. */
import { atMost, type Clock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { TRUSTED_MS } from "./leaseRules.ts";

/**
 * When an answer is late, in ms: before the next round, and before others reckon that this collector goes on as one that is
 * unsure (`SURE_MS` in `collect/governor/handover.ts`).
 */
const LATE_MS = 1_900;

/** How long a process that went on after a stop has to read its sockets, in ms: its timers fire before. */
const READS_MS = 100;

/** The database's answer, or an error after 5 s, when a lease that it confirms is no longer trusted: a dead connection says nothing. */
export async function answered<T>(asked: Promise<T>, { sleep }: Pick<Clock, "sleep">): Promise<T> {
  const given = new AbortController();
  const never = sleep(TRUSTED_MS, given.signal).then(() => {
    throw new QuotekeeperError("DATABASE_UNREACHABLE", "the database does not answer");
  });
  never.catch(() => undefined);
  return Promise.race([asked, never]).finally(() => given.abort());
}

/** Whether work succeeds in `ms`; false: it failed, or still goes on. An answer that came while the process stood still counts. */
export async function succeedsWithin(work: Promise<unknown>, clock: Clock, ms = LATE_MS): Promise<boolean> {
  let done = false;
  const watched = work.then(
    () => (done = true),
    () => undefined,
  );
  await atMost(Math.max(0, ms - READS_MS), watched, clock);
  if (!done) await atMost(Math.min(ms, READS_MS), watched, clock);
  return done;
}

/** Accounts for the slots that passed since the last one in the ledger, when collection begins again. */
import type pg from "pg";
import { readLastSlots, readStoredWithin } from "../../archive/ledger.ts";
import type { ScheduledJob } from "../../collect/collector.ts";
import { downtimeNotes, slotsWhileDown } from "../../collect/downtime.ts";
import type { LedgerNote, LedgerSource } from "../../ledger.ts";

/**
 * Notes for the slots of each job that are over and not in the ledger. A job that was never in it has none.
 *
 * @param startedAt the slot that lasted then, and those after it, are the running collector's
 */
export async function accountForDowntime(
  pool: pg.Pool,
  source: LedgerSource,
  jobs: readonly ScheduledJob[],
  startedAt: Date,
): Promise<LedgerNote[]> {
  const ours = new Map(
    // The collector may have settled slots of its own by now: only what lies before them is looked at.
    jobs.map(({ job, schedule }) => [job.name, schedule.current(startedAt) ?? startedAt]),
  );
  const lastSlots = await readLastSlots(pool, source, ours);
  const notes: LedgerNote[] = [];
  for (const { job, schedule } of jobs) {
    const last = lastSlots.get(job.name);
    if (!last) continue;
    const windows = slotsWhileDown(schedule, last.slotAt, startedAt);
    if (windows.length === 0) continue;
    const { due } = last;
    const stored = await readStoredWithin(pool, windows, { source, instruments: due, delayed: job.delayed });
    const past = windows.map(({ from }, place) => ({
      slotAt: from,
      stored: stored.get(place) ?? new Set<string>(),
    }));
    notes.push(...downtimeNotes(job.name, due, past));
  }
  return notes;
}

/** Accounts for the slots that earlier runs left open, or that passed while none ran, when collection begins again. */
import type pg from "pg";
import type { Loader } from "../archive/loader.ts";
import { readLastSlots, readLeftOpen, readSlotsWithin, readStoredWithin } from "../archive/ledgerRows.ts";
import type { Clock } from "../clock.ts";
import type { Collector, ScheduledJob } from "../collect/collector.ts";
import { downtimeNotes, slotNote, slotsWhileDown } from "../collect/downtime.ts";
import { DEADLINES } from "../collect/fetchQuotes.ts";
import type { JobSchedule } from "../schedule/slots.ts";
import type { LedgerNote, LedgerSource } from "../journal/ledger.ts";
import type { Log } from "../log.ts";
import type { NoteWriter } from "./ledgerNotes.ts";
import type { RunMarker } from "./lastRun.ts";

/** The run that settles what those before it left. */
type Settling = {
  /** The markets that are polled. */
  sources: () => ReadonlySet<LedgerSource>;
  loader: Pick<Loader, "drain">;
  collector: Pick<Collector, "jobs">;
  notes: NoteWriter;
  /** Since when the ledger may have gaps. */
  unsettled: RunMarker;
  run: string;
  startedAt: Date;
  clock: Pick<Clock, "sleep">;
  log: Log;
  /** Ends the attempts. */
  signal: AbortSignal;
};

/** The wait before the slots of a downtime are looked up again, when the database did not let us, in ms. */
const SETTLE_AGAIN_MS = 30_000;

/** Waits until the database has all of the last run, then notes the slots that passed in between. */
export async function settleDowntime(pool: pg.Pool, settling: Settling): Promise<void> {
  const { sources, loader, collector, notes, unsettled, run, startedAt, clock, log, signal } = settling;
  while (!signal.aborted) {
    try {
      // The slots that this run has opened are its own, also where an earlier one had opened them.
      await notes.flush();
      await loader.drain();
      const polled = { jobs: collector.jobs, startedAt };
      const markets = [...sources()];
      for (const source of markets)
        (await accountForLeftOpen(pool, { ...polled, source, run })).forEach(notes.write);
      await notes.flush();
      await loader.drain();
      for (const source of markets)
        (await accountForDowntime(pool, { ...polled, source, since: unsettled.since })).forEach(notes.write);
      await notes.flush();
      if (notes.waiting() === 0) await unsettled.settle();
      return;
    } catch (error) {
      log.warn(
        { reason: (error as Error).message },
        "the slots missed while nothing ran are not in the ledger yet; it is tried again",
      );
      await clock.sleep(SETTLE_AGAIN_MS, signal).catch(() => undefined);
    }
  }
}

/**
 * The market and the jobs that are polled, and since when: the slot that lasted then, and those after it, are the running
 * collector's.
 */
type Polled<Job> = { source: LedgerSource; jobs: readonly Job[]; startedAt: Date };

/**
 * Notes for the slots of each job that are over and not in the ledger, each with the shares that the newest slot had. A job
 * that was never in it has none.
 *
 * @param polled.since an earlier start, of a run that was killed before it had accounted for what lies before it
 */
export async function accountForDowntime(
  pool: pg.Pool,
  { source, jobs, startedAt, since = startedAt }: Polled<ScheduledJob> & { since?: Date },
): Promise<LedgerNote[]> {
  const lasting = (at: Date): Map<string, Date> =>
    new Map(jobs.map(({ job, schedule }) => [job.name, schedule.current(at) ?? at]));
  // Runs since then may have settled slots of their own: what lies before them tells where the gap begins.
  const before = await readLastSlots(pool, source, lasting(since));
  const newest = await readLastSlots(pool, source, lasting(startedAt));
  const notes: LedgerNote[] = [];
  for (const { job, schedule } of jobs) {
    const last = newest.get(job.name);
    if (!last) continue;
    const { slotAt } = before.get(job.name) ?? { slotAt: new Date(Math.min(+since, +last.slotAt)) };
    const span = { from: twoSlotsBack(schedule, slotAt), to: startedAt };
    const known = await readSlotsWithin(pool, { source, job: job.name }, span);
    // What lies before the first slot that is known may be before the job.
    const first = [...known].reduce((least, ms) => Math.min(least, ms), +slotAt);
    const windows = slotsWhileDown(schedule, new Date(first), startedAt).filter(
      ({ from }) => !known.has(+from),
    );
    if (windows.length === 0) continue;
    const past = windows.map(({ from }) => ({ slotAt: from, stored: new Set<string>() }));
    for (const { account, due } of last.shares) {
      const wanted = { source, account, instruments: due, delayed: job.delayed };
      for (const [place, names] of await readStoredWithin(pool, windows, wanted))
        for (const name of names) past[place]?.stored.add(name);
    }
    notes.push(...downtimeNotes(job.name, last.shares, past).map((note) => ({ ...note, source })));
  }
  return notes;
}

/**
 * Notes for the shares of slots that runs before this one have opened and never settled, as they were killed: what was
 * asked for within them and answered is stored.
 *
 * @param polled.run this run, whose own slots it settles itself
 */
export async function accountForLeftOpen(
  pool: pg.Pool,
  { source, jobs, startedAt, run }: Polled<Pick<ScheduledJob, "job">> & { run: string },
): Promise<LedgerNote[]> {
  const notes: LedgerNote[] = [];
  for (const { job, account, slotAt, endsAt, due } of await readLeftOpen(pool, source, run)) {
    const window = { from: slotAt, to: endsAt ?? startedAt };
    // Of a job whose file is gone nobody knows any more what it wanted: real-time quotes, as most do.
    const delayed = jobs.find((one) => one.job.name === job)?.job.delayed ?? false;
    const stored = await readStoredWithin(pool, [window], { source, account, instruments: due, delayed });
    const note = slotNote(job, [{ account, due }], { slotAt, stored: stored.get(0) ?? new Set() });
    notes.push({ ...note, source });
  }
  return notes;
}

/** A slot is settled later than the one after it when its last call takes long, and a kill may come in between. */
function twoSlotsBack(schedule: JobSchedule, slotAt: Date): Date {
  const open = new Date(+slotAt - DEADLINES.callMs);
  const one = schedule.current(open) ?? open;
  return schedule.current(new Date(+one - 1)) ?? one;
}

/** Notes for slots that are over and that no run has settled: of a downtime, left open by a killed run, or answered late. */
import type pg from "pg";
import {
  readLastShares,
  readLeftOpen,
  readLostShares,
  readSlotsWithin,
} from "../archive/ledger/knownShares.ts";
import { isWatchlist } from "../archive/ledger/ledgerNames.ts";
import { readStoredWithin } from "../archive/ledger/storedWithin.ts";
import { readSharing, type SharingFacts } from "../archive/ledger/fleetRows.ts";
import type { DueShares } from "../collect/dueShares.ts";
import { CLOCK_STEP_MS } from "../schedule/clockSteps.ts";
import type { ScheduledJob, JobSchedule } from "../schedule/jobSchedule.ts";
import { downtimeNotes, slotNote, slotsWhileDown } from "../collect/downtime.ts";
import { DEADLINES } from "../collect/transport/httpCalls.ts";
import type { LedgerNote, LedgerSource, Share } from "../journal/ledger.ts";

/**
 * How long before an account was taken its slots are looked through, in ms: whichever collector had it for a moment may have
 * ended, or have lost it, before it had accounted for the slots before its own. That takes a while where the database is far.
 */
const HANDED_ON_MS = 600_000;

type PolledMarket<Job> = { source: LedgerSource; jobs: readonly Job[]; accounts: readonly string[] };

/** A gap in what is known of accounts. */
export type Gap = PolledMarket<ScheduledJob> & {
  /** Since when they are polled: the slot that lasted then, and those after it, are the running collector's. */
  startedAt: Date;
  /** An earlier start, of a run that was killed before it had accounted for what lies before it. */
  since?: Date;
  /** An account's share of a job now; default: an account without an earlier share has none. */
  shareOf?: DueShares["shareOf"];
};

/**
 * Notes for the slots of each job that are over and in which nothing is known of an account, with the share that it had
 * last, or has now where it never had one of the job. An account that comes later than the others has its share in all slots
 * since the jobs have been shared out like that. None has what is another account's by now.
 */
export async function accountForDowntime(pool: pg.Pool, gap: Gap): Promise<LedgerNote[]> {
  const { source, startedAt } = gap;
  const notes: LedgerNote[] = [];
  for (const { polled, account, due, since, last } of await dueInGap(pool, gap)) {
    const { job, schedule } = polled;
    const span = { from: since, to: startedAt };
    const slots = await readSlotsWithin(pool, { source, job: job.name, account }, span);
    const own = new Set(slots.flatMap(({ ms, own }) => (own ? [ms] : [])));
    // What lies before the first slot that is known may be before the job.
    const firstMs = (slots[0]?.ms ?? +startedAt) - 1;
    const known = Math.max(firstMs, +(last ?? firstMs));
    const first = [...own].reduce((least, ms) => Math.min(least, ms), known);
    const windows = slotsWhileDown(schedule, new Date(first), startedAt).filter(
      ({ from }) => !own.has(+from),
    );
    for (const { due: left, windows: part } of withoutOthers(due, windows, slots)) {
      const wanted = { source, account, instruments: left, delayed: job.delayed };
      const stored = await readStoredWithin(pool, part, wanted);
      const past = part.map(({ from }, place) => ({
        slotAt: from,
        stored: stored.get(place) ?? new Set<string>(),
      }));
      const down = downtimeNotes(job.name, [{ account, due: left }], past);
      notes.push(...down.map((note) => ({ ...note, source })));
    }
  }
  return notes;
}

type DueInGap = {
  polled: ScheduledJob;
  account: string;
  due: readonly string[];
  /** Slots since then tell what is known. */
  since: Date;
  /** The slot in which the account is known to have had a share; null: in none. */
  last: Date | null;
};

async function dueInGap(
  pool: pg.Pool,
  { startedAt, since = startedAt, shareOf = () => [], ...whose }: Gap,
): Promise<DueInGap[]> {
  const { jobs, accounts } = whose;
  const lasting = (at: Date): Map<string, Date> =>
    new Map(jobs.map(({ job, schedule }) => [job.name, schedule.current(at) ?? at]));
  // Runs since then may have settled slots of their own: what lies before them tells where the gap begins.
  const before = await readLastShares(pool, whose, lasting(since));
  const newest = await readLastShares(pool, whose, lasting(startedAt));
  const sharing = await readSharing(pool, startedAt);
  return jobs.flatMap((polled) => {
    const shared = sharing && sharedSince(polled.schedule, sharing);
    return accounts.flatMap((account): DueInGap[] => {
      const isOf = (share: { job: string; account: string }): boolean =>
        share.job === polled.job.name && share.account === account;
      const last = newest.find(isOf);
      if (last !== undefined) {
        const slotAt = before.find(isOf)?.slotAt ?? new Date(Math.min(+since, +last.slotAt));
        const looked = Math.min(+slotAt, +startedAt - HANDED_ON_MS);
        const from = twoSlotsBack(polled.schedule, new Date(looked));
        // Whoever had it first may have had no time for the slots before, and whoever ran then may be gone.
        const sharedMs = sharing?.hasAgreed ? +(sharing.agreedFrom ?? -Infinity) : +(shared ?? Infinity);
        const known = Math.min(+slotAt, Math.max(sharedMs, looked) - 1);
        return [{ polled, account, due: last.due, since: from, last: new Date(known) }];
      }
      if (shared === null) return [];
      const due = shareOf(polled.job, account);
      return due.length === 0 ? [] : [{ polled, account, due, since: shared, last: null }];
    });
  });
}

/** Since which slot the jobs are shared out as they are. */
function sharedSince(schedule: JobSchedule, { beganAt, agreedFrom }: SharingFacts): Date {
  // What is agreed on is in force from the next slot on.
  return new Date(Math.max(+(schedule.current(beganAt) ?? beganAt), +(agreedFrom ?? -Infinity)));
}

export type Span = { from: Date; to: Date };

/**
 * The windows by what is due in them of a share: the newest slot up to each tells what had become another account's. A
 * watchlist never does, whatever its name.
 */
function withoutOthers(
  due: readonly string[],
  windows: readonly Span[],
  slots: Awaited<ReturnType<typeof readSlotsWithin>>,
): { due: string[]; windows: Span[] }[] {
  const parts = new Map<string, { due: string[]; windows: Span[] }>();
  let next = 0;
  let left = [...due];
  for (const window of windows) {
    for (; (slots[next]?.ms ?? Infinity) <= +window.from; next += 1) {
      const others = new Set(slots[next]?.others.flat());
      left = others.size === 0 ? [...due] : due.filter((name) => isWatchlist(name) || !others.has(name));
    }
    const part = parts.get(left.join()) ?? { due: left, windows: [] };
    part.windows.push(window);
    if (left.length > 0) parts.set(left.join(), part);
  }
  return [...parts.values()];
}

/**
 * Notes for the shares of slots that other runs have opened and never settled, as they were killed: what was asked for
 * within them and answered is stored. A slot that has not ended is left to its present owner. One that begins in what is the future now,
 * because the clock was set back, is settled with what it has: when its time comes again, it is polled again.
 *
 * @param polled.run this run, whose own slots it settles itself
 */
export async function accountForLeftOpen(
  pool: pg.Pool,
  { source, accounts, jobs, now, run }: PolledMarket<Pick<ScheduledJob, "job">> & { now: Date; run: string },
): Promise<LedgerNote[]> {
  const notes: LedgerNote[] = [];
  for (const { job, account, slotAt, endsAt, due } of await readLeftOpen(pool, { source, accounts, run })) {
    const polled = jobs.find((one) => one.job.name === job);
    const isAhead = +slotAt - +now >= CLOCK_STEP_MS;
    if (polled && endsAt !== null && endsAt > now && !isAhead) continue;
    const window = { from: slotAt, to: endsAt ?? now };
    // Of a job whose file is gone nobody knows any more what it wanted: real-time quotes, as most do.
    const delayed = polled?.job.delayed ?? false;
    const stored = await readStoredWithin(pool, [window], { source, account, instruments: due, delayed });
    const note = slotNote(job, [{ account, due }], { slotAt, stored: stored.get(0) ?? new Set() });
    notes.push({ ...note, source });
  }
  return notes;
}

/**
 * Notes for the shares of slots of any account that were settled before answers to them came from a journal that was late:
 * what was down, or an account that was taken over within the slot, has what was asked for within it, as if it had
 * been loaded in time.
 */
export async function accountForLate(
  pool: pg.Pool,
  { source, jobs, from, to }: Omit<PolledMarket<ScheduledJob>, "accounts"> & Span,
): Promise<LedgerNote[]> {
  const since = jobs.map(({ job, schedule }): [string, Date] => [job.name, twoSlotsBack(schedule, from)]);
  const alike = new Map<string, { share: Required<Share>; polled: ScheduledJob; windows: Span[] }>();
  for (const { job, account, slotAt, takenAt, lost } of await readLostShares(pool, new Map(since), {
    source,
    to,
  })) {
    const polled = jobs.find((one) => one.job.name === job);
    const { deadlineMs = 0 } = polled?.schedule.endOf(slotAt) ?? {};
    const due = lost.flatMap(({ name, down }) =>
      down || (takenAt !== null && +takenAt < deadlineMs) ? [name] : [],
    );
    if (!polled || due.length === 0) continue;
    const key = JSON.stringify([job, account, due]);
    const one = alike.get(key) ?? { share: { account, due }, polled, windows: [] };
    one.windows.push({ from: slotAt, to: new Date(Math.min(deadlineMs, +to)) });
    alike.set(key, one);
  }
  const notes: LedgerNote[] = [];
  for (const { share, polled, windows } of alike.values()) {
    const { name, delayed } = polled.job;
    const wanted = { source, account: share.account, instruments: share.due, delayed };
    for (const [place, stored] of await readStoredWithin(pool, windows, wanted)) {
      const slotAt = windows[place]?.from ?? from;
      notes.push({ ...slotNote(name, [{ ...share, due: [...stored] }], { slotAt, stored }), source });
    }
  }
  return notes;
}

/** A slot is settled later than the one after it when its last call takes long, and a kill may come in between. */
function twoSlotsBack(schedule: JobSchedule, slotAt: Date): Date {
  const open = new Date(+slotAt - DEADLINES.callMs);
  const one = schedule.current(open) ?? open;
  return schedule.current(new Date(+one - 1)) ?? one;
}

/** The slots that passed while nothing ran, as notes of the ledger. Pure. */
import { instantFromDate } from "../ground/clock.ts";
import { asShares, type LedgerNote, type Share, sharesIn, type SlotsNote } from "../journal/ledger.ts";
import type { JobSchedule } from "../schedule/jobSchedule.ts";

type PastSlot = { slotAt: Date; stored: ReadonlySet<string> };

const DAY_MS = 86_400_000;

/** Days of a downtime that are accounted for slot by slot. Of a job of seconds: about as many slots as they have minutes. */
const MOST_DAYS = 400;
const MOST_SLOTS = MOST_DAYS * 24 * 60;

/** Most slots of one note: a record of the journal has a bound. */
const MOST_SLOTS_PER_NOTE = 20_000;

/** The newest slots in the window (after, until], ascending, as far back as the ledger accounts for them. */
export function newestSlots(
  schedule: Pick<JobSchedule, "slotsBetween">,
  after: Date,
  until: Date,
): readonly Date[] {
  const days: Date[][] = [];
  const firstMs = Math.max(+after, +until - MOST_DAYS * DAY_MS);
  let count = 0;
  for (let toMs = +until; toMs > firstMs && count < MOST_SLOTS; toMs -= DAY_MS) {
    const day = schedule.slotsBetween(new Date(Math.max(firstMs, toMs - DAY_MS)), new Date(toMs));
    days.unshift(day);
    count += day.length;
  }
  return days.flat();
}

/** The slots of a schedule after the last one in the ledger, up to the present, whose time is over. */
export function slotsWhileDown(schedule: JobSchedule, last: Date, now: Date): { from: Date; to: Date }[] {
  const slots = newestSlots(schedule, last, now);
  return slots.flatMap((from, index) => {
    // A year has a hundred thousand slots: the next one of each is at hand.
    const { deadlineMs } = schedule.endOf(from, slots[index + 1]);
    return deadlineMs <= now.getTime() ? [{ from, to: new Date(deadlineMs) }] : [];
  });
}

/** A slot in which something was stored gets an entry of its own; the empty ones share notes. */
export function downtimeNotes(
  job: string,
  shares: readonly Share[],
  slots: readonly PastSlot[],
): LedgerNote[] {
  const isPartly = ({ stored }: PastSlot): boolean =>
    shares.some(({ due }) => due.some((name) => stored.has(name)));
  const empty = slots.filter((slot) => !isPartly(slot)).map(({ slotAt }) => instantFromDate(slotAt));
  const notes = slots.filter(isPartly).map((slot): LedgerNote => slotNote(job, shares, slot));
  for (let start = 0; start < empty.length; start += MOST_SLOTS_PER_NOTE) {
    const part = empty.slice(start, start + MOST_SLOTS_PER_NOTE);
    notes.push({ type: "down", job, slots: part, ...asShares(shares) });
  }
  return notes;
}

/** The account of shares of a slot whose time is over: what has no quote was missed, because nothing ran. */
export function slotNote(job: string, shares: readonly Share[], { slotAt, stored }: PastSlot): SlotsNote {
  const entries = sharesIn(asShares(shares)).map(({ due, ...share }) => {
    const misses = due.filter((name) => !stored.has(name)).map((name): [string, "down"] => [name, "down"]);
    return { job, slotAt: instantFromDate(slotAt), ...share, due, misses };
  });
  return { type: "slots", entries };
}

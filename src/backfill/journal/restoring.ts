/** What a rebuild remembers over all of its batches, because many answers and notes tell it together. */
import {
  type DownNote,
  type LedgerNote,
  type SlotEntry,
  type SlotsNote,
  sharesIn,
} from "../../journal/ledger.ts";
import { LEDGER_SOURCE_IDS } from "../../archive/ledger/ledgerNames.ts";
import type { SeenInstruments } from "../../archive/load/seen.ts";
import type { JournaledNote } from "../../archive/load/loadNotes.ts";
import { dateOf } from "../../ground/clock.ts";
import type { SlotKey } from "../../archive/refill/restoreFills.ts";
import { DEFAULT_ACCOUNT, type TimeRange } from "../../journal/record.ts";

export class Restoring {
  readonly seen: SeenInstruments = new Map();
  /** How far each segment was read. */
  readonly ends = new Map<string, number>();
  readonly #range: TimeRange;
  /** Epoch ms of slots, by job, source and account. */
  readonly #removed = new Map<string, Set<number>>();

  /** @param range the part of the journal that is rebuilt */
  constructor(range: TimeRange) {
    this.#range = range;
  }

  /**
   * Reads notes, in their order.
   *
   * @returns `slots`: shares of slots whose old entries have to be removed, because a note has them for the first time;
   *   `notes`: the notes to load; of a note behind the range only the shares whose entries were removed
   */
  read(notes: readonly JournaledNote[]): { slots: SlotKey[]; notes: JournaledNote[] } {
    const { to } = this.#range;
    const read = { slots: [] as SlotKey[], notes: [] as JournaledNote[] };
    for (const { at, note } of notes)
      if (to === null || at < to) {
        read.slots.push(...slotsOf(note).filter((key) => this.#isFirst(key)));
        read.notes.push({ at, note });
      } else {
        const rest = this.#ofRemoved(note);
        if (rest !== null) read.notes.push({ at, note: rest });
      }
    return read;
  }

  /** False for a slot from before the range: its first notes are not read. */
  #isFirst(key: SlotKey): boolean {
    const { from } = this.#range;
    const removed = this.#removedOf(key);
    const ms = dateOf(key.slotAt).getTime();
    if (removed.has(ms) || (from !== null && key.slotAt < from)) return false;
    removed.add(ms);
    return true;
  }

  #ofRemoved(note: LedgerNote): LedgerNote | null {
    if (slotsOf(note).length === 0) return null;
    const sourceId = LEDGER_SOURCE_IDS[note.source ?? "account"];
    const wasRemoved = ({
      account = DEFAULT_ACCOUNT,
      ...share
    }: Omit<SlotEntry, "due" | "misses">): boolean =>
      this.#removedOf({ job: share.job, sourceId, account }).has(dateOf(share.slotAt).getTime());
    if (note.type === "slots") {
      const entries = note.entries.filter(wasRemoved);
      return entries.length > 0 ? { ...note, entries } : null;
    }
    if (note.type !== "down") return null;
    const shares = sharesIn(note);
    const slots = note.slots.filter((slotAt) =>
      shares.some(({ due: _, ...share }) => wasRemoved({ job: note.job, slotAt, ...share })),
    );
    return slots.length > 0 ? { ...note, slots } : null;
  }

  #removedOf({ job, sourceId, account }: Omit<SlotKey, "slotAt">): Set<number> {
    const name = JSON.stringify([sourceId, account, job]);
    const removed = this.#removed.get(name) ?? new Set();
    this.#removed.set(name, removed);
    return removed;
  }
}

/** The shares of a note; none of a malformed note, which becomes a dead letter when it is loaded. */
function slotsOf(note: Partial<LedgerNote>): SlotKey[] {
  const sourceId = LEDGER_SOURCE_IDS[note.source ?? "account"];
  const whole = note as Partial<SlotsNote> & Partial<DownNote>;
  const shares =
    note.type === "slots"
      ? whole.entries
      : note.type === "down"
        ? whole.slots?.flatMap((slotAt) =>
            [whole, ...(whole.others ?? [])].map(({ account }) => ({ job: "", ...whole, account, slotAt })),
          )
        : [];
  return (shares ?? []).flatMap((share) => {
    if (Number.isNaN(Date.parse(share?.slotAt))) return [];
    const { job, slotAt, account = DEFAULT_ACCOUNT } = share;
    return [{ job, slotAt, sourceId, account }];
  });
}

/** What a rebuild remembers from its first batch to its last, because it is told by many answers and notes together. */
import {
  type DownNote,
  type LedgerNote,
  type SlotEntry,
  type SlotsNote,
  sharesIn,
} from "../../journal/ledger.ts";
import { LEDGER_SOURCE_IDS } from "../../archive/ledger/ledgerRows.ts";
import type { SeenInstruments } from "../../archive/load/seen.ts";
import type { JournaledNote } from "../../archive/load/loadNotes.ts";
import { dateOf } from "../../clock.ts";
import type { SlotKey } from "../../archive/refill/fillSlots.ts";
import { DEFAULT_ACCOUNT, type TimeRange } from "../../journal/record.ts";

/** Slots that were taken out once, and instruments as the answers tell of them. */
export class Restoring {
  readonly seen: SeenInstruments = new Map();
  /** How far each segment was read. */
  readonly ends = new Map<string, number>();
  readonly #range: TimeRange;
  /** Epoch ms of slots, by job, source and account. */
  readonly #taken = new Map<string, Set<number>>();

  /** @param range of the journal that is rebuilt */
  constructor(range: TimeRange) {
    this.#range = range;
  }

  /**
   * Takes up notes, in their order.
   *
   * @returns the shares of slots that are told of for the first time: of these the old entry goes; and what to load, of
   *   notes from behind the range what they tell of shares that were taken out
   */
  take(notes: readonly JournaledNote[]): { slots: SlotKey[]; notes: JournaledNote[] } {
    const { to } = this.#range;
    const taken = { slots: [] as SlotKey[], notes: [] as JournaledNote[] };
    for (const { at, note } of notes)
      if (to === null || at < to) {
        taken.slots.push(...slotsOf(note).filter((key) => this.#isFirst(key)));
        taken.notes.push({ at, note });
      } else {
        const rest = this.#ofTaken(note);
        if (rest !== null) taken.notes.push({ at, note: rest });
      }
    return taken;
  }

  /** False for a slot from before the range: what was told of it first is not read. */
  #isFirst(key: SlotKey): boolean {
    const { from } = this.#range;
    const taken = this.#takenOf(key);
    const ms = dateOf(key.slotAt).getTime();
    if (taken.has(ms) || (from !== null && key.slotAt < from)) return false;
    taken.add(ms);
    return true;
  }

  #ofTaken(note: LedgerNote): LedgerNote | null {
    if (slotsOf(note).length === 0) return null;
    const sourceId = LEDGER_SOURCE_IDS[note.source ?? "account"];
    const wasTaken = ({ account = DEFAULT_ACCOUNT, ...share }: Omit<SlotEntry, "due" | "misses">): boolean =>
      this.#takenOf({ job: share.job, sourceId, account }).has(dateOf(share.slotAt).getTime());
    if (note.type === "slots") {
      const entries = note.entries.filter(wasTaken);
      return entries.length > 0 ? { ...note, entries } : null;
    }
    if (note.type !== "down") return null;
    const shares = sharesIn(note);
    const slots = note.slots.filter((slotAt) =>
      shares.some(({ due: _, ...share }) => wasTaken({ job: note.job, slotAt, ...share })),
    );
    return slots.length > 0 ? { ...note, slots } : null;
  }

  #takenOf({ job, sourceId, account }: Omit<SlotKey, "slotAt">): Set<number> {
    const name = JSON.stringify([sourceId, account, job]);
    const taken = this.#taken.get(name) ?? new Set();
    this.#taken.set(name, taken);
    return taken;
  }
}

/** None of a note that lacks what a note has: loading it makes a dead letter of it. */
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

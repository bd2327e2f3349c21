/**
 * The open slots of the ledger. For each: what is due, and what has become of it so far.
 *
 * A slot is open -> settled, when the last of its instruments is stored or missed; it is given out once, then
 * forgotten. So due = stored + missed holds for every slot that leaves this book.
 */
import type { Instant } from "../instant.ts";
import type { MissReason, SlotEntry } from "../ledger.ts";

/** What became of an instrument at a slot. */
export type Fate = "stored" | MissReason;

/** A slot of a job. */
export type Slot = { job: string; slotAt: Instant };

type OpenSlot = { entry: SlotEntry; unsettled: Set<string> };

export class SlotBook {
  readonly #open = new Map<string, OpenSlot>();
  readonly #onSettled: (entries: SlotEntry[]) => void;

  /** @param onSettled gets each slot as soon as it is settled */
  constructor(onSettled: (entries: SlotEntry[]) => void) {
    this.#onSettled = onSettled;
  }

  /** Opens a slot. A job with nothing due has no slot. */
  open({ job, slotAt }: Slot, due: readonly string[]): void {
    if (due.length === 0) return;
    const names = new Set(due);
    const entry = { job, slotAt, due: [...names], misses: [] };
    this.#open.set(slotKey({ job, slotAt }), { entry, unsettled: names });
  }

  /** Adds instruments to an open slot: contracts of a chain whose price came late. */
  extend(slot: Slot, due: readonly string[]): void {
    const open = this.#open.get(slotKey(slot));
    if (!open) return;
    const known = new Set(open.entry.due);
    for (const name of due.filter((other) => !known.has(other))) {
      open.entry.due.push(name);
      open.unsettled.add(name);
    }
  }

  /** What became of an instrument, at all the slots that want it; it counts where it is due and not settled yet. */
  settle(slots: Iterable<Slot>, name: string, fate: Fate): void {
    for (const slot of slots) {
      const open = this.#open.get(slotKey(slot));
      if (!open?.unsettled.delete(name)) continue;
      if (fate !== "stored") open.entry.misses.push([name, fate]);
      this.#giveOut(slot, open);
    }
  }

  /** It was not due after all. */
  withdraw(slot: Slot, name: string): void {
    const open = this.#open.get(slotKey(slot));
    if (!open?.unsettled.delete(name)) return;
    open.entry.due = open.entry.due.filter((due) => due !== name);
    this.#giveOut(slot, open);
  }

  /** Settles all that is open, because the program ends. */
  settleAll(reason: MissReason): void {
    const entries = [...this.#open.values()].map(({ entry, unsettled }) => {
      for (const name of unsettled) entry.misses.push([name, reason]);
      return entry;
    });
    this.#open.clear();
    if (entries.length > 0) this.#onSettled(entries);
  }

  #giveOut(slot: Slot, { entry, unsettled }: OpenSlot): void {
    if (unsettled.size > 0) return;
    this.#open.delete(slotKey(slot));
    if (entry.due.length > 0) this.#onSettled([entry]);
  }
}

function slotKey({ job, slotAt }: Slot): string {
  return `${slotAt} ${job}`;
}

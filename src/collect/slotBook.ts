/**
 * The open slots of the ledger. For each: what is due, and what has become of it so far.
 *
 * A slot is open -> settled, when the last of its instruments is stored or missed; it is given out once, then
 * forgotten. So due = stored + missed holds for every slot that leaves this book. An instrument is stored at a slot when
 * an answer that was asked for within the slot holds it, whoever asked: a recount of the journal says the same.
 */
import type { Instant } from "../instant.ts";
import type { MissReason, SlotEntry } from "../ledger.ts";

/** What became of an instrument at a slot. */
export type Fate = "stored" | MissReason;

/** A slot of a job. */
export type Slot = { job: string; slotAt: Instant };

/** A slot that begins. */
export type BeginningSlot = Slot & {
  /** When it is over, epoch ms UTC; Infinity when no other one comes. */
  deadlineMs: number;
  /** Whether it wants delayed quotes. */
  delayed: boolean;
  /** Names of what is due. */
  due: readonly string[];
};

type OpenSlot = { slot: BeginningSlot; entry: SlotEntry; unsettled: Set<string> };

/** Told of slots. */
export type SlotListener = {
  /** A slot has begun, or more is due at it than was said before. */
  onOpened: (slot: BeginningSlot) => void;
  /** Slots are settled; each comes once. */
  onSettled: (entries: SlotEntry[]) => void;
};

export class SlotBook {
  readonly #open = new Map<string, OpenSlot>();
  readonly #listener: SlotListener;

  constructor(listener: SlotListener) {
    this.#listener = listener;
  }

  /** Opens a slot. A job with nothing due has no slot. */
  open(slot: BeginningSlot): void {
    if (slot.due.length === 0) return;
    const due = [...new Set(slot.due)];
    const { job, slotAt } = slot;
    this.#open.set(slotKey(slot), {
      slot,
      entry: { job, slotAt, due, misses: [] },
      unsettled: new Set(due),
    });
    this.#listener.onOpened({ ...slot, due });
  }

  /** The contracts of chains whose price came late are due in place of what stood for them. */
  extend(slot: Slot, due: readonly string[], insteadOf: readonly string[]): void {
    const open = this.#open.get(slotKey(slot));
    if (!open) return;
    const gone = new Set(insteadOf.filter((name) => open.unsettled.delete(name)));
    const names = new Set([...open.entry.due.filter((name) => !gone.has(name)), ...due]);
    const known = new Set(open.entry.due);
    for (const name of due) if (!known.has(name)) open.unsettled.add(name);
    open.entry.due = [...names];
    this.#listener.onOpened({ ...open.slot, due: open.entry.due });
    this.#giveOut(open);
  }

  /** What became of an instrument, at all the slots that want it; it counts where it is due and not settled yet. */
  settle(slots: Iterable<Slot>, name: string, fate: Fate): void {
    for (const slot of slots) {
      const open = this.#open.get(slotKey(slot));
      if (!open?.unsettled.delete(name)) continue;
      if (fate !== "stored") open.entry.misses.push([name, fate]);
      this.#giveOut(open);
    }
  }

  /** Instruments whose quotes were asked for at `askedMs` are stored at each slot that lasted then and wants them. */
  credit(names: readonly string[], delayed: boolean, askedMs: number): void {
    for (const open of [...this.#open.values()]) {
      const { slot, unsettled } = open;
      if (slot.delayed !== delayed || askedMs < Date.parse(slot.slotAt) || askedMs >= slot.deadlineMs)
        continue;
      const before = unsettled.size;
      for (const name of names) unsettled.delete(name);
      if (unsettled.size < before) this.#giveOut(open);
    }
  }

  /** Settles all that is open, because the program ends. */
  settleAll(reason: MissReason): void {
    const entries = [...this.#open.values()].map(({ entry, unsettled }) => {
      for (const name of unsettled) entry.misses.push([name, reason]);
      return entry;
    });
    this.#open.clear();
    if (entries.length > 0) this.#listener.onSettled(entries);
  }

  #giveOut({ slot, entry, unsettled }: OpenSlot): void {
    if (unsettled.size > 0) return;
    this.#open.delete(slotKey(slot));
    if (entry.due.length > 0) this.#listener.onSettled([entry]);
  }
}

function slotKey({ job, slotAt }: Slot): string {
  return `${slotAt} ${job}`;
}

/**
 * The open slots of the ledger. For each: what is due, and what has become of it so far.
 *
 * A slot is open -> settled, when the last of its instruments is stored or missed; it is given out then.
 * So due = stored + missed holds for every slot that leaves this book. An instrument is stored at a slot when
 * an answer that was asked for within the slot holds it, whoever asked: a recount of the journal says the same. When that
 * answer comes only after another call for it has ended without one, what was missed is given out once more, as stored.
 *
 * With several accounts a slot has a share for each, which is an account of its own: an instrument is due in one of them.
 */
import type { OwnerOf } from "../accounts/shares.ts";
import type { Instant } from "../ground/clock.ts";
import type { MissReason, Share, SlotEntry } from "../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import { grouped } from "./asks.ts";

export type Fate = "stored" | MissReason;

export type Slot = { job: string; slotAt: Instant };

type BeginningSlot = Slot & {
  account?: string;
  /** When it is over, epoch ms UTC; Infinity: it is a one-off job's, and is over when all of it is settled. */
  deadlineMs: number;
  /** The account that owns each name, for a one-off job: all its shares are this collector's. */
  ownerOf?: OwnerOf | undefined;
  delayed: boolean;
  due: readonly string[];
  /** How much of its time has passed in which nothing could be asked for it, in ms. Default: 0. */
  lostMs?: number;
};

/** `unsettled`: how many outcomes each name still waits for, one for each time the slot was opened with it. */
type OpenSlot = { slot: BeginningSlot; entry: SlotEntry; unsettled: Map<string, number> };

/** A share that was settled with misses, and the names of these. */
type MissedShare = { slot: BeginningSlot; entry: Omit<SlotEntry, "due" | "misses">; names: Set<string> };

type Owners = {
  ownerOf: OwnerOf;
  /** Whether this collector calls an account: the shares of others are theirs to account for. */
  isCalled: (account: string) => boolean;
};

type SlotListener = {
  /** A slot has begun, or something else is due in some of its shares than was said before: those, all of them at once. */
  onOpened: (slot: BeginningSlot, shares: Share[]) => void;
  onSettled: (entries: SlotEntry[]) => void;
  /** What was missed at a slot that is settled is stored after all: that alone is due in the entry. */
  onFound: (entry: SlotEntry) => void;
};

/** How long after its end a slot may have an answer yet, in ms: a call lasts 20 s, and its answer is on the disk soon after. */
export const ANSWERED_WITHIN_MS = 60_000;

/** A slot is cut short that has lost one of so many parts of its time: a second of a minute, 24 minutes of a day. */
const CUT_SHORT_PARTS = 60;

/** Answers that are remembered: a clock that is set back opens slots whose time has begun already. */
const RECENT_ANSWERS = 256;

/** Names that one answer stored. The calls for its first page and for its last were made at two instants, epoch ms UTC. */
type StoredNames = { names: readonly string[]; delayed: boolean; askedMs: number; firstAskedMs: number };

export class SlotBook {
  readonly #open = new Map<string, Map<string, OpenSlot>>();
  #recent: StoredNames[] = [];
  /** Shares that were settled with misses, as long as an answer to them may be under way. */
  #missed: MissedShare[] = [];
  readonly #listener: SlotListener;
  readonly #owners: Owners | undefined;

  /** @param owners undefined: there is one account */
  constructor(listener: SlotListener, owners?: Owners) {
    this.#listener = listener;
    this.#owners = owners;
  }

  isOpen(slot: Slot, account?: string): boolean {
    const shares = this.#open.get(slotKey(slot));
    return shares !== undefined && (account === undefined || shares.has(account));
  }

  settleSlot(slot: Slot, reason: MissReason): void {
    for (const open of [...(this.#open.get(slotKey(slot))?.values() ?? [])]) this.#end(open, reason);
  }

  /**
   * Whether so much of an open share's time was lost that what does not fit into the rest is no failure of the budget: the
   * program started, took the account over or was stopped within the slot.
   */
  isCutShort(slot: Slot, account: string): boolean {
    const share = this.#open.get(slotKey(slot))?.get(account)?.slot;
    if (!share?.lostMs) return false;
    return share.lostMs >= (share.deadlineMs - Date.parse(share.slotAt)) / CUT_SHORT_PARTS;
  }

  /** Time has passed in which nothing could be asked for any open slot, so many ms. */
  lose(ms: number): void {
    for (const shares of this.#open.values())
      for (const open of shares.values()) open.slot = { ...open.slot, lostMs: (open.slot.lostMs ?? 0) + ms };
  }

  /** Settles all that is open of an account, because this collector does not call it any more. */
  settleAccount(account: string, reason: MissReason): void {
    for (const shares of [...this.#open.values()]) {
      const open = shares.get(account);
      if (open) this.#end(open, reason);
    }
  }

  #end(open: OpenSlot, reason: MissReason): void {
    for (const name of open.unsettled.keys()) open.entry.misses.push([name, reason]);
    open.unsettled.clear();
    this.#giveOut(open);
  }

  /**
   * Opens a slot. A job with nothing due has no slot. One that is open already, because the clock was set back and the
   * slot comes once more, goes on with all that it has: what is stored stays stored, the rest waits for both outcomes.
   */
  open(slot: BeginningSlot): void {
    const opened = Array.from(this.#shares(slot, slot.due), ([account, due]) =>
      this.#openShare({ ...slot, account, due }),
    );
    if (opened.length > 0) this.#listener.onOpened(slot, opened.map(shareOf));
    for (const open of opened) for (const stored of this.#recent) this.#credit(stored, open);
  }

  #openShare(slot: BeginningSlot & { account: string }): OpenSlot {
    const open = this.#openedShare(slot);
    const { entry, unsettled } = open;
    const known = new Set(entry.due);
    const missed = new Set(entry.misses.map(([name]) => name));
    for (const name of new Set(slot.due)) {
      if (!known.has(name)) entry.due.push(name);
      if (!known.has(name) || missed.has(name) || unsettled.has(name))
        unsettled.set(name, (unsettled.get(name) ?? 0) + 1);
    }
    entry.misses = entry.misses.filter(([name]) => !unsettled.has(name));
    return open;
  }

  /** The share as it is, or one with nothing due yet. */
  #openedShare(slot: BeginningSlot & { account: string }): OpenSlot {
    const { job, slotAt, account } = slot;
    const shares = this.#open.get(slotKey(slot)) ?? new Map<string, OpenSlot>();
    const before = shares.get(account);
    const entry = before?.entry ?? { job, slotAt, ...asAccount(account), due: [], misses: [] };
    const open = { slot, entry, unsettled: before?.unsettled ?? new Map<string, number>() };
    this.#open.set(slotKey(slot), shares.set(account, open));
    return open;
  }

  /** The account in whose share each name is due: where it is due already, that one. */
  #shares(
    slot: Pick<BeginningSlot, "job" | "slotAt" | "delayed" | "ownerOf">,
    names: readonly string[],
  ): Map<string, string[]> {
    const owners = this.#owners;
    if (!owners) return new Map(names.length === 0 ? [] : [[DEFAULT_ACCOUNT, [...names]]]);
    const known = new Map(
      [...(this.#open.get(slotKey(slot)) ?? [])].flatMap(([account, { entry }]) =>
        entry.due.map((name): [string, string] => [name, account]),
      ),
    );
    const ownerOf = slot.ownerOf ?? owners.ownerOf;
    const shares = grouped(names, (name) => known.get(name) ?? ownerOf(name, slot.delayed));
    if (slot.ownerOf) return shares;
    for (const account of shares.keys())
      if (!this.#open.get(slotKey(slot))?.has(account) && !owners.isCalled(account)) shares.delete(account);
    return shares;
  }

  /** The contracts of chains whose price came late are due in place of what stood for them. */
  extend(slot: Slot, due: readonly string[], insteadOf: readonly string[]): void {
    const before = [...(this.#open.get(slotKey(slot))?.values() ?? [])];
    const [first] = before;
    if (!first) return;
    const changed = new Set<OpenSlot>();
    const shares = this.#shares(first.slot, due);
    for (const open of before) {
      const gone = new Set(insteadOf.filter((name) => open.unsettled.delete(name)));
      if (gone.size > 0) changed.add(open);
      open.entry.due = open.entry.due.filter((name) => !gone.has(name));
    }
    for (const [account, names] of shares) {
      const open = this.#openedShare({ ...first.slot, account });
      const known = new Set(open.entry.due);
      for (const name of names) if (!known.has(name)) open.unsettled.set(name, 1);
      open.entry.due = [...new Set([...open.entry.due, ...names])];
      changed.add(open);
    }
    if (changed.size > 0) this.#listener.onOpened(first.slot, [...changed].map(shareOf));
    for (const open of changed) this.#giveOut(open);
  }

  /** What became of instruments, at all the slots that want them; it counts where they are due and not settled yet. */
  settle(slots: Iterable<Slot>, names: readonly string[], fate: Fate): void {
    for (const slot of slots)
      for (const open of this.#open.get(slotKey(slot))?.values() ?? []) {
        settleShare(open, names, fate);
        this.#giveOut(open);
      }
  }

  /** Instruments whose quotes were asked for are stored at each slot that lasted then and wants them. */
  credit(stored: StoredNames): void {
    this.#recent = [...this.#recent.slice(1 - RECENT_ANSWERS), stored];
    for (const missed of this.#missed) this.#find(stored, missed);
    for (const shares of [...this.#open.values()])
      for (const open of [...shares.values()]) this.#credit(stored, open);
  }

  /** Remembers a slot that was noted as missed and never opened: answers to it may come all the same. */
  missed(slot: BeginningSlot): void {
    for (const [account, names] of this.#shares(slot, slot.due)) {
      const entry = { job: slot.job, slotAt: slot.slotAt, ...asAccount(account) };
      const missed = { slot, entry, names: new Set(names) };
      this.#missed.push(missed);
      for (const stored of this.#recent) this.#find(stored, missed);
    }
  }

  #find(stored: StoredNames, { slot, entry, names }: MissedShare): void {
    if (!isWithin(slot, stored)) return;
    const due = stored.names.filter((name) => names.delete(name));
    if (due.length > 0) this.#listener.onFound({ ...entry, due, misses: [] });
  }

  #credit(stored: StoredNames, open: OpenSlot): void {
    const { slot, entry, unsettled } = open;
    if (!isWithin(slot, stored)) return;
    const before = unsettled.size;
    for (const name of stored.names) unsettled.delete(name);
    if (entry.misses.length > 0) {
      const found = new Set(stored.names);
      entry.misses = entry.misses.filter(([name]) => !found.has(name));
    }
    if (unsettled.size < before) this.#giveOut(open);
  }

  /** Forgets the settled slots to which no answer is under way any more. */
  forget(nowMs: number): void {
    this.#missed = this.#missed.filter(({ slot }) => slot.deadlineMs + ANSWERED_WITHIN_MS > nowMs);
  }

  settleAll(reason: MissReason): void {
    const open = [...this.#open.values()].flatMap((shares) => [...shares.values()]);
    const entries = open.map(({ entry, unsettled }) => {
      for (const name of unsettled.keys()) entry.misses.push([name, reason]);
      return entry;
    });
    this.#open.clear();
    if (entries.length > 0) this.#listener.onSettled(entries);
  }

  #giveOut({ slot, entry, unsettled }: OpenSlot): void {
    if (unsettled.size > 0) return;
    const shares = this.#open.get(slotKey(slot));
    shares?.delete(entry.account ?? DEFAULT_ACCOUNT);
    if (shares?.size === 0) this.#open.delete(slotKey(slot));
    if (entry.misses.length > 0 && slot.deadlineMs < Infinity)
      this.#missed.push({ slot, entry, names: new Set(entry.misses.map(([name]) => name)) });
    if (entry.due.length > 0) this.#listener.onSettled([entry]);
  }
}

function asAccount(account: string): { account?: string } {
  return account === DEFAULT_ACCOUNT ? {} : { account };
}

/** A share as it is now: it goes on, and the note does not. */
function shareOf({ entry: { account, due } }: OpenSlot): Share {
  return { ...(account !== undefined && { account }), due: [...due] };
}

function settleShare({ entry, unsettled }: OpenSlot, names: readonly string[], fate: Fate): void {
  for (const name of names) {
    const outcomes = unsettled.get(name);
    if (outcomes === undefined) continue;
    if (fate !== "stored" && outcomes > 1) {
      unsettled.set(name, outcomes - 1);
      continue;
    }
    unsettled.delete(name);
    if (fate !== "stored") entry.misses.push([name, fate]);
  }
}

/** Whether an answer was asked for within a slot that wants such quotes. One without an end counts its own calls alone. */
function isWithin({ delayed, slotAt, deadlineMs }: BeginningSlot, stored: StoredNames): boolean {
  if (deadlineMs === Infinity) return false;
  return (
    delayed === stored.delayed && stored.firstAskedMs >= Date.parse(slotAt) && stored.askedMs < deadlineMs
  );
}

function slotKey({ job, slotAt }: Slot): string {
  return `${slotAt} ${job}`;
}

/**
 * What is due of each account: the owner of each instrument is settled before a slot is opened, and the ledger gets a note for
 * every slot that is opened or settled.
 */
import type { EpochTerms } from "../accounts/lease/agreement.ts";
import type { OwnerOf, Shares } from "../accounts/shares.ts";
import { type Clock, instantFromDate } from "../ground/clock.ts";
import { asShares, isOnceName, type LedgerNote, type SlotEntry } from "../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import type { Job } from "../schedule/readJobs.ts";
import { CLOCK_STEP_MS } from "../schedule/clockSteps.ts";
import type { ScheduledJob } from "../schedule/jobSchedule.ts";
import type { TickWindow } from "../schedule/ticker.ts";
import { type DueJob, dueNames, grouped, type Want, wantedOf } from "./asks.ts";
import { ownedOf, type PlannedCall, withoutNames } from "./callPlan.ts";
import type { ChainBook } from "./chainBook.ts";
import { underlyingBehind } from "./waitingChains.ts";
import { downtimeNotes, newestSlots } from "./downtime.ts";
import type { EarlierRuns } from "./earlierRuns.ts";
import { ANSWERED_WITHIN_MS, SlotBook } from "./slotBook.ts";

/** `lostMs`: for how long after the slot began nothing could be asked for it, in ms. */
export type SlotOfJob = ScheduledJob & { slot: Date; lostMs: number };

/** Finds what is stored of an account's share of a slot: names of what was asked for within its window. */
export type StoredIn = (share: {
  account: string;
  instruments: readonly string[];
  delayed: boolean;
  window: { from: Date; to: Date };
}) => Promise<ReadonlySet<string>>;

type DueSharesOptions = {
  clock: Clock;
  chains: ChainBook;
  shares: Shares | undefined;
  /** What several collectors have agreed on for the slots at an instant; null, and by default: this one decides alone. */
  agreedAt: ((at: Date) => EpochTerms | null) | undefined;
  onNote: (note: LedgerNote) => void;
  run: string;
};

type OpenedSlot = { asked: DueJob; names: number };

const NOTHING_STORED: ReadonlySet<string> = new Set();

export class DueShares {
  readonly #given: DueSharesOptions;
  readonly slots: SlotBook;
  /** Undefined: there is one account. */
  readonly ownerOf: OwnerOf | undefined;
  jobs: readonly ScheduledJob[] = [];
  /** What the runs before have asked; null when the first slots are open. */
  earlier: EarlierRuns | null = null;
  missed = 0;
  /** The first slot in which accounts that came while this ran have a share, epoch ms UTC; null: none yet. */
  readonly #sharesSinceMs = new Map<string, number | null>();

  constructor(given: DueSharesOptions) {
    const { shares, run, onNote } = given;
    this.#given = given;
    // A chain is due at the account that asks for the underlying's price and expirations.
    this.ownerOf = shares && ((name, delayed) => shares.ownerOf(underlyingBehind(name) ?? name, delayed));
    this.slots = new SlotBook(
      {
        onOpened: ({ job, slotAt, deadlineMs }, opened) => {
          const endsAt = deadlineMs === Infinity ? null : instantFromDate(new Date(deadlineMs));
          onNote({ type: "opened", run, job, slotAt, endsAt, ...asShares(opened) });
        },
        onSettled: (entries) => this.#note(entries),
        onFound: (entry) => {
          this.missed -= entry.due.length;
          this.#note([entry]);
        },
      },
      this.ownerOf && { ownerOf: this.ownerOf, isCalled: this.isCalled },
    );
  }

  /** Whether this collector calls an account, or no other one does: an account in no file counts as its own. */
  readonly isCalled = (account: string): boolean => this.#given.shares?.isElsewhere(account) !== true;

  get today(): string {
    return this.#given.chains.contractDate(this.#given.clock.now());
  }

  /** Settles the owner of each instrument that any job wants now, as agreed for the slots at an instant. */
  settleOwners(at = this.#given.clock.now(), today = this.today): void {
    const { shares, agreedAt, chains, clock } = this.#given;
    if (!shares) return;
    const agreed = agreedAt?.(at) ?? null;
    shares.agree(agreed?.accounts ?? null);
    chains.useAgreed(agreed?.prices ?? null);
    const wanted = this.jobs.map(({ job }) => {
      const { contracts, pending } = chains.expand(job, today, agreed !== null);
      const waiting = pending.flatMap((name) => underlyingBehind(name) ?? []);
      const symbols = waiting.length === 0 ? job.symbols : [...job.symbols, ...waiting];
      return { job, symbols, contracts };
    });
    shares.settle(wanted, wantedOf, clock.monotonicMs());
  }

  /** Slots by what was agreed on when they began, each group with its newest slot; the oldest group first. */
  byAgreement(due: readonly SlotOfJob[]): { at: Date; due: SlotOfJob[] }[] {
    const groups = grouped(due, ({ slot }) => this.#given.agreedAt?.(slot)?.number);
    return Array.from(groups.values(), (agreed) => ({
      at: new Date(Math.max(...agreed.map(({ slot }) => +slot))),
      due: agreed,
    })).sort((one, other) => +one.at - +other.at);
  }

  beginSharing(accounts: Iterable<string>): void {
    for (const account of accounts) this.#sharesSinceMs.set(account, null);
  }

  /** Notes, before slots are opened, which accounts have their first share in them. */
  noteFirstShares(slots: readonly SlotOfJob[]): void {
    for (const [account, since] of this.#sharesSinceMs)
      if (since === null && this.#given.shares?.takesPart(account))
        this.#sharesSinceMs.set(account, Math.min(...slots.map(({ slot }) => +slot)));
  }

  /** The slots that last. @param account default: any; a slot that began before the account shared the jobs has no share of it */
  lasting(now: Date, account?: string): SlotOfJob[] {
    const since = account === undefined ? undefined : this.#sharesSinceMs.get(account);
    const sinceMs = since === undefined ? -Infinity : (since ?? Infinity);
    return this.jobs.flatMap((scheduled) => {
      const slot = scheduled.schedule.current(now);
      return slot && +slot >= sinceMs ? [{ ...scheduled, slot, lostMs: +now - +slot }] : [];
    });
  }

  /** The slots that last at an instant, or the newest of those that became due in a window; the others are noted as passed. */
  slotsAt(at: Date | TickWindow): SlotOfJob[] {
    if (at instanceof Date) return this.lasting(at);
    const { after, until } = at;
    return this.jobs.flatMap((scheduled) => {
      const { schedule } = scheduled;
      const slots = newestSlots(schedule, after, until);
      const newest = slots.at(-1);
      const lasts = newest && schedule.endOf(newest).deadlineMs > until.getTime();
      // The slots that are over were slept through, or left out by the clock: they are not polled behind time.
      this.#noteDown(scheduled, lasts ? slots.slice(0, -1) : slots);
      if (!lasts) return [];
      const lateMs = until.getTime() - newest.getTime();
      return [{ ...scheduled, slot: newest, lostMs: lateMs < CLOCK_STEP_MS ? 0 : lateMs }];
    });
  }

  storedOf({ job, schedule, slot }: SlotOfJob, account: string, storedIn: StoredIn): ReturnType<StoredIn> {
    const { contracts } = this.#given.chains.expand(job, this.today);
    const names = dueNames({ job, symbols: job.symbols, contracts });
    const instruments = names.filter((name) => this.ownerOf?.(name, job.delayed) === account);
    const window = { from: slot, to: new Date(schedule.endOf(slot).deadlineMs) };
    return storedIn({ account, instruments, delayed: job.delayed, window });
  }

  /** Opens an account's share of a slot that lasts; null: the slot is over, or its share is open already. */
  openShare(scheduled: SlotOfJob, account: string, stored = NOTHING_STORED): OpenedSlot | null {
    const { job, schedule, slot } = scheduled;
    if (!this.jobs.some((one) => one.job === job)) return null;
    if (schedule.endOf(slot).deadlineMs <= this.#given.clock.now().getTime()) return null;
    if (this.slots.isOpen({ job: job.name, slotAt: instantFromDate(slot) }, account)) return null;
    return this.open(scheduled, this.today, { account, stored });
  }

  /**
   * Opens a job's slot in the ledger.
   *
   * @param share the account whose share alone is opened, and what it has already; default: all shares
   */
  open(
    { job, schedule, slot, lostMs }: SlotOfJob,
    today: string,
    share?: { account: string; stored: ReadonlySet<string> },
  ): OpenedSlot {
    const { chains } = this.#given;
    const isIn = (name: string): boolean => !share || this.ownerOf?.(name, job.delayed) === share.account;
    const dueSlot = { job, slotAt: instantFromDate(slot), ...schedule.endOf(slot) };
    const { deadlineMs } = dueSlot;
    const { contracts, unlisted, ...lacks } = chains.expand(job, today);
    const [pending, broken, priceless] = [lacks.pending, lacks.broken, lacks.priceless].map((names) =>
      names.filter(isIn),
    ) as [string[], string[], string[]];
    const lists = unlisted.filter(({ underlying }) => isIn(underlying));
    const due = { ...dueSlot, symbols: job.symbols, contracts };
    const ledgerSlot = { job: job.name, slotAt: due.slotAt };
    const earlier = this.earlier?.storedWithin(job, slot.getTime(), deadlineMs);
    const stored = share?.stored ?? earlier ?? NOTHING_STORED;
    const names = [...dueNames(due).filter(isIn), ...pending, ...broken];
    this.slots.open({ ...ledgerSlot, deadlineMs, delayed: job.delayed, due: names, lostMs });
    this.slots.settle([ledgerSlot], [...stored], "stored");
    this.slots.settle([ledgerSlot], broken, "malformed");
    chains.await({ due: dueSlot, chains: job.chains }, pending, today);
    // The job's own list where it is all: slots that share it are taken apart once.
    const symbols = priceless.length === 0 ? job.symbols : [...new Set([...job.symbols, ...priceless])];
    const all = { ...due, symbols, contracts: lists.length === 0 ? contracts : [...contracts, ...lists] };
    const [own] = share ? ownedOf([all], isIn) : [all];
    const asked = withoutNames(own ?? { ...due, symbols: [], contracts: [] }, stored);
    return { asked, names: names.length };
  }

  #noteDown({ job, schedule }: ScheduledJob, slots: readonly Date[]): void {
    if (slots.length === 0) return;
    const past = slots.map((slotAt) => ({ slotAt, stored: NOTHING_STORED }));
    const shares = Array.from(this.#sharesOf(job), ([account, due]) => ({ account, due })).filter(
      ({ account }) => this.isCalled(account),
    );
    this.missed += slots.length * shares.reduce((sum, { due }) => sum + due.length, 0);
    if (shares.length > 0) downtimeNotes(job.name, shares, past).forEach(this.#given.onNote);
    // A call that was let go for the slot before may have been asked for within them.
    const due = shares.flatMap((share) => share.due);
    const answeredSinceMs = this.#given.clock.now().getTime() - ANSWERED_WITHIN_MS;
    for (const slot of slots.toReversed()) {
      const { deadlineMs } = schedule.endOf(slot);
      if (deadlineMs <= answeredSinceMs) break;
      const { name, delayed } = job;
      this.slots.missed({ job: name, slotAt: instantFromDate(slot), deadlineMs, delayed, due });
    }
  }

  shareOf(job: Job, account: string): readonly string[] {
    return this.#sharesOf(job).get(account) ?? [];
  }

  #sharesOf(job: Job): Map<string, string[]> {
    const { contracts, pending, broken } = this.#given.chains.expand(job, this.today);
    const due = [...dueNames({ job, symbols: job.symbols, contracts }), ...pending, ...broken];
    return grouped(due, (name) => this.ownerOf?.(name, job.delayed) ?? DEFAULT_ACCOUNT);
  }

  /** A note for each account: the market that it calls may be another one. */
  #note(entries: readonly SlotEntry[]): void {
    this.missed += entries.reduce((sum, { job, misses }) => sum + (isOnceName(job) ? 0 : misses.length), 0);
    for (const own of grouped(entries, ({ account }) => account).values())
      this.#given.onNote({ type: "slots", run: this.#given.run, entries: own });
  }
}

/**
 * The owners for a plan of what is due together with what waits. What waits at an account that has gone to another collector is
 * kept by the account: the other collector asks for it from the next slot on. Under an agreement all that waits is kept: who
 * takes the account over within the slot asks for all of its share.
 *
 * @param isOpen whether an account is called here
 * @returns `lost`: wishes for names that another collector asks for
 */
export function keepWaiting(
  waiting: readonly PlannedCall[],
  ownerOf: OwnerOf,
  {
    isCalled,
    isOpen,
    isAgreed,
  }: Record<"isCalled" | "isOpen", (account: string) => boolean> & { isAgreed: boolean },
): { ownerOf: OwnerOf; lost: { name: string; wants: readonly Want[] }[] } {
  const kept = new Map<string, string>();
  const lost: { name: string; wants: readonly Want[] }[] = [];
  for (const { account, call, wants: byName } of waiting)
    for (const [name, wants] of byName) {
      const isOurs = isCalled(ownerOf(name, call.delayed));
      if (account !== null && isOpen(account)) {
        if (!isOurs || isAgreed) kept.set(`${call.delayed} ${name}`, account);
      } else if (!isOurs) lost.push({ name, wants });
    }
  const keptOwnerOf: OwnerOf = (name, delayed) => kept.get(`${delayed} ${name}`) ?? ownerOf(name, delayed);
  return { ownerOf: kept.size === 0 ? ownerOf : keptOwnerOf, lost };
}

/**
 * Accounts for the slots of this collector's accounts that other runs left open, or that passed while nobody called: when it
 * begins with an account, and each minute for what a journal that comes late leaves open. What its own journal brings late
 * it accounts for itself, whoever has called the account since.
 */
import type pg from "pg";
import type { Loader } from "../archive/load/loader.ts";
import { isAnyOpen } from "../archive/ledger/knownShares.ts";
import { type Clock, dateOf } from "../ground/clock.ts";
import type { DueShares } from "../collect/dueShares.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import type { Log } from "../ground/log.ts";
import type { NoteWriter } from "./ledgerNotes.ts";
import type { RunMarker } from "./runMarker.ts";
import {
  accountForDowntime,
  accountForLate,
  accountForLeftOpen,
  type Gap,
  type Span,
} from "./pastSlotNotes.ts";

type SettlerOptions = {
  /** The accounts that this collector calls now: of all others the open slots are somebody else's. */
  mine: () => readonly string[];
  sources: () => ReadonlySet<LedgerSource>;
  loader: Pick<Loader, "drain" | "takeLate">;
  collector: Pick<DueShares, "jobs" | "shareOf">;
  notes: NoteWriter;
  /** Told when the ledger has no gaps any more. */
  unsettled: Pick<RunMarker, "settle">;
  run: string;
  clock: Pick<Clock, "now" | "sleep">;
  log: Log;
};

/** The wait before the slots of a downtime are looked up again, when the database did not let us, in ms. */
const SETTLE_AGAIN_MS = 30_000;

/** How often it is looked whether a journal that came late has left slots open, in ms. */
const LOOK_EVERY_MS = 60_000;

/**
 * For how long after an account was taken the slots before are looked through again, in ms: the first ones that another
 * collector has begun may be loaded so late.
 */
const LOADED_LATER_MS = 150_000;

/** When this collector began with accounts, and since when their ledger may have gaps. */
type Beginning = { at: Date; since: Date };

/** Settles until it is closed; nothing before accounts are taken. */
export class Settler {
  readonly #pool: pg.Pool;
  readonly #settling: SettlerOptions;
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #begun = new Map<string, Beginning>();
  /** Those of them that are not accounted for yet. */
  readonly #fresh = new Set<Beginning>();
  /** Whether the start's marker says that the ledger may have gaps. */
  #isUnsettled = false;
  /** The time in which lie the slots that late answers may be of. */
  #late: Span | null = null;
  #working: Promise<void> | null = null;

  constructor(pool: pg.Pool, settling: SettlerOptions) {
    this.#pool = pool;
    this.#settling = settling;
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS);
  }

  /**
   * This collector begins to call these accounts, which are `mine` by now: their slots that are over and not in the ledger
   * are noted as down, but for what is stored. Returns at once.
   *
   * @param since an earlier start, of a run that was killed before it had accounted for what lies before it
   * @param at since when it calls them: the slot that lasted then, and those after it, are its own. Default: now
   */
  began(accounts: readonly string[], since: Date | null, at: Date = this.#settling.clock.now()): void {
    const begun = { at, since: since ?? at };
    for (const account of accounts) this.#begun.set(account, begun);
    this.#fresh.add(begun);
    this.#isUnsettled = true;
    void this.look();
  }

  /** Settles what others have left open of `mine` by now; it does so each minute by itself. Never rejects. */
  look(): Promise<void> {
    return (this.#working ??= this.#work().finally(() => (this.#working = null)));
  }

  /** Ends the attempts; resolves when what is under way has ended. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { clock, log } = this.#settling;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#settle();
      } catch (error) {
        // What only came late is looked for again in a minute.
        if (this.#fresh.size === 0) return;
        log.warn(
          { reason: (error as Error).message },
          "the slots missed while nothing ran are not in the ledger yet; it is tried again",
        );
        await clock.sleep(SETTLE_AGAIN_MS, signal).catch(() => undefined);
      }
      if (this.#fresh.size === 0) return;
    }
  }

  async #settle(): Promise<void> {
    const { mine, sources, collector, notes, unsettled, run, clock } = this.#settling;
    const fresh = [...this.#fresh];
    const isYoung = (begun: Beginning): boolean =>
      fresh.includes(begun) || +clock.now() - +begun.at < LOADED_LATER_MS;
    const all = [...new Set(this.#begun.values())];
    const young = all.filter(isYoung);
    // The slots that this run has opened are its own, also where an earlier one had opened them.
    if (young.length > 0) await this.#loaded();
    const [accounts, markets] = [mine(), [...sources()]];
    const polled = { jobs: collector.jobs, accounts };
    let late = false;
    for (const source of markets)
      for (const note of await accountForLeftOpen(this.#pool, { ...polled, source, now: clock.now(), run })) {
        notes.write(note);
        late = true;
      }
    if (late) await this.#loaded();
    // A journal that came late may also have told for the first time what is due.
    for (const begun of late ? all : young) {
      const its = accounts.filter((account) => this.#begun.get(account) === begun);
      for (const source of markets) {
        const gap: Gap = {
          ...polled,
          source,
          accounts: its,
          startedAt: begun.at,
          since: begun.since,
          shareOf: (job, account) => collector.shareOf(job, account),
        };
        (await accountForDowntime(this.#pool, gap)).forEach(notes.write);
      }
    }
    await this.#settleLate(markets);
    await notes.flush();
    for (const begun of fresh) this.#fresh.delete(begun);
    // Another note may be under way at this moment, or the journal full: the next look settles it.
    if (!this.#isUnsettled || notes.waiting() > 0) return;
    await unsettled.settle();
    this.#isUnsettled = false;
  }

  /** Slots that are open yet are looked at again, a minute later: whoever settles them may know nothing of the answers. */
  async #settleLate(markets: readonly LedgerSource[]): Promise<void> {
    const { loader, collector, notes, clock } = this.#settling;
    const first = loader.takeLate();
    if (first !== null) {
      const since = Math.min(+dateOf(first), +(this.#late?.from ?? Infinity));
      this.#late = { from: new Date(since), to: clock.now() };
    }
    if (this.#late === null) return;
    const isOpen = await isAnyOpen(this.#pool, this.#late);
    for (const source of markets)
      for (const note of await accountForLate(this.#pool, { source, jobs: collector.jobs, ...this.#late }))
        notes.write(note);
    if (!isOpen) this.#late = null;
  }

  async #loaded(): Promise<void> {
    await this.#settling.notes.flush();
    await this.#settling.loader.drain();
  }
}

/**
 * The lease of an account: which collector calls it. Read first.
 *
 * WORDS (docs/glossary.md has them too)
 * - lease: the right to call an account; its *holder* is the collector that has it, its *fence* counts how often it was acquired.
 * - claim: the question to the database by which a lease is *acquired*: it was free, released, or expired.
 * - renew: the holder says in each *round* (2 s) that it lives. A *look* asks the same and changes nothing.
 * - release: the holder gives its leases back at its end. It *hands over* one, with what is known of the account's budget, where
 *   another collector has too few.
 * - take over: to acquire a lease whose holder was not heard of for 7 s.
 * - presume: to hold an account without a grant, because the database does not answer and no other collector can run.
 * - lose: another collector has acquired the lease, or the database was set back to a time before the grant.
 * - epoch: what all collectors have agreed on, from an instant on: see `agreement.ts`.
 *
 * STATES of an account, for this collector (`heldLeases.ts`)
 *   another's or free -> held (granted or presumed) -> lost, or handed over and released.
 * A held account is called as long as the rounds allow it: see `leaseTrust.ts`. After a round without an answer in time the
 * collector is *unsure*, if there are others: calls go on with care, because what is not polled is gone, and the collector cannot
 * know whether it alone is cut off. A process that stood still asks first; without an answer it listens for a window first.
 *
 * Where the service wants a person's login, an account belongs to the collector on whose machine somebody has logged in to it: that
 * one claims it at once, and the others leave it or hand it over. Where nobody has, it is shared like any other.
 *
 * A collector that is alone holds all accounts, and calls them as if there were no leases. Each question to the database is one
 * round trip with a limit of time of its own. Rounds never wait for one another, nor for claims.
 */
import { atMost, type Clock } from "../../ground/clock.ts";
import type { QuotekeeperError } from "../../ground/errors.ts";
import type { Log } from "../../ground/log.ts";
import { type EpochTerms, agreedIn, FilesInForce } from "./agreement.ts";
import type { Acquisition, Caller } from "./caller.ts";
import type { FilesReport } from "./filesDigest.ts";
import { FleetReport } from "./fleetReport.ts";
import { HeldLeases } from "./heldLeases.ts";
import type { KnownLeases } from "./leaseFile.ts";
import { LOOK_EVERY_MS, ROUND_EVERY_MS } from "./leaseRules.ts";
import type { LeaseStore, Self } from "./leaseStore.ts";
import { succeedsWithin } from "./leaseQuestions.ts";
import { Rounds } from "./rounds.ts";

type FleetOptions = {
  store: LeaseStore;
  clock: Clock;
  /** `id` is that of `known`. */
  self: Self;
  /** Runs on this data directory that are surely dead. */
  dead: readonly string[];
  /** Called once, when no later run has to know of them; never rejects. */
  forgetDead: () => Promise<void>;
  known: KnownLeases;
  persist: (known: KnownLeases) => void;
  files: FilesReport;
  address: string;
  log: Log;
  close: () => Promise<void>;
};

/** How long an end waits for the database to hear that the leases are released, in ms. */
const RELEASE_MS = 800;

/** This collector's membership in the fleet: which accounts it holds, and whether it may call them now. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #files: FilesInForce;
  readonly #leases: HeldLeases;
  readonly #rounds: Rounds;
  readonly #report: FleetReport;
  readonly #ended = new AbortController();
  /** Aborted when nothing more is acquired. */
  readonly #ending = new AbortController();
  #caller: Caller | null = null;
  #wake = new AbortController();
  #persisted: KnownLeases | null = null;
  #acting: Promise<void> | null = null;
  /** Resolves with the error to end with: another process is this collector, or the files differ from the others'. */
  readonly lost: Promise<QuotekeeperError>;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#files = new FilesInForce(options.files);
    let lose: (error: QuotekeeperError) => void = () => undefined;
    this.lost = new Promise((resolve) => (lose = resolve));
    this.#rounds = new Rounds({
      ...options,
      files: () => this.#files.newest,
      leases: () => this.#leases,
      caller: () => this.#caller,
      onLook: () => void this.#act(),
      onRound: () => this.#persist(),
      onLost: lose,
      ended: this.#ended.signal,
    });
    this.#leases = new HeldLeases({
      ...options,
      watch: this.#rounds.watch,
      own: () => this.#rounds.own,
      wanted: () => this.#files.accounts,
      joinedAtMs: () => this.#rounds.joinedAtMs,
      onLost: lose,
      onRestored: () => (this.#rounds.joined = false),
    });
    const [files, leases, rounds] = [this.#files, this.#leases, this.#rounds];
    this.#report = new FleetReport({ ...options, files, leases, rounds });
  }

  /**
   * Joins, where the database answers, and claims what is free. Leases are renewed from now on: to open a journal may take
   * longer than a lease lasts.
   *
   * @param patienceMs how long a database is waited for, in ms, that may know of others: one that has just answered is slow. A
   *   collector that was alone when it ended does not wait for a slow one
   * @returns the accounts to begin with
   * @throws QuotekeeperError COLLECTOR_DIFFERS
   */
  async join(patienceMs = 0): Promise<Map<string, Acquisition>> {
    const { clock, log } = this.#options;
    const { number, others, held } = this.#rounds.known;
    const wasAlone = number !== null && !others;
    // Others call the accounts meanwhile: nothing is lost by asking for the accounts for twice as long.
    const untilMs = clock.monotonicMs() + (wasAlone ? 0 : others ? 2 * patienceMs : patienceMs);
    const joining = this.#keepJoining(untilMs);
    const ends = new Promise((resolve) =>
      this.#ending.signal.addEventListener("abort", resolve, { once: true }),
    );
    const joinedOrEnds = Promise.race([joining, ends]);
    if (!(await succeedsWithin(joinedOrEnds, clock)) && clock.monotonicMs() < untilMs) {
      const forMs = untilMs - clock.monotonicMs();
      log.info(
        { forMs },
        "the database has not said yet which accounts are free: no call is made before it has, or before the wait is over",
      );
      await succeedsWithin(joinedOrEnds, clock, forMs);
    }
    if (this.#rounds.differs) throw this.#rounds.differs;
    if (!this.#rounds.joined) {
      // A collector that has never seen others holds all accounts. Another one goes on with its own, and listens first.
      for (const { name } of this.#options.files.accounts)
        if (!this.#leases.has(name) && (!others || held.includes(name))) this.#leases.presume(name, others);
      this.#rounds.setFailed(true);
    }
    this.#persist();
    const early = this.#leases.early();
    void this.#run();
    return early;
  }

  /** Never rejects. */
  async #keepJoining(untilMs: number): Promise<void> {
    const { clock } = this.#options;
    while (!this.#ending.signal.aborted && !this.#rounds.differs) {
      try {
        await this.#rounds.register();
        // Of two that come at the same moment at least one sees the other, which has registered before.
        await this.#rounds.look();
        await this.#leases.claim(this.#leases.claimable());
        return;
      } catch {
        if (clock.monotonicMs() + LOOK_EVERY_MS >= untilMs) return;
      }
      await clock.sleep(LOOK_EVERY_MS, this.#ended.signal).catch(() => undefined);
    }
  }

  /** Acquires and hands over from now on, until `release`. */
  begin(caller: Caller): void {
    this.#caller = caller;
    if (this.#rounds.known.number !== null) caller.useNumber(this.#rounds.known.number);
    if (this.isUnsure) caller.beUnsure(true);
    this.#leases.begin(caller);
  }

  /** The files have changed. Other collectors must have the same before they are in force. @param use begins to use them */
  async useFiles(files: FilesReport, use: () => Promise<void>): Promise<void> {
    if (this.agreedAt(this.#options.clock.now()) === null) {
      await this.#files.use(files, use);
      return this.#wake.abort();
    }
    this.#files.useLater(files, use);
    this.#options.log.info({}, "the files before stay in force until all collectors have the new ones");
  }

  get isUnsure(): boolean {
    return this.#rounds.isUnsure;
  }

  get held(): string[] {
    return this.#leases.names;
  }

  get state(): FleetReport["state"] {
    return this.#report.state;
  }

  /**
   * Waits, before a call, until a process that stood still knows whether it still holds the account.
   *
   * @param signal the call's own: nobody waits for it any more
   * @returns whether the call may leave, to be asked at the very moment in which it would
   * @throws QuotekeeperError LEASE_UNSURE when the account is no longer this collector's, or others must be listened for first
   */
  confirm(account: string, signal: AbortSignal): Promise<() => boolean> {
    return this.#rounds.confirm(account, signal);
  }

  mayCall(account: string): boolean {
    return this.#leases.mayCall(account);
  }

  /** What the collectors have agreed on for the slots at an instant; null: this one is alone. */
  agreedAt(at: Date): EpochTerms | null {
    const { known, isAlone, epochs } = this.#rounds;
    return !known.others || isAlone ? null : agreedIn(epochs, at);
  }

  /** Acquires nothing more, because the process ends; renews what is held until `release`. A wait in `join` is over. */
  stopAcquiring(): void {
    this.#leases.end();
    this.#ending.abort();
  }

  /** Releases all leases, because the process ends. @returns whether the database knows; never throws */
  async release(): Promise<boolean> {
    const { clock, store, self, close, persist } = this.#options;
    this.stopAcquiring();
    this.#ended.abort();
    this.#wake.abort();
    await this.#leases.endClaim();
    let known = !this.#rounds.joined;
    if (!known) {
      const journalLag = this.#caller?.journalLag() ?? null;
      const releasing = store.release(self, this.#leases.granted, { journalLag }).then(
        () => (known = true),
        () => undefined,
      );
      await atMost(RELEASE_MS, releasing, clock);
    }
    // The names of what was held stay in the file, for a start without the database.
    if (this.#persisted) persist({ ...this.#persisted, unsureSince: null, uncalled: {} });
    for (const account of this.held) this.#leases.drop(account);
    await close();
    return known;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    let roundAtMs = clock.monotonicMs() + ROUND_EVERY_MS;
    while (!signal.aborted) {
      // A look may be answered where a round, which writes, is not.
      const wants =
        this.#rounds.failed || this.#leases.presumed.length > 0 || this.#leases.claimable().length > 0;
      const untilRoundMs = roundAtMs - clock.monotonicMs();
      const waitMs = wants ? Math.min(LOOK_EVERY_MS, untilRoundMs) : untilRoundMs;
      this.#wake = new AbortController();
      await clock.sleep(Math.max(1, waitMs), this.#wake.signal).catch(() => undefined);
      if (signal.aborted) return;
      if (clock.monotonicMs() >= roundAtMs) {
        roundAtMs = clock.monotonicMs() + ROUND_EVERY_MS;
        void this.#rounds.round();
      } else void this.#rounds.look();
      if (!this.#rounds.watch.view.look) continue;
      this.#rounds.known.uncalled = this.#report.update();
      this.#persist();
    }
  }

  /** Does what the newest look asks for: one thing after the other. Never rejects. */
  #act(): Promise<void> {
    return (this.#acting ??= this.#doAct()
      .catch(() => undefined)
      .finally(() => (this.#acting = null)));
  }

  async #doAct(): Promise<void> {
    const leases = this.#leases;
    const { clock } = this.#options;
    // At the end calls of presumed accounts may be under way: only these are claimed.
    const isAcquiring = (): boolean => this.#caller !== null && !this.#ending.signal.aborted;
    if (isAcquiring()) await this.#files.useAgreed(this.#rounds, clock, this.#ended.signal);
    const free = isAcquiring() ? leases.claimable() : [];
    await leases.claim([...leases.presumed, ...free]);
    if (!isAcquiring()) return;
    leases.handOverSurplus();
    await this.#rounds.propose();
  }

  #persist(): void {
    const now = { ...this.#rounds.known, held: this.#leases.names };
    if (JSON.stringify(now) === JSON.stringify(this.#persisted)) return;
    this.#persisted = now;
    this.#options.persist(now);
  }
}

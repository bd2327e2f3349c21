/**
 * This collector among those that share an archive: which accounts it calls, and when it no longer may.
 *
 * An account is another's or free -> held -> leaving (it is given back) or lost. A held account is called as long as the rounds
 * allow it: see `accounts/leaseTrust.ts`. After a round without an answer in time the collector is unsure, if there are others:
 * it goes on with care, because what is not polled is gone, and it cannot know whether it alone is cut off. A process that stood
 * still asks first, and where it is not answered it listens for a window first.
 *
 * One collector alone has all accounts, and calls them as if there were no leases: where the database does not answer a claim
 * in time, the account is presumed to be its own, and the answer is believed whenever it comes.
 *
 * Each question to the database is one round trip, with a limit of time of its own. Rounds never wait for one another, nor for
 * claims: a slow database answers late, and each answer counts as of the instant its question was sent.
 */
import {
  BeatWatch,
  ClockOffset,
  elapsedMs,
  epochFromMs,
  LEASE_MS,
  LOOK_EVERY_MS,
  type Moment,
  quotas,
  ROUND_EVERY_MS,
  TRUSTED_MS,
} from "../accounts/lease.ts";
import { LeaseTrust, type Question } from "../accounts/leaseTrust.ts";
import type {
  Epoch,
  Granted,
  HeldLease,
  Knows,
  LeaseStore,
  Look,
  SeenCollector,
  SeenLease,
  Self,
  Telling,
} from "../archive/ledger/leaseRows.ts";
import { atMost, type Clock, settledOrAborted } from "../clock.ts";
import type { Agreed } from "../collect/collector.ts";
import { QuotekeeperError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { LiveFleet } from "../web/api/types.ts";
import { AccountCallers } from "./accountCallers.ts";
import { type FilesSaid, whatDiffers } from "./filesDigest.ts";
import type { KnownLeases } from "./leaseFile.ts";

/** How an account came to this collector. `granted` null: nobody could be asked. */
export type Taken = { granted: Granted | null; listens: boolean };

/** Who calls the accounts that are held. */
export type Holder = {
  take: (account: string, taken: Taken) => Promise<void>;
  /** Resolves when nothing of it is under way. */
  leave: (account: string) => Promise<void>;
  /** What is known of an account's budget: plain JSON. */
  handOver: (account: string) => unknown;
  beUnsure: (unsure: boolean) => void;
  /** Listens for a window, before the next call of each account, whether another collector calls it. */
  listen: () => void;
  knows: () => Knows;
  journalLag: () => number | null;
  /** Told the number that no other collector has. */
  beNumber: (number: number) => void;
};

/** What a collector joins with. */
type Joining = {
  store: LeaseStore;
  clock: Clock;
  /** `id` is that of `known`. */
  self: Self;
  /** Runs on this data directory that are surely dead. */
  dead: readonly string[];
  /** Told once, when no later run has to know of them; never rejects. */
  forgetDead: () => Promise<void>;
  known: KnownLeases;
  keep: (known: KnownLeases) => void;
  files: FilesSaid;
  /** Where the archive is, for messages. */
  address: string;
  log: Log;
  /** Closes what the store is reached through. */
  close: () => Promise<void>;
};

/**
 * When an answer is late, in ms: before the next round, and before others reckon that this collector goes on as one that is
 * unsure (`SURE_MS` in `collect/governor/handover.ts`).
 */
const ANSWER_MS = 1_900;

/** How long the database's answer is waited for, in ms: a lease that was asked for longer ago is not trusted anyway. */
const ANSWER_TOO_LATE_MS = TRUSTED_MS;

/** How long a call that waits for its account lets the database rest between two questions, in ms. */
const ASK_AGAIN_MS = 50;

/** Longest waits at an end, in ms: for claims under way, and for the database to hear that the leases are given back. */
const CLAIM_GRACE_MS = 200;
const RELEASE_MS = 800;

/** How long a free account is left to those who have too few, in ms; and for how many looks somebody has too few. */
const LEFT_TO_OTHERS_MS = 4_000;
const LOOKS_BEFORE_GIVING = 2;

/** One that was not seen for so long is gone, in ms. */
const GONE_AFTER_MS = 60_000;

/** How long a collector that was not seen counts as one that may come back: then one is not alone, in ms. */
const REMEMBERED_MS = 86_400_000;

type Held = { fence: number | null; leaving: boolean };

/** This collector's membership in the fleet. */
export class Fleet {
  readonly #options: Joining;
  readonly #held = new Map<string, Held>();
  readonly #trust: LeaseTrust;
  readonly #clockOffset = new ClockOffset();
  readonly #leases = new BeatWatch();
  readonly #collectors = new BeatWatch();
  readonly #freeSince = new Map<string, number>();
  /** Runs of this collector's own id that a database that was set back still names. */
  readonly #past = new Set<string>();
  readonly #callers: AccountCallers;
  readonly #ended = new AbortController();
  readonly #leaves = new AbortController();
  #holder: Holder | null = null;
  /** What the files say, what is gone by, and what is to be gone by. */
  #files: FilesSaid;
  #inForce: FilesSaid;
  #waiting: { files: FilesSaid; use: () => Promise<void> } | null = null;
  #wake = new AbortController();
  #known: KnownLeases;
  /** The same as it was kept last. */
  #kept: KnownLeases | null = null;
  #look: Look | null = null;
  /** When the question was sent that `#look` answers, on the monotonic clock, in ms. */
  #lookedAtMs = -Infinity;
  #epochs: readonly Epoch[] = [];
  #takeOvers = 0;
  #failed = false;
  /** The round that was sent last, until it was answered or its answer is late. */
  #rounding: Promise<void> | null = null;
  #entering: Promise<void> | null = null;
  #looking: Promise<void> | null = null;
  #acting: Promise<void> | null = null;
  /** The claim under way: resolves when it was answered, or failed. */
  #claiming: Promise<void> | null = null;
  /** Accounts that came before `begin`, and the names of those that `join` has given. */
  readonly #come = new Map<string, Taken>();
  #joinedWith: readonly string[] = [];
  #tooMany = 0;
  #joined = false;
  /** When it was answered that this collector is registered, on the monotonic clock, in ms. */
  #joinedAtMs = Infinity;
  #hasForgotten = false;
  #ending = false;
  /** COLLECTOR_DIFFERS, once that is known. */
  #differs: QuotekeeperError | null = null;
  #lose: (error: QuotekeeperError) => void = () => undefined;
  /** Resolves with the error to end with: another process is this collector, or the files differ from the others'. */
  readonly lost = new Promise<QuotekeeperError>((resolve) => (this.#lose = resolve));

  constructor(options: Joining) {
    this.#options = options;
    this.#files = options.files;
    this.#inForce = options.files;
    // That of a run before, which was killed, says nothing of this one.
    this.#known = { ...options.known, unsureSince: null, uncalled: {} };
    this.#epochs = options.known.epochs;
    this.#trust = new LeaseTrust(this.#now());
    this.#callers = new AccountCallers(options);
  }

  /**
   * Joins, where the database answers, and claims what is free. Leases are renewed from now on: to open a journal may take
   * longer than a lease holds.
   *
   * @param patienceMs how long a database is waited for, in ms, that may know of others: one that has just answered is slow. A
   *   collector that was alone when it ended does not wait for a slow one
   * @returns the accounts to begin with
   * @throws QuotekeeperError COLLECTOR_DIFFERS
   */
  async join(patienceMs = 0): Promise<Map<string, Taken>> {
    const { clock, log } = this.#options;
    const { number, others, held } = this.#known;
    const wasAlone = number !== null && !others;
    // Others call the accounts meanwhile: nothing is lost by asking them for twice as long.
    const untilMs = clock.monotonicMs() + (wasAlone ? 0 : others ? 2 * patienceMs : patienceMs);
    const joining = this.#keepJoining(untilMs);
    const ends = new Promise((resolve) =>
      this.#leaves.signal.addEventListener("abort", resolve, { once: true }),
    );
    const joinedOrEnds = Promise.race([joining, ends]);
    if (!(await this.#within(ANSWER_MS, joinedOrEnds)) && clock.monotonicMs() < untilMs) {
      log.info(
        { forMs: untilMs - clock.monotonicMs() },
        "the database has not said yet which accounts are free: no call is made before it has, or before the wait is over",
      );
      await this.#within(untilMs - clock.monotonicMs(), joinedOrEnds);
    }
    if (this.#differs) throw this.#differs;
    if (!this.#joined) {
      // A collector that has never seen others has all accounts; another one goes on with its own, and listens first.
      for (const { name } of this.#files.accounts)
        if (!this.#held.has(name) && (!others || held.includes(name))) this.#presume(name, others);
      this.#setFailed(true);
    }
    this.#keepFile();
    this.#joinedWith = [...this.#come.keys()];
    void this.#run();
    return new Map(this.#come);
  }

  /** Enters, and claims what is free; tries again where that fails. Never rejects. */
  async #keepJoining(untilMs: number): Promise<void> {
    const { clock } = this.#options;
    while (!this.#ending && !this.#differs) {
      try {
        await this.#enter();
        // Of two that come at the same moment one at least sees the other, who has registered before.
        await this.#lookOnce();
        if (await this.#claim(this.#mayTake(this.#alive()))) await this.#forgetDead();
        return;
      } catch {
        if (clock.monotonicMs() + LOOK_EVERY_MS >= untilMs) return;
      }
      await clock.sleep(LOOK_EVERY_MS, this.#ended.signal).catch(() => undefined);
    }
  }

  /** Takes and gives back from now on, until it is released. */
  begin(holder: Holder): void {
    this.#holder = holder;
    if (this.#known.number !== null) holder.beNumber(this.#known.number);
    if (this.isUnsure) holder.beUnsure(true);
    // Since `join` another collector may have taken what was not called yet, and the database may have granted more.
    for (const account of this.#joinedWith) if (!this.#held.has(account)) void this.#leave(account);
    for (const [account, taken] of this.#come)
      if (this.#held.has(account) && !this.#joinedWith.includes(account)) void this.#give(account, taken);
  }

  /**
   * The files say something else now. Alone, this collector goes by them at once; else the files before stay in force until
   * all collectors have the new ones.
   *
   * @param use begins to go by them
   */
  async useFiles(files: FilesSaid, use: () => Promise<void>): Promise<void> {
    this.#files = files;
    if (this.agreedAt(this.#options.clock.now()) !== null) {
      this.#waiting = { files, use };
      this.#options.log.info({}, "the files before stay in force until all collectors have the new ones");
      return;
    }
    this.#waiting = null;
    await use();
    this.#inForce = files;
    this.#wake.abort();
  }

  /** Goes by new files when the epoch begins that all have agreed on, or when the others are gone. */
  async #useWaiting(): Promise<void> {
    const { clock } = this.#options;
    const waiting = this.#waiting;
    if (!waiting) return;
    const epoch = this.#epochs.find(({ jobsDigest }) => jobsDigest === waiting.files.digest);
    const beginsInMs = epoch ? epoch.fromMs - clock.now().getTime() : this.#isAlone() ? 0 : Infinity;
    if (beginsInMs > ROUND_EVERY_MS) return;
    this.#waiting = null;
    await clock.sleep(Math.max(0, beginsInMs), this.#ended.signal).catch(() => undefined);
    await waiting.use();
    this.#inForce = waiting.files;
  }

  /** Whether the last round failed, and another collector may have taken what is held. */
  get isUnsure(): boolean {
    return this.#failed && this.#known.others;
  }

  /** The accounts that are held, by name. */
  get held(): string[] {
    return [...this.#held.keys()].sort();
  }

  /** What it knows of itself and the others. */
  get state(): LiveFleet {
    const { clock, self } = this.#options;
    const nowMs = clock.now().getTime();
    const others = (this.#look?.collectors ?? []).filter(({ id }) => id !== self.id);
    const inForce = this.#epochs.findLast(({ fromMs }) => fromMs <= nowMs)?.jobsDigest;
    const isGone = ({ seenAgoMs }: SeenCollector): boolean => seenAgoMs > GONE_AFTER_MS;
    const running = others.filter((one) => !one.stopped && !isGone(one));
    const digests = [this.#files.digest, ...running.map(({ jobsDigest }) => jobsDigest)];
    return {
      accounts: this.#wanted().map((name) => {
        const held = this.#held.get(name);
        return {
          ...{ name, held: held !== undefined, fence: held?.fence ?? null },
          caller: this.#callerOf(name),
          uncalledMs: this.#callers.uncalledMs(name),
        };
      }),
      unsure: this.isUnsure,
      collectors: {
        running: 1 + running.length,
        stopped: others.filter(({ stopped }) => stopped).length,
        gone: others.filter((one) => !one.stopped && isGone(one)).length,
      },
      differing: inForce === undefined ? 0 : digests.filter((digest) => digest !== inForce).length,
      takeOvers: this.#takeOvers,
      confirmedAgoMs: this.#trust.confirmedAgoMs(this.#now()),
      clockOffsetMs: this.#clockOffset.ms,
    };
  }

  /**
   * Waits, before a call, until a process that did not run knows whether the account is its own still.
   *
   * @param signal the call's own: nobody waits for it any more
   * @returns whether the call may leave, to be asked at the very moment in which it would
   * @throws QuotekeeperError LEASE_UNSURE when the account is no longer this collector's, or others must be listened for first
   */
  async sure(account: string, signal: AbortSignal): Promise<() => boolean> {
    const { clock } = this.#options;
    const { permit } = this.#trust;
    const isOver = (): boolean =>
      signal.aborted || this.#ended.signal.aborted || permit !== this.#trust.permit;
    const waits = (): boolean => !isOver() && this.#held.has(account) && !this.mayLeave(account);
    while (waits()) {
      await settledOrAborted(this.#round(), signal);
      if (this.#claiming) await settledOrAborted(this.#claiming, signal);
      // An answer that confirms nothing is followed by a claim, or by another round.
      if (waits()) await clock.sleep(ASK_AGAIN_MS, signal).catch(() => undefined);
    }
    const mayLeave = (): boolean => permit === this.#trust.permit && this.mayLeave(account);
    if (!mayLeave()) throw leaseUnsure(account);
    return mayLeave;
  }

  /** Whether the account may be called at this very moment. */
  mayLeave(account: string): boolean {
    return this.#held.has(account) && this.#trust.isFresh(account, this.#now());
  }

  /** What the collectors have agreed on for the slots at an instant; null: this one is alone. */
  agreedAt(at: Date): Agreed | null {
    if (!this.#known.others || this.#isAlone()) return null;
    // Both are times of slots, and a slot has one name, whatever the clock of the collector that opens it.
    const inForce = this.#epochs.findLast(({ fromMs }) => fromMs <= at.getTime()) ?? this.#epochs[0];
    if (!inForce) return null;
    const { number, accounts, prices } = inForce;
    return { number, accounts, prices };
  }

  /** Takes nothing more, because the process ends: what is held is renewed until it is released. A wait in `join` is over. */
  takeNoMore(): void {
    this.#ending = true;
    this.#leaves.abort();
  }

  /** Gives all back, because the process ends. @returns whether the database knows; never throws */
  async release(): Promise<boolean> {
    const { clock, store, self, close } = this.#options;
    this.#ending = true;
    this.#ended.abort();
    if (this.#claiming) await atMost(CLAIM_GRACE_MS, this.#claiming, clock);
    let known = !this.#joined;
    if (this.#joined) {
      const journalLag = this.#holder?.journalLag() ?? null;
      const releasing = store.release(self, this.#telledLeases(), { journalLag }).then(
        () => (known = true),
        () => undefined,
      );
      await atMost(RELEASE_MS, releasing, clock);
    }
    // What was held stays in the file, for a start without the database.
    if (this.#kept) this.#options.keep({ ...this.#kept, unsureSince: null, uncalled: {} });
    this.#held.clear();
    await close();
    return known;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    let roundAtMs = clock.monotonicMs() + ROUND_EVERY_MS;
    while (!signal.aborted) {
      // A look may be answered where a round, which writes, is not.
      const wants = this.#failed || this.#presumed.length > 0 || this.#mayTake(this.#alive()).length > 0;
      const untilRoundMs = roundAtMs - clock.monotonicMs();
      const waitMs = wants ? Math.min(LOOK_EVERY_MS, untilRoundMs) : untilRoundMs;
      this.#wake = new AbortController();
      const woken = AbortSignal.any([signal, this.#wake.signal]);
      await clock.sleep(Math.max(1, waitMs), woken).catch(() => undefined);
      if (signal.aborted) return;
      if (clock.monotonicMs() >= roundAtMs) {
        roundAtMs = clock.monotonicMs() + ROUND_EVERY_MS;
        void this.#round();
      } else void this.#lookOnce();
      this.#noteCallers();
    }
  }

  /** Sends a round, and resolves when it was answered, or failed, or its answer is late; while one is under way, as that one. */
  #round(): Promise<void> {
    return (this.#rounding ??= this.#sendRound().finally(() => (this.#rounding = null)));
  }

  async #sendRound(): Promise<void> {
    const question = this.#trust.ask(this.#now());
    const accounts = this.held;
    const answered = this.#joined ? this.#tell(question) : this.#enter().then(() => void this.#act());
    answered.catch(() => this.#blind(question.at.monotonicMs));
    const isInTime = await this.#within(ANSWER_MS, answered);
    if (!isInTime && this.#trust.unanswered(question, accounts) && this.#known.others) {
      this.#options.log.warn(
        {},
        "this process stood still, and the database does not answer: it listens first",
      );
      this.#holder?.listen();
    }
    // What a process finds that stood still in the midst of a round says nothing of the database.
    if (isInTime || elapsedMs(question.at, this.#now()) <= TRUSTED_MS) this.#setFailed(!isInTime);
    this.#keepFile();
  }

  /** A round: tells of this collector, renews its leases, and looks. Its answer counts whenever it comes. */
  async #tell(question: Question): Promise<void> {
    const { store, self } = this.#options;
    const held = this.#telledLeases();
    const { renewed, isKnown, ...look } = await this.#answered(store.round(self, this.#telling(), held));
    const { wallMs: sentMs, monotonicMs } = question.at;
    this.#clockOffset.saw({ sentMs, answeredMs: this.#now().wallMs, databaseMs: look.nowMs });
    this.#see(look, monotonicMs);
    if (!isKnown) this.#joined = false;
    for (const { account, fence } of held)
      if (!renewed.includes(account) && this.#held.get(account)?.fence === fence) this.#lostTo(account, look);
    this.#trust.answered(
      question,
      renewed.filter((account) => this.#held.has(account)),
    );
    void this.#act();
  }

  /** A look between two rounds. Never rejects. */
  #lookOnce(): Promise<void> {
    const sentMs = this.#options.clock.monotonicMs();
    return (this.#looking ??= this.#answered(this.#options.store.look())
      .then(
        (look) => {
          this.#see(look, sentMs);
          void this.#act();
        },
        () => this.#blind(sentMs),
      )
      .finally(() => (this.#looking = null)));
  }

  /** Looks whether this collector fits to the others, and registers. @throws COLLECTOR_DIFFERS; the database's errors */
  #enter(): Promise<void> {
    return (this.#entering ??= this.#register().finally(() => (this.#entering = null)));
  }

  async #register(): Promise<void> {
    const { store, self, log, clock } = this.#options;
    const sentMs = clock.monotonicMs();
    this.#see(await this.#answered(store.look()), sentMs);
    const others = this.#alive().filter(({ id }) => id !== self.id);
    const differs = others.find(({ jobsDigest }) => jobsDigest !== this.#files.digest);
    if (differs) {
      this.#differs = differsFrom(differs, this.#files, this.#options.address);
      this.#lose(this.#differs);
      throw this.#differs;
    }
    const { number, name, epochs } = await this.#answered(store.join(self, this.#telling()));
    this.#epochs = joinedEpochs(epochs, this.#epochs);
    this.#joined = true;
    this.#joinedAtMs = clock.monotonicMs();
    if (number !== this.#known.number) this.#holder?.beNumber(number);
    this.#known = { ...this.#known, number, name };
    if (others.length > 0)
      log.info(
        { collector: name, others: others.map((other) => other.name) },
        "this collector shares the archive with others",
      );
  }

  /** @param sentMs when it was asked for, on the monotonic clock */
  #see(look: Look, sentMs: number): void {
    if (sentMs < this.#lookedAtMs) return;
    const { clock, self } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#lookedAtMs = sentMs;
    this.#look = look;
    this.#epochs = joinedEpochs(this.#epochs, look.epochs);
    this.#leases.saw(new Map(look.leases.map((lease) => [lease.account, lease])), nowMs);
    this.#collectors.saw(
      new Map(look.collectors.map(({ id, run, beat }) => [id, { fence: run, beat }])),
      nowMs,
    );
    const others = look.collectors.some(({ id, seenAgoMs }) => id !== self.id && seenAgoMs < REMEMBERED_MS);
    this.#known = { ...this.#known, others, epochs: look.epochs };
  }

  /** A question that was sent then brought nothing, and no later one has. */
  #blind(sentMs: number): void {
    if (this.#lookedAtMs >= sentMs) return;
    this.#leases.blind();
    this.#collectors.blind();
  }

  /** The collectors that go on telling of themselves, this one among them. */
  #alive(): SeenCollector[] {
    const { self } = this.#options;
    return (this.#look?.collectors ?? []).filter(
      ({ id, stopped, seenAgoMs }) =>
        id === self.id ||
        (!stopped && this.#collectors.stillMs(id, this.#lookedAtMs) < LEASE_MS && seenAgoMs < 2 * LEASE_MS),
    );
  }

  #isAlone(): boolean {
    const { self } = this.#options;
    if (!this.#look) return !this.#known.others;
    return this.#alive().every(({ id }) => id === self.id);
  }

  /**
   * Whether no other collector runs, by a look since this one has registered. One that is only not heard of may be kept from
   * writing by the same slow database: two that presumed the same account would both call it.
   */
  #hasNoPeer(): boolean {
    const { self } = this.#options;
    if (this.#lookedAtMs < this.#joinedAtMs) return false;
    return (this.#look?.collectors ?? []).every(
      ({ id, stopped, seenAgoMs }) => id === self.id || stopped || seenAgoMs >= REMEMBERED_MS,
    );
  }

  /** What may be taken now: free accounts, as far as this collector has too few, or nobody else has taken them for long. */
  #mayTake(alive: readonly SeenCollector[]): string[] {
    const { self, clock } = this.#options;
    if (!this.#look) return [];
    const wanted = this.#wanted();
    const quota = this.#quotas(alive).get(self.id) ?? wanted.length;
    const leases = new Map(this.#look.leases.map((lease) => [lease.account, lease]));
    const others = wanted.filter(
      (account) => !this.#held.has(account) && !this.#isOthers(leases.get(account), alive),
    );
    const nowMs = clock.monotonicMs();
    for (const account of this.#freeSince.keys())
      if (!others.includes(account)) this.#freeSince.delete(account);
    for (const account of others) this.#freeSince.set(account, this.#freeSince.get(account) ?? nowMs);
    const room = Math.max(0, quota - this.#held.size);
    return others.filter(
      (account, place) =>
        place < room || nowMs - (this.#freeSince.get(account) ?? nowMs) > LEFT_TO_OTHERS_MS + LEASE_MS,
    );
  }

  /** Whether a lease is surely another's: its holder tells of itself, and has not given it back. */
  #isOthers(lease: SeenLease | undefined, alive: readonly SeenCollector[]): boolean {
    const { self, dead } = this.#options;
    if (!lease || lease.released || dead.includes(lease.run) || lease.holder === self.id) return false;
    return alive.some(({ id, run }) => id === lease.holder && run === lease.run);
  }

  #wanted(): string[] {
    return this.#inForce.accounts.map(({ name }) => name).sort();
  }

  #quotas(alive: readonly SeenCollector[]): Map<string, number> {
    const own = { id: this.#options.self.id, number: this.#known.number ?? 0 };
    const others = alive.filter(({ id }) => id !== own.id);
    return quotas([own, ...others], this.#wanted().length);
  }

  /** Does what the newest look asks for: one after the other. Never rejects. */
  #act(): Promise<void> {
    return (this.#acting ??= this.#doAct()
      .catch(() => undefined)
      .finally(() => (this.#acting = null)));
  }

  /** Takes what is free, gives back what is too much, and proposes what all are to go by. */
  async #doAct(): Promise<void> {
    const alive = this.#alive();
    // Calls of what is presumed may be under way at the end: that is claimed alone.
    const isTaking = (): boolean => this.#holder !== null && !this.#ending;
    if (isTaking()) await this.#useWaiting();
    const free = isTaking() ? this.#mayTake(alive) : [];
    if (await this.#claim([...this.#presumed, ...free])) await this.#forgetDead();
    if (!this.#holder || this.#ending) return;
    for (const [account, { leaving }] of this.#held)
      if (!leaving && !this.#wanted().includes(account)) void this.#giveBack(account);
    this.#share(alive);
    await this.#propose(alive);
  }

  /** The accounts that are held by nobody's word: the database has not answered their claims. */
  get #presumed(): string[] {
    return [...this.#held].flatMap(([account, { fence, leaving }]) =>
      fence === null && !leaving ? [account] : [],
    );
  }

  #presume(account: string, listens: boolean): void {
    this.#held.set(account, { fence: null, leaving: false });
    this.#gain(account, { granted: null, listens });
  }

  /** Has an account called that is held from now on; before `begin` it waits. */
  #gain(account: string, taken: Taken): void {
    this.#freeSince.delete(account);
    if (!this.#holder) return void this.#come.set(account, taken);
    this.#options.log.info(
      { account, how: taken.granted?.how ?? "presumed", previous: taken.granted?.previous ?? null },
      "this collector calls the account from now on",
    );
    void this.#give(account, taken);
  }

  async #give(account: string, taken: Taken): Promise<void> {
    try {
      await this.#holder?.take(account, taken);
    } catch (error) {
      this.#options.log.error({ account, err: error }, "the account cannot be called");
      await this.#giveBack(account);
    }
  }

  /** The lease as it was watched for long enough; null: it was not. */
  #watched(account: string): SeenLease | null {
    const lease = this.#look?.leases.find((one) => one.account === account);
    if (!lease?.expired) return null;
    return this.#leases.stillMs(account, this.#lookedAtMs) >= LEASE_MS ? lease : null;
  }

  /**
   * Claims accounts in one question, whose answer is believed whenever it comes. Where it is late and no other collector runs,
   * the accounts are presumed to be this one's. Never rejects.
   *
   * @returns whether it was answered in time
   */
  async #claim(accounts: readonly string[]): Promise<boolean> {
    if (accounts.length === 0) return true;
    if (this.#claiming) return false;
    const { store, self, dead } = this.#options;
    const sentAt = this.#now();
    // Also this run: the answer to an earlier claim may have been lost.
    const runs = [...dead, ...this.#past, self.run];
    const claims = accounts.map((account) => ({ account, seen: this.#watched(account) }));
    const answered = this.#answered(store.claim(claims, self, runs)).then((granted) => {
      for (const one of granted) this.#granted(one, sentAt);
      const others = accounts.filter((account) => !granted.some((one) => one.account === account));
      for (const account of others) this.#refused(account);
    });
    this.#claiming = answered.catch(() => undefined).finally(() => (this.#claiming = null));
    if (await this.#within(ANSWER_MS, answered)) return true;
    for (const account of accounts) {
      if (!this.#held.has(account) && this.#hasNoPeer() && !this.#ending) this.#presume(account, false);
      if (this.#held.get(account)?.fence === null) this.#trust.presumed(account, sentAt);
    }
    return false;
  }

  #granted({ account, ...granted }: Granted, sentAt: Moment): void {
    const held = this.#held.get(account);
    if (held && (held.fence ?? -1) >= granted.fence) return;
    this.#held.set(account, { fence: granted.fence, leaving: held?.leaving ?? false });
    this.#trust.granted(account, sentAt);
    if (granted.how === "expired") this.#takeOvers += 1;
    if (held || this.#ending) return;
    // The database's clock may have jumped; so long the lease was surely not renewed.
    const watchedMs = this.#leases.stillMs(account, this.#lookedAtMs);
    const agoMs = granted.how === "expired" ? Math.min(granted.agoMs ?? 0, watchedMs) : granted.agoMs;
    this.#gain(account, { granted: { account, ...granted, agoMs }, listens: false });
  }

  /** Another collector has the account, or had it at the moment of the claim. */
  #refused(account: string): void {
    const lease = this.#look?.leases.find((one) => one.account === account);
    const isPresumed = this.#held.get(account)?.fence === null;
    if (isPresumed && this.#look && this.#isOthers(lease, this.#alive())) this.#lostTo(account, this.#look);
  }

  /** Not before what they held is taken: this run may be killed as well, and the next one must know. */
  async #forgetDead(): Promise<void> {
    if (this.#hasForgotten) return;
    this.#hasForgotten = true;
    await this.#options.forgetDead();
  }

  /**
   * The lease is no longer this collector's: it was paused, or cut off, for so long that it was taken for dead; or the database was
   * set back to a time before the grant.
   */
  #lostTo(account: string, { leases, collectors }: Look): void {
    const { self, log } = this.#options;
    const held = this.#held.get(account);
    if (!held) return;
    this.#held.delete(account);
    this.#trust.drop(account);
    const lease = leases.find((one) => one.account === account);
    const isOwn = lease?.holder === self.id && lease.run !== self.run;
    if (isOwn && lease.fence > (held.fence ?? 0)) {
      this.#lose(
        new QuotekeeperError(
          "COLLECTOR_REPLACED",
          `${this.#options.address}: another process is this collector: its data directory was copied, or it was taken for dead`,
        ),
      );
      return;
    }
    void this.#leave(account);
    if (!lease || lease.fence < (held.fence ?? 0)) {
      // Fences only rise: a lower one is the past. Its run is dead, because this one has had its data directory since.
      if (isOwn) this.#past.add(lease.run);
      this.#joined = false;
      log.warn({ account }, "the database was set back to an earlier time: the account is claimed anew");
      return;
    }
    const to = collectors.find(({ id }) => id === lease.holder)?.name ?? null;
    log.warn({ account, to }, "another collector calls the account: this one was paused or cut off");
  }

  /** Has it called no more; never rejects. */
  async #leave(account: string): Promise<void> {
    await this.#holder?.leave(account).catch(() => undefined);
  }

  /** Gives back one account at a time where another collector has too few. */
  #share(alive: readonly SeenCollector[]): void {
    const { self } = this.#options;
    const all = this.#quotas(alive);
    const leases = this.#look?.leases ?? [];
    const lacks = alive.some(
      ({ id }) =>
        id !== self.id &&
        leases.filter(({ holder, released }) => holder === id && !released).length < (all.get(id) ?? 0),
    );
    const tooMany = this.#held.size > (all.get(self.id) ?? 0) && lacks;
    this.#tooMany = tooMany ? this.#tooMany + 1 : 0;
    const isLeaving = [...this.#held.values()].some(({ leaving }) => leaving);
    const last = this.held.at(-1);
    if (this.#tooMany < LOOKS_BEFORE_GIVING || isLeaving || last === undefined) return;
    this.#tooMany = 0;
    void this.#giveBack(last);
  }

  async #giveBack(account: string): Promise<void> {
    const { store, self, log } = this.#options;
    const held = this.#held.get(account);
    if (!held || held.leaving) return;
    held.leaving = true;
    log.info({ account }, "the account is given back");
    // What was known before its last calls ended: these count as answered when somebody else takes over.
    const governor = this.#holder?.handOver(account) ?? null;
    await this.#leave(account);
    const { fence } = this.#held.get(account) ?? held;
    this.#held.delete(account);
    this.#trust.drop(account);
    if (fence !== null)
      await this.#answered(store.release(self, [{ account, fence, governor }], null)).catch(() => undefined);
  }

  /** What all are to go by, as this collector sees it: all see the same, and the first to say it has said it. */
  async #propose(alive: readonly SeenCollector[]): Promise<void> {
    const { store, self, clock } = this.#options;
    const look = this.#look;
    if (!look) return;
    const newest = look.epochs.at(-1);
    const own: Pick<SeenCollector, "jobsDigest" | "knows"> = {
      jobsDigest: this.#files.digest,
      knows: this.#holder?.knows() ?? NOTHING,
    };
    const known = [own, ...alive.filter(({ id }) => id !== self.id)];
    // Until all have the same files, those before stay in force.
    if (known.some(({ jobsDigest }) => jobsDigest !== own.jobsDigest)) return;
    const refused = known.flatMap(({ knows }) => knows.refused);
    const named = this.#files.accounts.map(({ name }) => name).sort();
    const undrained = named.filter((account) => !look.drained.includes(account));
    const called = undrained.filter((account) => !refused.includes(account));
    const accounts = [called, undrained, named].find((some) => some.length > 0) ?? [];
    const prices = known.reduce(
      (merged, { knows }) => mergedPrices(merged, knows.prices),
      newest?.prices ?? null,
    );
    const wanted = { jobsDigest: own.jobsDigest, accounts, prices };
    if (newest && sameEpoch(newest, wanted)) return;
    const ownMs = this.#clockOffset.ms;
    const others = alive.filter(({ id }) => id !== self.id);
    const aheadMs = others.map(({ clockOffsetMs }) => (clockOffsetMs ?? ownMs) - ownMs);
    const fromMs = epochFromMs(clock.now().getTime(), this.#isAlone() ? null : aheadMs);
    const by = this.#known.name ?? self.id;
    await this.#answered(store.propose(newest?.number ?? 0, { ...wanted, fromMs }, by));
  }

  #telling(): Telling {
    const { digest, files } = this.#files;
    return {
      ...{ jobsDigest: digest, files },
      ...{ knows: this.#holder?.knows() ?? NOTHING, journalLag: this.#holder?.journalLag() ?? null },
      clockOffsetMs: this.#clockOffset.ms,
    };
  }

  #telledLeases(): HeldLease[] {
    return [...this.#held].flatMap(([account, { fence }]) =>
      fence === null ? [] : [{ account, fence, governor: this.#holder?.handOver(account) ?? null }],
    );
  }

  /** The database's answer, or an error where none comes: a connection may be dead without a word. */
  async #answered<T>(asked: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const given = new AbortController();
    const never = clock.sleep(ANSWER_TOO_LATE_MS, given.signal).then(() => {
      throw new Error("the database does not answer");
    });
    never.catch(() => undefined);
    return Promise.race([asked, never]).finally(() => given.abort());
  }

  /** Waits so long for work. @returns whether it is done; false: it failed, or goes on */
  async #within(ms: number, work: Promise<unknown>): Promise<boolean> {
    let done = false;
    const watched = work.then(
      () => (done = true),
      () => undefined,
    );
    await atMost(ms, watched, this.#options.clock);
    return done;
  }

  #setFailed(failed: boolean): void {
    const before = this.isUnsure;
    this.#failed = failed;
    if (this.isUnsure === before) return;
    const since = this.#options.clock.now().toISOString();
    this.#known = { ...this.#known, unsureSince: this.isUnsure ? since : null };
    this.#options.log.warn(
      { unsure: this.isUnsure },
      this.isUnsure
        ? "the database does not confirm the leases: calls go on with care"
        : "the leases are confirmed again",
    );
    this.#holder?.beUnsure(this.isUnsure);
  }

  /** Who calls an account as far as is known: a collector's name, "" where that has none; null: nobody. */
  #callerOf(account: string): string | null {
    const { self } = this.#options;
    if (this.#held.has(account)) return this.#known.name ?? "";
    const lease = this.#look?.leases.find((one) => one.account === account);
    if (!lease || lease.released) return null;
    const isTwin = lease.holder === self.id && this.#leases.stillMs(account, this.#lookedAtMs) < LEASE_MS;
    if (!isTwin && !this.#isOthers(lease, this.#alive())) return null;
    return this.#look?.collectors.find(({ id }) => id === lease.holder)?.name ?? "";
  }

  #noteCallers(): void {
    if (!this.#look) return;
    const { leases } = this.#look;
    const callerOf = (account: string): string | null => this.#callerOf(account);
    const uncalled = this.#callers.saw({
      wanted: this.#wanted(),
      leases,
      calls: this.#held.size > 0,
      callerOf,
    });
    this.#known = { ...this.#known, uncalled };
    this.#keepFile();
  }

  #now(): Moment {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.now().getTime() };
  }

  #keepFile(): void {
    const now = { ...this.#known, held: this.held };
    if (JSON.stringify(now) === JSON.stringify(this.#kept)) return;
    this.#kept = now;
    this.#options.keep(now);
  }
}

/** Most epochs that are remembered: slots that last yet began in one of them. */
const EPOCHS_REMEMBERED = 100;

/** What was known of epochs, and what is: the database forgets those that are over. */
function joinedEpochs(known: readonly Epoch[], now: readonly Epoch[]): Epoch[] {
  const [first] = now;
  if (!first) return [...known];
  return [...known.filter(({ number }) => number < first.number), ...now].slice(-EPOCHS_REMEMBERED);
}

const NOTHING: Knows = { refused: [], prices: null };

/** The first price that anybody told of a symbol stays for the day. */
function mergedPrices(kept: Knows["prices"], told: Knows["prices"]): Knows["prices"] {
  if (!told || (kept && kept.date > told.date)) return kept;
  return kept?.date === told.date ? { date: kept.date, of: { ...told.of, ...kept.of } } : told;
}

function sameEpoch(one: Omit<Epoch, "number" | "fromMs">, other: Omit<Epoch, "number" | "fromMs">): boolean {
  const text = ({ jobsDigest, accounts, prices }: typeof one): string =>
    JSON.stringify([
      jobsDigest,
      [...accounts].sort(),
      prices && [prices.date, Object.entries(prices.of).sort()],
    ]);
  return text(one) === text(other);
}

function leaseUnsure(account: string): QuotekeeperError {
  return new QuotekeeperError("LEASE_UNSURE", `the account ${account} is another collector's`);
}

function differsFrom(other: SeenCollector, { files }: FilesSaid, address: string): QuotekeeperError {
  return new QuotekeeperError(
    "COLLECTOR_DIFFERS",
    `${address} is collected by ${other.name} with other files: ${whatDiffers(files, other.files)}`,
  );
}

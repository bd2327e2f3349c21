/**
 * This collector among those that share an archive: which accounts it calls, and when it no longer may.
 *
 * An account is another's or free -> held -> leaving (it is given back) or lost. What is held is called as long as rounds
 * succeed. After one that failed the collector is unsure, if there are others: it goes on with care, because what is not polled
 * is gone, and it cannot know whether it alone is cut off. A process that did not run for a while asks first.
 *
 * One collector alone has all accounts, and calls them as if there were no leases.
 */
import {
  BeatWatch,
  elapsedMs,
  LEASE_MS,
  LOOK_EVERY_MS,
  type Moment,
  quotas,
  ROUND_EVERY_MS,
  TRUSTED_MS,
} from "../accounts/lease.ts";
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
} from "../archive/leaseRows.ts";
import { atMost, type Clock } from "../clock.ts";
import type { Agreed } from "../collect/collector.ts";
import { QuotekeeperError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { LiveFleet } from "../web/api/types.ts";
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

/** Longest wait for the database's answer, in ms: a round is over before the next one. */
const ANSWER_MS = 1_500;

/** A new epoch is in force after so long, in ms: by then every collector has seen it, or its leases are another's. */
const EPOCH_LEAD_MS = 2 * LEASE_MS;

/** A clock that is less than this off, in ms, is as right as the way to the database lets it be known. */
const EXACT_MS = 400;

/** How long a free account is left to those who have too few, in ms; and for how many looks somebody has too few. */
const LEFT_TO_OTHERS_MS = 4_000;
const LOOKS_BEFORE_GIVING = 2;

/** One that was not seen for so long is gone, in ms. */
const GONE_AFTER_MS = 60_000;

/** How long a collector that was not seen counts as one that may come back: then one is not alone, in ms. */
const REMEMBERED_MS = 86_400_000;

type Held = { fence: number | null; leaving: boolean };

/** It. */
export class Fleet {
  readonly #options: Joining;
  readonly #held = new Map<string, Held>();
  readonly #leases = new BeatWatch();
  readonly #collectors = new BeatWatch();
  readonly #freeSince = new Map<string, number>();
  readonly #ended = new AbortController();
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
  #epochs: readonly Epoch[] = [];
  #offsetMs = 0;
  #concludedAt: Moment;
  #confirmedAtMs: number | null = null;
  #takeOvers = 0;
  #failed = false;
  #rounding: Promise<void> | null = null;
  #joinedWith: readonly string[] = [];
  #running: Promise<void> = Promise.resolve();
  #tooMany = 0;
  #joined = false;
  #hasForgotten = false;
  #ending = false;
  #lose: (error: QuotekeeperError) => void = () => undefined;
  /** Resolves with the error to end with: another process is this collector, or the files differ from the others'. */
  readonly lost = new Promise<QuotekeeperError>((resolve) => (this.#lose = resolve));

  constructor(options: Joining) {
    this.#options = options;
    this.#files = options.files;
    this.#inForce = options.files;
    // That of a run before, which was killed, says nothing of this one.
    this.#known = { ...options.known, unsureSince: null };
    this.#epochs = options.known.epochs;
    this.#concludedAt = this.#now();
  }

  /**
   * Joins, where the database answers, and takes what is free at once. It is renewed from now on: to open a journal may take
   * longer than a lease holds.
   *
   * @param patienceMs how long a database that does not answer is asked again: one that has just answered is slow, and may know
   *   of others
   * @returns the accounts to begin with
   * @throws QuotekeeperError COLLECTOR_DIFFERS
   */
  async join(patienceMs = 0): Promise<Map<string, Taken>> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + patienceMs;
    let taken = await this.#tryToJoin();
    while (!this.#joined && !this.#ending && clock.monotonicMs() < untilMs) {
      await clock.sleep(LOOK_EVERY_MS);
      taken = await this.#tryToJoin();
    }
    if (!this.#joined) {
      // Who has never seen others has all; who has goes on with what was its own, and listens first.
      const { others, held } = this.#known;
      for (const { name } of this.#files.accounts)
        if (!others || held.includes(name)) {
          this.#held.set(name, { fence: null, leaving: false });
          taken.set(name, { granted: null, listens: others });
        }
    }
    this.#conclude();
    this.#keepFile();
    this.#joinedWith = [...taken.keys()];
    this.#running = this.#run();
    return taken;
  }

  /** @returns what was free */
  async #tryToJoin(): Promise<Map<string, Taken>> {
    const taken = new Map<string, Taken>();
    try {
      await this.#enter();
      for (const account of this.#mayTake(this.#alive())) {
        const granted = await this.#claim(account, null);
        if (granted) taken.set(account, { granted, listens: false });
      }
      await this.#forgetDead();
      this.#setFailed(false);
    } catch (error) {
      if (error instanceof QuotekeeperError && error.code === "COLLECTOR_DIFFERS") throw error;
      this.#setFailed(true);
    }
    return taken;
  }

  /** Takes and gives back from now on, until it is released; what it has joined with is renewed already. */
  begin(holder: Holder): void {
    this.#holder = holder;
    if (this.#known.number !== null) holder.beNumber(this.#known.number);
    if (this.isUnsure) holder.beUnsure(true);
    // Another collector may have taken what was not called yet.
    for (const account of this.#joinedWith) if (!this.#held.has(account)) void this.#leave(account);
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
    const beginsInMs = epoch
      ? epoch.fromMs + this.#offsetMs - clock.now().getTime()
      : this.#isAlone()
        ? 0
        : Infinity;
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
    const nowMs = clock.now().getTime() - this.#offsetMs;
    const others = (this.#look?.collectors ?? []).filter(({ id }) => id !== self.id);
    const inForce = this.#epochs.findLast(({ fromMs }) => fromMs <= nowMs)?.jobsDigest;
    const isGone = ({ seenAgoMs }: SeenCollector): boolean => seenAgoMs > GONE_AFTER_MS;
    const running = others.filter((one) => !one.stopped && !isGone(one));
    const digests = [this.#files.digest, ...running.map(({ jobsDigest }) => jobsDigest)];
    return {
      accounts: this.#wanted().map((name) => {
        const held = this.#held.get(name);
        return { name, held: held !== undefined, fence: held?.fence ?? null };
      }),
      unsure: this.isUnsure,
      collectors: {
        running: 1 + running.length,
        stopped: others.filter(({ stopped }) => stopped).length,
        gone: others.filter((one) => !one.stopped && isGone(one)).length,
      },
      differing: inForce === undefined ? 0 : digests.filter((digest) => digest !== inForce).length,
      takeOvers: this.#takeOvers,
      confirmedAgoMs: this.#confirmedAtMs === null ? null : clock.monotonicMs() - this.#confirmedAtMs,
      clockOffsetMs: this.#offsetMs,
    };
  }

  /** Waits, before a call, until a process that did not run knows whether the account is its own still. */
  async sure(account: string): Promise<void> {
    if (!this.#isFresh()) await this.#round();
    if (!this.#held.has(account)) throw leaseUnsure(account);
  }

  /** Whether a call may leave at this very moment. */
  mayLeave(account: string): boolean {
    return this.#held.has(account) && this.#isFresh();
  }

  /** What the collectors have agreed on for the slots at an instant; null: this one is alone. */
  agreedAt(at: Date): Agreed | null {
    if (!this.#known.others || this.#isAlone()) return null;
    const atMs = at.getTime() - this.#offsetMs;
    const inForce = this.#epochs.findLast(({ fromMs }) => fromMs <= atMs) ?? this.#epochs[0];
    if (!inForce) return null;
    const { number, accounts, prices } = inForce;
    return { number, accounts, prices };
  }

  /** Takes nothing more, because the process ends: what is held is renewed until it is released. */
  takeNoMore(): void {
    this.#ending = true;
  }

  /** Gives all back, because the process ends. @returns whether the database knows; never throws */
  async release(): Promise<boolean> {
    const { clock, store, self, close } = this.#options;
    this.#ended.abort();
    await atMost(ANSWER_MS, this.#running, clock);
    let known = !this.#joined;
    if (this.#joined) {
      const journalLag = this.#holder?.journalLag() ?? null;
      const releasing = store.release(self, this.#telledLeases(), { journalLag }).then(
        () => (known = true),
        () => undefined,
      );
      await atMost(ANSWER_MS, releasing, clock);
    }
    // What was held stays in the file, for a start without the database.
    if (this.#kept?.unsureSince) this.#options.keep({ ...this.#kept, unsureSince: null });
    this.#held.clear();
    await atMost(ANSWER_MS, close(), clock);
    return known;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    let roundAtMs = clock.monotonicMs() + ROUND_EVERY_MS;
    while (!signal.aborted) {
      const wants = this.#mayTake(this.#alive()).length > 0;
      const untilRoundMs = roundAtMs - clock.monotonicMs();
      const waitMs = wants ? Math.min(LOOK_EVERY_MS, untilRoundMs) : untilRoundMs;
      this.#wake = new AbortController();
      const woken = AbortSignal.any([signal, this.#wake.signal]);
      await clock.sleep(Math.max(1, waitMs), woken).catch(() => undefined);
      if (signal.aborted) return;
      if (clock.monotonicMs() >= roundAtMs) {
        roundAtMs = clock.monotonicMs() + ROUND_EVERY_MS;
        await this.#round();
      } else
        await this.#answered(this.#options.store.look()).then(
          (look) => this.#see(look),
          () => this.#blind(),
        );
      if (this.#holder && !this.#failed && !this.#ending) await this.#act().catch(() => undefined);
    }
  }

  /** A round; who asks while one is under way waits for it. */
  #round(): Promise<void> {
    return (this.#rounding ??= this.#tellAndLook().finally(() => (this.#rounding = null)));
  }

  async #tellAndLook(): Promise<void> {
    const { store, self } = this.#options;
    const sentAt = this.#now();
    try {
      if (!this.#joined) await this.#enter();
      const held = this.#telledLeases();
      const { renewed, isKnown, ...look } = await this.#answered(store.round(self, this.#telling(), held));
      this.#offsetMs = offsetOf((sentAt.wallMs + this.#now().wallMs) / 2 - look.nowMs);
      this.#see(look);
      if (!isKnown) this.#joined = false;
      for (const { account } of held) if (!renewed.includes(account)) await this.#lostTo(account, look);
      await this.#takePresumed(look);
      await this.#forgetDead();
      this.#setFailed(false);
      this.#concludedAt = sentAt;
      this.#confirmedAtMs = sentAt.monotonicMs;
    } catch (error) {
      if (error instanceof QuotekeeperError && error.code === "COLLECTOR_DIFFERS") this.#lose(error);
      this.#blind();
      this.#setFailed(true);
      this.#conclude();
    }
    this.#keepFile();
  }

  /** Looks whether this collector fits to the others, and registers. @throws COLLECTOR_DIFFERS; the database's errors */
  async #enter(): Promise<void> {
    const { store, self, log } = this.#options;
    const look = await this.#answered(store.look());
    this.#see(look);
    const others = this.#alive().filter(({ id }) => id !== self.id);
    const differs = others.find(({ jobsDigest }) => jobsDigest !== this.#files.digest);
    if (differs) throw differsFrom(differs, this.#files, this.#options.address);
    const { number, name, epochs } = await this.#answered(store.join(self, this.#telling()));
    this.#epochs = joinedEpochs(epochs, this.#epochs);
    this.#joined = true;
    this.#confirmedAtMs = this.#now().monotonicMs;
    if (number !== this.#known.number) this.#holder?.beNumber(number);
    this.#known = { ...this.#known, number, name };
    if (others.length > 0)
      log.info(
        { collector: name, others: others.map((other) => other.name) },
        "this collector shares the archive with others",
      );
  }

  #see(look: Look): void {
    const { clock, self } = this.#options;
    const nowMs = clock.monotonicMs();
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

  #blind(): void {
    this.#leases.blind();
    this.#collectors.blind();
  }

  /** The collectors that go on telling of themselves, this one among them. */
  #alive(): SeenCollector[] {
    const { clock, self } = this.#options;
    const nowMs = clock.monotonicMs();
    return (this.#look?.collectors ?? []).filter(
      ({ id, stopped, seenAgoMs }) =>
        id === self.id ||
        (!stopped && this.#collectors.stillMs(id, nowMs) < LEASE_MS && seenAgoMs < 2 * LEASE_MS),
    );
  }

  #isAlone(): boolean {
    const { self } = this.#options;
    if (!this.#look) return !this.#known.others;
    return this.#alive().every(({ id }) => id === self.id);
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

  /** Takes what is free, gives back what is too much, and proposes what all are to go by. */
  async #act(): Promise<void> {
    const { log } = this.#options;
    const alive = this.#alive();
    await this.#useWaiting();
    for (const account of this.#mayTake(alive)) {
      const granted = await this.#claim(account, this.#watched(account));
      if (!granted) continue;
      this.#freeSince.delete(account);
      log.info(
        { account, how: granted.how, previous: granted.previous },
        "this collector calls the account from now on",
      );
      await this.#give(account, { granted, listens: false });
    }
    for (const [account, { leaving }] of this.#held)
      if (!leaving && !this.#wanted().includes(account)) void this.#giveBack(account);
    this.#share(alive);
    await this.#propose(alive);
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
    const { clock } = this.#options;
    const lease = this.#look?.leases.find((one) => one.account === account);
    if (!lease?.expired) return null;
    return this.#leases.stillMs(account, clock.monotonicMs()) >= LEASE_MS ? lease : null;
  }

  async #claim(account: string, seen: SeenLease | null): Promise<Granted | null> {
    const { store, self, dead } = this.#options;
    // Also one's own run: the answer to a claim may have been lost.
    const granted = await this.#answered(store.claim(account, self, { dead: [...dead, self.run], seen }));
    if (!granted) return null;
    this.#held.set(account, { fence: granted.fence, leaving: false });
    if (granted.how === "expired") this.#takeOvers += 1;
    // The database's clock may have jumped; so long it was surely.
    const watchedMs = this.#leases.stillMs(account, this.#options.clock.monotonicMs());
    const agoMs = granted.how === "expired" ? Math.min(granted.agoMs ?? 0, watchedMs) : granted.agoMs;
    return { ...granted, agoMs };
  }

  /** Leases that nobody could be asked for: taken now, or lost to who has them. */
  async #takePresumed(look: Look): Promise<void> {
    for (const [account, held] of this.#held) {
      if (held.fence !== null) continue;
      const granted = await this.#claim(account, this.#watched(account));
      if (granted) continue;
      const lease = look.leases.find((one) => one.account === account);
      if (this.#isOthers(lease, this.#alive())) await this.#lostTo(account, look);
    }
  }

  /** Not before what they held is taken: this run may be killed as well, and the next one must know. */
  async #forgetDead(): Promise<void> {
    if (this.#hasForgotten) return;
    this.#hasForgotten = true;
    await this.#options.forgetDead();
  }

  /** Another collector has it: this one was paused, or cut off, for so long that it was taken for dead. */
  async #lostTo(account: string, { leases, collectors }: Look): Promise<void> {
    const { self, log } = this.#options;
    if (!this.#held.delete(account)) return;
    const lease = leases.find((one) => one.account === account);
    if (lease?.holder === self.id && lease.run !== self.run) {
      this.#lose(
        new QuotekeeperError(
          "COLLECTOR_REPLACED",
          `${this.#options.address}: another process is this collector: its data directory was copied, or it was taken for dead`,
        ),
      );
      return;
    }
    const to = collectors.find(({ id }) => id === lease?.holder)?.name ?? null;
    log.warn({ account, to }, "another collector calls the account: this one was paused or cut off");
    void this.#leave(account);
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
    const { fence } = held;
    this.#held.delete(account);
    if (fence !== null)
      await this.#answered(store.release(self, [{ account, fence, governor }], null)).catch(() => undefined);
  }

  /** What all are to go by, as this collector sees it: all see the same, and the first to say it has said it. */
  async #propose(alive: readonly SeenCollector[]): Promise<void> {
    const { store, self } = this.#options;
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
    const leadMs = this.#isAlone() ? 0 : EPOCH_LEAD_MS;
    await this.#answered(
      store.propose(newest?.number ?? 0, wanted, { leadMs, by: this.#known.name ?? self.id }),
    );
  }

  #telling(): Telling {
    const { digest, files } = this.#files;
    return {
      ...{ jobsDigest: digest, files },
      ...{ knows: this.#holder?.knows() ?? NOTHING, journalLag: this.#holder?.journalLag() ?? null },
      clockOffsetMs: this.#offsetMs,
    };
  }

  #telledLeases(): HeldLease[] {
    return [...this.#held].flatMap(([account, { fence }]) =>
      fence === null ? [] : [{ account, fence, governor: this.#holder?.handOver(account) ?? null }],
    );
  }

  /** The database's answer, or an error when it takes too long: a connection may be dead without a word. */
  async #answered<T>(asked: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const given = new AbortController();
    const late = clock.sleep(ANSWER_MS, given.signal).then(() => {
      throw new Error("the database does not answer");
    });
    late.catch(() => undefined);
    return Promise.race([asked, late]).finally(() => given.abort());
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

  #isFresh(): boolean {
    return elapsedMs(this.#concludedAt, this.#now()) <= TRUSTED_MS;
  }

  #conclude(): void {
    this.#concludedAt = this.#now();
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

function offsetOf(ms: number): number {
  return Math.abs(ms) < EXACT_MS ? 0 : ms;
}

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

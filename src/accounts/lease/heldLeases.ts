/** The leases that this collector holds: it acquires, loses and hands over. See `fleet.ts` for the words and the states. */
import { atMost, type Clock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { Log } from "../../ground/log.ts";
import type { Acquisition, Caller } from "./caller.ts";
import type { Moment } from "./leaseRules.ts";
import type { Grant, HeldLease, LeaseStore, Look, Self } from "./leaseStore.ts";
import { LeaseTrust } from "./leaseTrust.ts";
import {
  claimable,
  expiredLease,
  freeAccounts,
  hasNoPeer,
  hasTooMany,
  isHeldByPeer,
  type LeaseWatch,
  lossOf,
  misplaced,
  type Own,
} from "./leaseView.ts";
import { answered, succeedsWithin } from "./leaseQuestions.ts";

type HeldLeasesOptions = {
  store: LeaseStore;
  clock: Clock;
  self: Self;
  watch: LeaseWatch;
  own: () => Own;
  wanted: () => string[];
  /** When this collector joined, on the monotonic clock, in ms. */
  joinedAtMs: () => number;
  /** Deletes the traces of dead runs, when no later run has to know of them; never rejects. */
  forgetDead: () => Promise<void>;
  log: Log;
  address: string;
  onLost: (error: QuotekeeperError) => void;
  onRestored: () => void;
};

/** For how many looks a peer must have too few accounts before one is handed over. */
const LOOKS_BEFORE_HANDOVER = 2;

/** How long an end waits for a claim under way, in ms. */
const CLAIM_GRACE_MS = 200;

/** A held lease. `fence` null: it is presumed. */
type LeaseHold = { fence: number | null; handingOver: boolean };

export class HeldLeases {
  readonly #given: HeldLeasesOptions;
  readonly #held = new Map<string, LeaseHold>();
  readonly trust: LeaseTrust;
  /** Since when each free account is free, on the monotonic clock, in ms. */
  readonly #freeSince = new Map<string, number>();
  /** Runs of this collector's own id that a restored database still names. */
  readonly #past = new Set<string>();
  /** Accounts that were acquired before `begin`, and the names of those that `join` has returned. */
  readonly #early = new Map<string, Acquisition>();
  #earlyNames: readonly string[] = [];
  #caller: Caller | null = null;
  #looksWithTooMany = 0;
  #hasForgotten = false;
  #ending = false;
  takeOvers = 0;
  claiming: Promise<void> | null = null;

  constructor(given: HeldLeasesOptions) {
    this.#given = given;
    this.trust = new LeaseTrust(this.now());
  }

  now(): Moment {
    const { clock } = this.#given;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.now().getTime() };
  }

  get names(): string[] {
    return [...this.#held.keys()].sort();
  }

  has(account: string): boolean {
    return this.#held.has(account);
  }

  mayCall(account: string): boolean {
    return this.#held.has(account) && this.trust.isFresh(account, this.now());
  }

  fenceOf(account: string): number | null {
    return this.#held.get(account)?.fence ?? null;
  }

  get presumed(): string[] {
    return [...this.#held].flatMap(([account, { fence, handingOver }]) =>
      fence === null && !handingOver ? [account] : [],
    );
  }

  get granted(): HeldLease[] {
    return [...this.#held].flatMap(([account, { fence }]) =>
      fence === null ? [] : [{ account, fence, governor: this.#caller?.handOver(account) ?? null }],
    );
  }

  early(): Map<string, Acquisition> {
    this.#earlyNames = [...this.#early.keys()];
    return new Map(this.#early);
  }

  /** Has accounts called from now on. Since `early` some may have been lost, and others acquired. */
  begin(caller: Caller): void {
    this.#caller = caller;
    for (const account of this.#earlyNames) if (!this.#held.has(account)) void this.#stopCalling(account);
    for (const [account, how] of this.#early)
      if (this.#held.has(account) && !this.#earlyNames.includes(account))
        void this.#startCalling(account, how);
  }

  end(): void {
    this.#ending = true;
  }

  /** Waits for the claim under way: what it brings is released too. */
  async endClaim(): Promise<void> {
    if (this.claiming) await atMost(CLAIM_GRACE_MS, this.claiming, this.#given.clock);
  }

  claimable(): string[] {
    const { watch, own, clock } = this.#given;
    const wanted = this.#given.wanted();
    const nowMs = clock.monotonicMs();
    const free = freeAccounts(watch.view, own(), { wanted, held: this.names });
    for (const account of this.#freeSince.keys())
      if (!free.includes(account)) this.#freeSince.delete(account);
    for (const account of free) this.#freeSince.set(account, this.#freeSince.get(account) ?? nowMs);
    const freeMs = new Map(free.map((account) => [account, nowMs - (this.#freeSince.get(account) ?? nowMs)]));
    const counts = { wanted: wanted.length, heldCount: this.#held.size };
    return claimable(watch.view, own(), { free: freeMs, ...counts, isLoggedIn: this.#isLoggedIn });
  }

  /**
   * Claims accounts in one question, whose answer counts whenever it comes. Where it is late and no other collector can run, the
   * accounts are presumed.
   *
   * @returns whether it was answered in time
   */
  async claim(accounts: readonly string[]): Promise<boolean> {
    if (accounts.length > 0 && !(await this.#claim(accounts))) return false;
    // Until the dead runs' leases are acquired this run might be killed as well, and the next one must know of them.
    if (!this.#hasForgotten) {
      this.#hasForgotten = true;
      await this.#given.forgetDead();
    }
    return true;
  }

  async #claim(accounts: readonly string[]): Promise<boolean> {
    if (this.claiming) return false;
    const { store, self, clock, watch, own, joinedAtMs } = this.#given;
    const sentAt = this.now();
    // This run is dead too: the answer to an earlier claim may have been lost.
    const runs = [...own().dead, ...this.#past, self.run];
    const claims = accounts.map((account) => ({ account, seen: expiredLease(watch.view, account) }));
    const claimed = answered(store.claim(claims, self, runs), clock).then((granted) => {
      for (const one of granted) this.#granted(one, sentAt);
      for (const account of accounts)
        if (!granted.some((one) => one.account === account)) this.#refused(account);
    });
    this.claiming = claimed.catch(() => undefined).finally(() => (this.claiming = null));
    if (await succeedsWithin(claimed, clock)) return true;
    const mayPresume = (): boolean => !this.#ending && hasNoPeer(watch.view, own(), joinedAtMs());
    for (const account of accounts) {
      if (!this.#held.has(account) && mayPresume()) this.presume(account, false);
      if (this.#held.get(account)?.fence === null) this.trust.presumed(account, sentAt);
    }
    return false;
  }

  /** Holds an account that the database has granted to nobody as far as is known. */
  presume(account: string, listens: boolean): void {
    this.#held.set(account, { fence: null, handingOver: false });
    this.#acquired(account, { granted: null, listens });
  }

  #granted({ account, ...granted }: Grant, sentAt: Moment): void {
    const held = this.#held.get(account);
    if (held && (held.fence ?? -1) >= granted.fence) return;
    this.#held.set(account, { fence: granted.fence, handingOver: held?.handingOver ?? false });
    this.trust.granted(account, sentAt);
    if (granted.how === "expired") this.takeOvers += 1;
    if (held || this.#ending) return;
    // The database's clock may have jumped: for so long the lease was surely not renewed.
    const watchedMs = this.#given.watch.view.stillMs.get(account) ?? 0;
    const agoMs = granted.how === "expired" ? Math.min(granted.agoMs ?? 0, watchedMs) : granted.agoMs;
    this.#acquired(account, { granted: { account, ...granted, agoMs }, listens: false });
  }

  #refused(account: string): void {
    const { view } = this.#given.watch;
    const isPresumed = this.#held.get(account)?.fence === null;
    if (isPresumed && view.look && isHeldByPeer(view, account, this.#given.own()))
      this.lose(account, view.look);
  }

  #acquired(account: string, how: Acquisition): void {
    this.#freeSince.delete(account);
    if (!this.#caller) return void this.#early.set(account, how);
    if (this.#isLoggedIn(account) === false)
      this.#given.log.warn(
        { account },
        "this collector has taken an account that nobody is logged in to here: run `quotekeeper login` on this machine",
      );
    this.#given.log.info(
      { account, how: how.granted?.how ?? "presumed", previous: how.granted?.previous ?? null },
      "this collector calls the account from now on",
    );
    void this.#startCalling(account, how);
  }

  async #startCalling(account: string, how: Acquisition): Promise<void> {
    try {
      await this.#caller?.startCalling(account, how);
    } catch (error) {
      this.#given.log.error({ account, err: error }, "the account cannot be called");
      await this.#handOver(account);
    }
  }

  async #stopCalling(account: string): Promise<void> {
    await this.#caller?.stopCalling(account).catch(() => undefined);
  }

  /** By a look, a lease that is held is no longer this collector's. */
  lose(account: string, { leases, collectors }: Pick<Look, "leases" | "collectors">): void {
    const { own, log, address, onLost, onRestored } = this.#given;
    const held = this.#held.get(account);
    if (!held) return;
    this.drop(account);
    const lease = leases.find((one) => one.account === account);
    const loss = lossOf(lease, held.fence ?? 0, own());
    if (loss === "replaced") {
      const detail = `${address}: another process is this collector: its data directory was copied, or it was taken for dead`;
      return onLost(new QuotekeeperError("COLLECTOR_REPLACED", detail));
    }
    void this.#stopCalling(account);
    if (loss === "restored") {
      // The run that the lease names is dead, because this one has had its data directory since.
      if (lease?.holder === own().id && lease.run !== own().run) this.#past.add(lease.run);
      onRestored();
      log.warn({ account }, "the database was set back to an earlier time: the account is claimed anew");
      return;
    }
    const to = collectors.find(({ id }) => id === lease?.holder)?.name ?? null;
    log.warn({ account, to }, "another collector calls the account: this one was paused or cut off");
  }

  drop(account: string): void {
    this.#held.delete(account);
    this.trust.drop(account);
  }

  readonly #isLoggedIn = (account: string): boolean | null => this.#caller?.isLoggedIn?.(account) ?? null;

  /** Hands over what is misplaced here, and one account at a time where a peer has too few. */
  handOverSurplus(): void {
    const { watch, own } = this.#given;
    const wanted = this.#given.wanted();
    const held = { held: this.names, wanted, isLoggedIn: this.#isLoggedIn };
    for (const account of misplaced(watch.view, own(), held)) void this.#handOver(account);
    const isTooMany = hasTooMany(watch.view, own(), { wanted: wanted.length, heldCount: this.#held.size });
    this.#looksWithTooMany = isTooMany ? this.#looksWithTooMany + 1 : 0;
    if (this.#looksWithTooMany < LOOKS_BEFORE_HANDOVER) return;
    this.#looksWithTooMany = 0;
    // The same account until it is released: one at a time.
    const movable = this.names.filter((account) => this.#isLoggedIn(account) !== true);
    for (const account of movable.slice(-1)) void this.#handOver(account);
  }

  async #handOver(account: string): Promise<void> {
    const { store, self, log, clock } = this.#given;
    const held = this.#held.get(account);
    if (!held || held.handingOver) return;
    held.handingOver = true;
    log.info({ account }, "the account is given back");
    // As it was before the last calls ended: the next holder counts these as answered.
    const governor = this.#caller?.handOver(account) ?? null;
    await this.#stopCalling(account);
    const { fence } = this.#held.get(account) ?? held;
    this.drop(account);
    if (fence !== null)
      await answered(store.release(self, [{ account, fence, governor }], null), clock).catch(() => undefined);
  }
}

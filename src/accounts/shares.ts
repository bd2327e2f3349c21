/**
 * Which accounts take part, and the owner of each instrument: settled before each slot, and the same as long as nothing changes.
 *
 * An account is active -> refused, when it has been refused for `REFUSED_FOR_MS`, and active again with its first answer; or
 * drained by the operator. One that is refused loses nothing meanwhile: who stands in for it asks again. Of one that waits for
 * a login the others have the share from the next slot on.
 *
 * Where several collectors share an archive, each calls some of the accounts, and all must come to the same shares: then
 * what they have agreed on says who takes part, not what this one knows.
 */
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import { partition, type Partition, type Sharer, type JobWants } from "./partition.ts";

/** What a job polls: its symbols with those whose price its chains need, and the contracts of today. */
type PollScope = { job: object; symbols: readonly string[]; contracts: readonly object[] };

/** Whether an account is called: as always, not because the operator has drained it, or only to see whether it is still refused. */
export type AccountState = "active" | "drained" | "refused";

/** Which account asks for what bears a name in the ledger. */
export type OwnerOf = (name: string, delayed: boolean) => string;

/**
 * How long the service must refuse an account before others have its share, in ms: by then it is no slip. Until then it makes one
 * call a slot, to see whether it is refused still.
 */
export const REFUSED_FOR_MS = 120_000;

/** How often it makes a call from then on, in ms: with each slot of a minute, whose answers do not arrive at the same moment. */
export const PROBED_EVERY_MS = 55_000;

export class Shares {
  #accounts: readonly Sharer[];
  #drained: ReadonlySet<string> = new Set();
  /** Since when the service has refused an account, without an answer in between; and when it was tried last. */
  readonly #refused = new Map<string, { sinceMs: number; triedMs: number }>();
  #polled: readonly PollScope[] = [];
  #wanted: readonly JobWants[] = [];
  /** The pins of watchlists, which nobody else can ask for. */
  #pinned = new Map<string, string>();
  #parting: readonly Sharer[] = [];
  #ownerOf: Partition = () => null;
  readonly #coming = new Set<string>();
  #agreed: readonly string[] | null = null;
  readonly #isCalled: ((account: string) => boolean) | undefined;
  #isAsleep: (account: string) => boolean = () => false;
  /** The partition without those that are refused at the moment, by their names. */
  #without: { names: string; ownerOf: Partition } | null = null;

  readonly #blockSize: number | undefined;

  constructor(accounts: readonly Sharer[], isCalled?: (account: string) => boolean, blockSize?: number) {
    this.#accounts = accounts;
    this.#isCalled = isCalled;
    this.#blockSize = blockSize;
  }

  /** Who takes part from the next slot on, as the collectors have agreed; null: this one decides alone. */
  agree(accounts: readonly string[] | null): void {
    this.#agreed = accounts;
  }

  /** Whether an account shares the jobs and is another collector's to call. */
  isElsewhere(account: string): boolean {
    return this.#isCalled?.(account) === false && this.#accounts.some(({ name }) => name === account);
  }

  get isAgreed(): boolean {
    return this.#agreed !== null;
  }

  /** Others have the share of an account that waits for a login, where there are any. @param isAsleep whether one does */
  watchLogins(isAsleep: (account: string) => boolean): void {
    this.#isAsleep = isAsleep;
  }

  /** The accounts that cannot call, or have been refused for so long, that others are to have their share. */
  refusedSince(nowMs: number): string[] {
    const refused = [...this.#refused].flatMap(([name, { sinceMs }]) =>
      nowMs - sinceMs >= REFUSED_FOR_MS ? [name] : [],
    );
    const asleep = this.#accounts.flatMap(({ name }) => (this.#isAsleep(name) ? [name] : []));
    return [...new Set([...refused, ...asleep])];
  }

  /** Other accounts share from now on; what was known of those that go is forgotten, also where one of that name comes. */
  replace(gone: readonly string[], come: readonly Sharer[]): void {
    this.#accounts = [...this.#accounts.filter(({ name }) => !gone.includes(name)), ...come];
    for (const name of gone) {
      this.#refused.delete(name);
      this.#coming.delete(name);
    }
    for (const { name } of come) this.#coming.add(name);
  }

  /** What an account is at the moment. One that is refused is so at once, though others have its share only later. */
  stateOf(account: string): AccountState {
    return this.#drained.has(account) ? "drained" : this.#refused.has(account) ? "refused" : "active";
  }

  /** The account that asks for a name. A contract that collectors have not agreed on yet is asked for with its underlying. */
  readonly ownerOf: OwnerOf = (name, delayed) =>
    this.#ownerOf(name, delayed) ??
    this.#pinned.get(name) ??
    this.#ownerOf(underlyingIn(name), delayed) ??
    this.#accounts[0]?.name ??
    DEFAULT_ACCOUNT;

  /**
   * Told before each slot of all that the jobs want now: what has not changed costs nothing.
   *
   * @param wantedOf asked when something has changed
   */
  settle<Job extends PollScope>(
    polled: readonly Job[],
    wantedOf: (polled: readonly Job[]) => JobWants[],
    nowMs: number,
  ): void {
    const parting = this.#partingAt(nowMs);
    for (const { name } of parting) this.#coming.delete(name);
    const wantsTheSame = isSame(this.#polled, polled);
    if (wantsTheSame && isSameList(this.#parting, parting)) return;
    if (!wantsTheSame) this.#wanted = wantedOf(polled);
    this.#pinned = new Map(
      this.#wanted.flatMap(({ watchlist, account }) =>
        watchlist !== null && account !== null ? [[watchlist, account]] : [],
      ),
    );
    this.#polled = polled;
    this.#parting = parting;
    this.#without = null;
    this.#ownerOf = partition(this.#wanted, parting, this.#blockSize);
  }

  takesPart(account: string): boolean {
    return this.#parting.some(({ name }) => name === account);
  }

  /** Accounts that the operator has drained: they make no calls from the next slot on. */
  drain(names: Iterable<string>): void {
    this.#drained = new Set(names);
  }

  refused(account: string, nowMs: number): void {
    const { sinceMs = nowMs } = this.#refused.get(account) ?? {};
    this.#refused.set(account, { sinceMs, triedMs: nowMs });
  }

  /** It has answered an account, or another collector calls the account from now on and knows whether it is refused. */
  forgetRefusal(account: string): void {
    this.#refused.delete(account);
  }

  /** Who asks in place of an account that was refused, for what bears a name; null: nobody can. */
  standIn(name: string, delayed: boolean): string | null {
    const left = this.#parting.filter(({ name }) => this.#canAsk(name));
    if (left.length === 0) return null;
    const names = left.map((account) => account.name).join();
    if (this.#without?.names !== names)
      this.#without = { names, ownerOf: partition(this.#wanted, left, this.#blockSize) };
    return this.#without.ownerOf(name, delayed);
  }

  #canAsk(account: string): boolean {
    return !this.#refused.has(account) && !this.#isAsleep(account) && this.#isCalled?.(account) !== false;
  }

  /** The accounts that are refused, and due to be tried by one call. */
  toProbe(nowMs: number): string[] {
    return [...this.#refused]
      .filter(([, { triedMs }]) => nowMs - triedMs >= PROBED_EVERY_MS)
      .map(([name]) => name)
      .filter(
        (name) =>
          !this.takesPart(name) &&
          !this.#drained.has(name) &&
          !this.#isAsleep(name) &&
          this.#isCalled?.(name) !== false,
      );
  }

  /** Where all are refused or wait for a login, they share as before: nobody could stand in. */
  #partingAt(nowMs: number): Sharer[] {
    const agreed = this.#agreed;
    if (agreed !== null) return this.#accounts.filter(({ name }) => agreed.includes(name));
    // One that comes has no share before it is called: until it may be, which a database that is away decides, others have that.
    const isAwaited = (name: string): boolean => this.#coming.has(name) && this.#isCalled?.(name) === false;
    const wanted = this.#accounts.filter(({ name }) => !this.#drained.has(name) && !isAwaited(name));
    const refusedForMs = (name: string): number => nowMs - (this.#refused.get(name)?.sinceMs ?? nowMs);
    const active = wanted.filter(({ name }) => refusedForMs(name) < REFUSED_FOR_MS && !this.#isAsleep(name));
    return active.length > 0 ? active : wanted;
  }
}

/** The symbol that a name of the ledger begins with: the underlying of a contract, or of `chain SPX:2026-12-18`. */
function underlyingIn(name: string): string {
  const [beginning = name] = name.split(":", 1);
  return beginning.slice(beginning.lastIndexOf(" ") + 1);
}

function isSame(before: readonly PollScope[], now: readonly PollScope[]): boolean {
  return (
    before.length === now.length &&
    now.every(({ job, symbols, contracts }, place) => {
      const old = before[place];
      return old?.job === job && isSameList(old.symbols, symbols) && isSameList(old.contracts, contracts);
    })
  );
}

/** Lists that nobody has changed are the same ones; those of chains are made anew each time, of the same contracts. */
function isSameList<Item>(one: readonly Item[], other: readonly Item[]): boolean {
  return one === other || (one.length === other.length && one.every((item, place) => item === other[place]));
}

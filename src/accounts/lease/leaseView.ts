/** What one collector sees of all leases and collectors, and what follows from it. Pure: decisions are functions of a `View`. */
import { BeatWatch, LEASE_MS, quotas } from "./leaseRules.ts";
import type { Look, SeenCollector, SeenLease, Self } from "./leaseStore.ts";

/** A collector that was not seen for so long is gone, in ms. */
const GONE_AFTER_MS = 60_000;

/** How long a collector that was not seen may still come back, in ms: until then this collector is not alone. */
const REMEMBERED_MS = 86_400_000;

/** How long a free account is left to the collectors that have too few, in ms. */
const LEFT_TO_OTHERS_MS = 4_000;

/** This collector. `number` null: the database has not given it one. `dead`: runs on its data directory that are surely dead. */
export type Own = Pick<Self, "id" | "run"> & { number: number | null; dead: readonly string[] };

type View = {
  /** Null: the database has not answered yet. */
  look: Look | null;
  lookedAtMs: number;
  alive: readonly SeenCollector[];
  stillMs: ReadonlyMap<string, number>;
};

export class LeaseWatch {
  readonly #id: string;
  readonly #leases = new BeatWatch();
  readonly #collectors = new BeatWatch();
  #view: View = { look: null, lookedAtMs: -Infinity, alive: [], stillMs: new Map() };

  constructor({ id }: Pick<Self, "id">) {
    this.#id = id;
  }

  get view(): View {
    return this.#view;
  }

  /**
   * Takes a look in, unless a newer one is known.
   *
   * @param sentMs when it was asked for, and `nowMs` now, on the monotonic clock
   * @returns whether it is the newest
   */
  saw(look: Look, { sentMs, nowMs }: { sentMs: number; nowMs: number }): boolean {
    if (sentMs < this.#view.lookedAtMs) return false;
    this.#leases.saw(new Map(look.leases.map((lease) => [lease.account, lease])), nowMs);
    const runs = look.collectors.map(({ id, run, beat }) => [id, { fence: run, beat }] as const);
    this.#collectors.saw(new Map(runs), nowMs);
    this.#judge(look, sentMs);
    return true;
  }

  /** A question that was sent then failed. Without a newer look, all watching begins again. */
  blind(sentMs: number): void {
    if (this.#view.lookedAtMs >= sentMs) return;
    this.#leases.blind();
    this.#collectors.blind();
    if (this.#view.look) this.#judge(this.#view.look, this.#view.lookedAtMs);
  }

  #judge(look: Look, lookedAtMs: number): void {
    const isAlive = ({ id, stopped, seenAgoMs }: SeenCollector): boolean =>
      id === this.#id ||
      (!stopped && this.#collectors.stillMs(id, lookedAtMs) < LEASE_MS && seenAgoMs < 2 * LEASE_MS);
    const still = look.leases.map(
      ({ account }) => [account, this.#leases.stillMs(account, lookedAtMs)] as const,
    );
    this.#view = { look, lookedAtMs, alive: look.collectors.filter(isAlive), stillMs: new Map(still) };
  }
}

function leaseOf({ look }: View, account: string): SeenLease | undefined {
  return look?.leases.find((lease) => lease.account === account);
}

export function peersOf({ alive }: View, { id }: Pick<Own, "id">): SeenCollector[] {
  return alive.filter((collector) => collector.id !== id);
}

export function remembersOthers({ collectors }: Look, { id }: Own): boolean {
  return collectors.some((one) => one.id !== id && one.seenAgoMs < REMEMBERED_MS);
}

/**
 * Whether no other collector can run, by a look since this one has joined. A collector that is only silent may be kept from
 * writing by the same slow database: if both presumed the same account, both would call it.
 */
export function hasNoPeer({ look, lookedAtMs }: View, { id }: Own, joinedAtMs: number): boolean {
  if (lookedAtMs < joinedAtMs) return false;
  return (look?.collectors ?? []).every(
    (one) => one.id === id || one.stopped || one.seenAgoMs >= REMEMBERED_MS,
  );
}

type LoggedIn = (account: string) => boolean | null;

function isLoggedInElsewhere(view: View, account: string, own: Pick<Own, "id">): boolean {
  return peersOf(view, own).some(({ knows }) => knows.loggedIn?.includes(account));
}

/** Whether a lease is surely another collector's: its holder reports, and has not released it. */
export function isHeldByPeer(view: View, account: string, { id, dead }: Own): boolean {
  const lease = leaseOf(view, account);
  if (!lease || lease.released || dead.includes(lease.run) || lease.holder === id) return false;
  return view.alive.some((one) => one.id === lease.holder && one.run === lease.run);
}

/**
 * The lease if it may be taken over: the database says that it has expired, and this collector itself has watched it for as long
 * as a lease holds. The database's clock alone may have jumped.
 */
export function expiredLease(view: View, account: string): SeenLease | null {
  const lease = leaseOf(view, account);
  return lease?.expired && (view.stillMs.get(account) ?? 0) >= LEASE_MS ? lease : null;
}

function dueOf(view: View, own: Own, accounts: number): Map<string, number> {
  const self = { id: own.id, number: own.number ?? 0 };
  return quotas([self, ...peersOf(view, own)], accounts);
}

export function freeAccounts(
  view: View,
  own: Own,
  { wanted, held }: { wanted: readonly string[]; held: readonly string[] },
): string[] {
  if (!view.look) return [];
  return wanted.filter((account) => !held.includes(account) && !isHeldByPeer(view, account, own));
}

type ClaimOptions = {
  /** With the time for which each account was free, in ms. */
  free: ReadonlyMap<string, number>;
  wanted: number;
  heldCount: number;
  isLoggedIn?: LoggedIn;
};

/**
 * The free accounts that this collector may claim: as many as it is short of its quota, those that nobody else has acquired for long,
 * and each that somebody has logged in to here; none to which somebody has logged in elsewhere alone.
 */
export function claimable(
  view: View,
  own: Own,
  { free, wanted, heldCount, isLoggedIn = () => null }: ClaimOptions,
): string[] {
  const room = Math.max(0, (dueOf(view, own, wanted).get(own.id) ?? wanted) - heldCount);
  const mine = [...free].filter(
    ([account]) => isLoggedIn(account) === true || !isLoggedInElsewhere(view, account, own),
  );
  return mine.flatMap(([account, freeMs], place) =>
    isLoggedIn(account) === true || place < room || freeMs > LEFT_TO_OTHERS_MS + LEASE_MS ? [account] : [],
  );
}

/** Held accounts that the files no longer name, and those that somebody has logged in to on another collector's machine alone. */
export function misplaced(
  view: View,
  own: Own,
  { held, wanted, isLoggedIn }: { held: readonly string[]; wanted: readonly string[]; isLoggedIn: LoggedIn },
): string[] {
  return held.filter(
    (account) =>
      !wanted.includes(account) || (isLoggedIn(account) === false && isLoggedInElsewhere(view, account, own)),
  );
}

export function hasTooMany(
  view: View,
  own: Own,
  { wanted, heldCount }: { wanted: number; heldCount: number },
): boolean {
  const due = dueOf(view, own, wanted);
  const holds = (id: string): number =>
    (view.look?.leases ?? []).filter(({ holder, released }) => holder === id && !released).length;
  return (
    heldCount > (due.get(own.id) ?? 0) && peersOf(view, own).some(({ id }) => holds(id) < (due.get(id) ?? 0))
  );
}

/**
 * Why a held lease is not renewed:
 * - "replaced": another process is this collector;
 * - "restored": the database was set back to a time before the grant, for fences only rise;
 * - "lost": this collector was paused or cut off for so long that it was taken for dead.
 */
export function lossOf(
  lease: SeenLease | undefined,
  fence: number,
  { id, run }: Own,
): "replaced" | "restored" | "lost" {
  if (!lease || lease.fence < fence) return "restored";
  return lease.holder === id && lease.run !== run && lease.fence > fence ? "replaced" : "lost";
}

/** The name of the collector that calls an account this one does not hold, "" where it has none; null: nobody does. */
export function callerOf(view: View, account: string, own: Own): string | null {
  const lease = leaseOf(view, account);
  if (!lease || lease.released) return null;
  const isTwin = lease.holder === own.id && (view.stillMs.get(account) ?? 0) < LEASE_MS;
  if (!isTwin && !isHeldByPeer(view, account, own)) return null;
  return view.look?.collectors.find(({ id }) => id === lease.holder)?.name ?? "";
}

export function countedCollectors({ look }: View, { id }: Own) {
  const others = (look?.collectors ?? []).filter((one) => one.id !== id);
  const isGone = ({ seenAgoMs }: SeenCollector): boolean => seenAgoMs > GONE_AFTER_MS;
  const running = others.filter((one) => !one.stopped && !isGone(one));
  const stopped = others.filter((one) => one.stopped).length;
  const gone = others.length - running.length - stopped;
  return { running, counts: { running: 1 + running.length, stopped, gone } };
}

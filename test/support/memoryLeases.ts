/**
 * The fleet's tables in memory, for time that a test moves: does what src/archive/ledger/leaseRows.ts does in a database, and a
 * property (test/archive/leaseRows.test.ts) holds the two together. Each client has a way of its own to the database, which
 * can be cut.
 */
import type {
  Epoch,
  FilesDigest,
  Grant,
  HeldLease,
  Knows,
  LeaseStore,
  Look,
  SeenCollector,
  SeenLease,
  Self,
  CollectorReport,
} from "../../src/accounts/lease/leaseStore.ts";
import type { Clock } from "../../src/ground/clock.ts";
import { QuotekeeperError } from "../../src/ground/errors.ts";

/**
 * What is wrong with a client's way, or with everybody's:
 * - `away`: refused at once;
 * - `silent`: neither done nor answered, ever;
 * - `unanswered`: done, and then it fails;
 * - `slowMs`: what is asked arrives so much later;
 * - `writesMs`: the same of what writes;
 * - `answersMs`: what is answered arrives so much later.
 */
export type LeaseFaults = {
  away?: boolean;
  silent?: boolean;
  unanswered?: boolean;
  slowMs?: number;
  writesMs?: number;
  answersMs?: number;
};

type CollectorRow = Omit<SeenCollector, "seenAgoMs"> & Omit<Self, "id" | "run"> & { seenAtMs: number };
type LeaseRow = Omit<SeenLease, "expired"> & { renewedAtMs: number; expiresAtMs: number; governor: unknown };
type HistoryRow = Pick<SeenLease, "account" | "fence"> &
  Pick<Grant, "how" | "previous"> & { takenAtMs: number; collector: string };

/** The database. */
export type MemoryLeases = {
  /** A client's way to it: `faults` are its own. */
  client: (faults?: LeaseFaults) => LeaseStore;
  /** Faults of everybody's ways; changed in place, as are those of a client. */
  faults: LeaseFaults;
  /** How far its clock is ahead of the one that was given, in ms. */
  skewMs: number;
  /** Names of accounts that the operator has drained. */
  drained: Set<string>;
  /** The operator forgets a collector. */
  forget: (id: string) => void;
  /** Who took which account when. */
  history: HistoryRow[];
  /** Keeps everything as it is. @returns puts it back, as a restored dump does */
  dump: () => () => void;
};

const TTL_MS = 7_000;

/** An empty one. @param clock of its time and of those who wait for a slow answer */
export function memoryLeases(clock: Pick<Clock, "now" | "sleep">): MemoryLeases {
  const collectors = new Map<string, CollectorRow>();
  const leases = new Map<string, LeaseRow>();
  const epochs: Epoch[] = [];
  const all: MemoryLeases = {
    faults: {},
    skewMs: 0,
    drained: new Set(),
    history: [],
    forget: (id) => void collectors.delete(id),
    dump: () => {
      const kept = copy([[...collectors], [...leases], epochs] as const);
      return () => {
        const [collectorRows, leaseRows, epochRows] = copy(kept);
        collectors.clear();
        leases.clear();
        for (const [id, row] of collectorRows) collectors.set(id, row);
        for (const [account, row] of leaseRows) leases.set(account, row);
        epochs.splice(0, epochs.length, ...epochRows);
      };
    },
    client: (own = {}) => {
      /** Each is done at one instant, as a statement is. */
      const does =
        <A extends unknown[], R>(work: (...given: A) => R, writes = true) =>
        async (...given: A): Promise<R> => {
          // What was asked is what was sent: nobody changes it on its way.
          const sent = copy(given);
          const sum = (fault: "slowMs" | "writesMs" | "answersMs"): number =>
            (all.faults[fault] ?? 0) + (own[fault] ?? 0);
          const slowMs = sum("slowMs") + (writes ? sum("writesMs") : 0);
          if (slowMs > 0) await clock.sleep(slowMs);
          const has = (fault: "away" | "silent" | "unanswered"): boolean =>
            !!(all.faults[fault] || own[fault]);
          if (has("silent")) return new Promise(() => undefined);
          if (has("away")) throw refused();
          const result = copy(work(...sent));
          if (sum("answersMs") > 0) await clock.sleep(sum("answersMs"));
          if (has("unanswered")) throw refused();
          return result;
        };
      return {
        look: does(look, false),
        join: does(join),
        round: does(round),
        claim: does(claim),
        release: does(release),
        propose: does(propose),
      };
    },
  };
  return all;

  function nowMs(): number {
    return clock.now().getTime() + all.skewMs;
  }

  function isExpired({ expiresAtMs, renewedAtMs }: LeaseRow): boolean {
    return expiresAtMs <= nowMs() || renewedAtMs > nowMs();
  }

  function epochsFrom(atMs: number): Epoch[] {
    const inForce = epochs.findLast(({ fromMs }) => fromMs <= atMs)?.number ?? 0;
    return epochs.filter(({ number }) => number >= inForce);
  }

  function look(): Look {
    return {
      nowMs: nowMs(),
      collectors: [...collectors.values()]
        .toSorted((a, b) => a.number - b.number)
        .map(
          ({ id, number, name, run, beat, stopped, seenAtMs, jobsDigest, files, knows, clockOffsetMs }) => ({
            ...{ id, number, name, run, beat, stopped, jobsDigest, files, knows, clockOffsetMs },
            seenAgoMs: Math.max(0, nowMs() - seenAtMs),
          }),
        ),
      leases: [...leases.values()]
        .toSorted((a, b) => (a.account < b.account ? -1 : 1))
        .map((lease) => {
          const { account, fence, holder, run, beat, released } = lease;
          return { account, fence, holder, run, beat, released, expired: isExpired(lease) };
        }),
      epochs: epochsFrom(nowMs()),
      drained: [...all.drained].toSorted(),
    };
  }

  function join(self: Self, telling: CollectorReport): { number: number; name: string; epochs: Epoch[] } {
    const known = collectors.get(self.id);
    const others = [...collectors.values()];
    const number =
      known?.number ??
      Array.from({ length: 256 }, (_, place) => place).find((one) =>
        others.every((row) => row.number !== one),
      );
    if (number === undefined) throw new QuotekeeperError("COLLECTORS_TOO_MANY", "256 have joined");
    const isFree = (name: string): boolean => others.every((row) => row.name !== name);
    const { host, id } = self;
    const name = known?.name ?? [host, `${host}-${number}`, `${host}-${id}`].find(isFree) ?? "";
    const beat = known ? known.beat + 1 : 0;
    collectors.set(id, { ...self, number, name, beat, stopped: false, ...told(telling) });
    return { number, name, epochs: epochsFrom(nowMs() - 86_400_000) };
  }

  function told({ jobsDigest, files, knows, clockOffsetMs }: CollectorReport): {
    jobsDigest: string;
    files: FilesDigest;
    knows: Knows;
    clockOffsetMs: number | null;
    seenAtMs: number;
  } {
    const most = 2 ** 31 - 1;
    const offsetMs =
      clockOffsetMs === null ? null : Math.max(-most, Math.min(most, Math.round(clockOffsetMs)));
    return { jobsDigest, files, knows, clockOffsetMs: offsetMs, seenAtMs: nowMs() };
  }

  function mine({ id, run }: Self, held: readonly HeldLease[]): [LeaseRow, HeldLease][] {
    return held.flatMap((one): [LeaseRow, HeldLease][] => {
      const lease = leases.get(one.account);
      return lease?.holder === id && lease.run === run && lease.fence === one.fence ? [[lease, one]] : [];
    });
  }

  function round(
    self: Self,
    telling: CollectorReport,
    held: readonly HeldLease[],
  ): Awaited<ReturnType<LeaseStore["round"]>> {
    const collector = collectors.get(self.id);
    if (collector) Object.assign(collector, told(telling), { beat: collector.beat + 1 });
    const renewed = mine(self, held).filter(([lease]) => !lease.released);
    for (const [lease, { governor }] of renewed) keep(lease, TTL_MS, { governor });
    return {
      ...look(),
      renewed: renewed.map(([{ account }]) => account).toSorted(),
      isKnown: collector !== undefined,
    };
  }

  function keep(lease: LeaseRow, ttlMs: number, more: Partial<LeaseRow>): void {
    Object.assign(lease, more, {
      beat: lease.beat + 1,
      renewedAtMs: nowMs(),
      expiresAtMs: nowMs() + ttlMs,
    });
  }

  function claim(claims: Parameters<LeaseStore["claim"]>[0], self: Self, dead: readonly string[]): Grant[] {
    return claims
      .flatMap((one) => claimOne(one, self, dead) ?? [])
      .toSorted((a, b) => (a.account < b.account ? -1 : 1));
  }

  function claimOne(
    { account, seen }: Parameters<LeaseStore["claim"]>[0][number],
    self: Self,
    dead: readonly string[],
  ): Grant | null {
    const lease = leases.get(account);
    const how = howFree(lease, dead, seen);
    if (how === null) return null;
    const previous = (lease && collectors.get(lease.holder)?.name) ?? null;
    const granted: Grant = {
      ...{ account, fence: (lease?.fence ?? 0) + 1, how, previous, governor: lease?.governor ?? null },
      agoMs: lease ? Math.max(0, nowMs() - lease.renewedAtMs) : null,
      renewedMs: lease?.renewedAtMs ?? null,
    };
    const row = lease ?? { account, beat: -1, governor: null };
    const taken = { fence: granted.fence, holder: self.id, run: self.run, released: false };
    keep(row as LeaseRow, TTL_MS, taken);
    leases.set(account, row as LeaseRow);
    const collector = collectors.get(self.id)?.name ?? self.host;
    all.history.push({ account, fence: granted.fence, how, previous, takenAtMs: nowMs(), collector });
    return granted;
  }

  function howFree(
    lease: LeaseRow | undefined,
    dead: readonly string[],
    seen: Pick<SeenLease, "fence" | "beat"> | null,
  ): Grant["how"] | null {
    if (!lease) return "new";
    if (lease.released) return "released";
    if (dead.includes(lease.run)) return "restarted";
    const unchanged = lease.fence === seen?.fence && lease.beat === seen.beat;
    return unchanged && isExpired(lease) ? "expired" : null;
  }

  function release(self: Self, held: readonly HeldLease[], stops: object | null): string[] {
    const collector = collectors.get(self.id);
    if (stops && collector?.run === self.run)
      Object.assign(collector, { stopped: true, seenAtMs: nowMs(), beat: collector.beat + 1 });
    const released = mine(self, held);
    for (const [lease, { governor }] of released) keep(lease, 0, { released: true, governor });
    return released.map(([{ account }]) => account).toSorted();
  }

  function propose(after: number, epoch: Omit<Epoch, "number">): boolean {
    if (epochs.some(({ number }) => number === after + 1)) return false;
    epochs.push({ number: after + 1, ...epoch });
    epochs.sort((a, b) => a.number - b.number);
    return true;
  }
}

/** As JSON has it, as the database does. */
function copy<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}

function refused(): Error {
  return Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
}

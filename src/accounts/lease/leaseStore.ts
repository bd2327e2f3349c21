/** What a collector asks of the database about leases; `archive/ledger/leaseRows.ts` answers it. */

/** Digests of a collector's files one by one, jobs and accounts by name: to say what differs. No secrets. */
export type FilesDigest = {
  jobs: Record<string, string>;
  accounts: Record<string, string>;
  calendar: string;
};

/** What chains are expanded by on an exchange date: last prices, decimal text, and listed expirations, by underlying. */
export type ChainFacts = {
  date: string;
  of: Readonly<Record<string, string>>;
  listed?: Readonly<Record<string, readonly string[]>>;
};

/** What a collector wants in the next epoch: accounts that the service refuses, and what chains are expanded by. */
export type Knows = {
  refused: string[];
  prices: ChainFacts | null;
  /** Accounts that a person has logged in to on its machine, of those whose service wants that; absent: none. */
  loggedIn?: string[] | undefined;
};

/** A collector: `id` (a UUID) is that of its data directory, `run` that of its process. */
export type Self = { id: string; run: string; host: string; pid: number; version: string };

/** What it tells the others in each round. `journalLag` in bytes; `clockOffsetMs`: how far its clock is ahead. */
export type CollectorReport = {
  jobsDigest: string;
  files: FilesDigest;
  knows: Knows;
  journalLag: number | null;
  clockOffsetMs: number | null;
};

/** A lease of one's own, and what whoever comes next has to know of the account's budget: anything that is JSON. */
export type HeldLease = { account: string; fence: number; governor: unknown };

/** A collector as others see it. One that was set back in time, or whose database was, has been seen 0 ms ago. */
export type SeenCollector = {
  id: string;
  number: number;
  name: string;
  run: string;
  beat: number;
  stopped: boolean;
  seenAgoMs: number;
  jobsDigest: string;
  files: FilesDigest;
  knows: Knows;
  /** How far its clock is ahead of the database's, in ms; null: it has not said. */
  clockOffsetMs: number | null;
};

/** A lease as others see it. `expired` by the database's clock, also where that was set back since its renewal. */
export type SeenLease = {
  account: string;
  fence: number;
  holder: string;
  run: string;
  beat: number;
  released: boolean;
  expired: boolean;
};

/** What all go by in slots from `fromMs` on, until the next one is in force. Of two in force the higher number counts. */
export type Epoch = {
  number: number;
  fromMs: number;
  jobsDigest: string;
  accounts: string[];
  prices: ChainFacts | null;
};

/**
 * All that stands there: collectors by number, leases and drained accounts by name, epochs by number: the one in force and
 * those ahead.
 */
export type Look = {
  nowMs: number;
  collectors: SeenCollector[];
  leases: SeenLease[];
  epochs: Epoch[];
  drained: string[];
};

/** An account whose lease is wanted. `seen`: the lease as it was watched, unchanged for long enough; null: it was not. */
type Claim = { account: string; seen: Pick<SeenLease, "fence" | "beat"> | null };

/**
 * A lease that was taken. `governor` is what the holder before has said last, `agoMs` ago (0 where the database's clock was set
 * back since), at `renewedMs`; `previous` is its name, null where there was none or it is forgotten.
 */
export type Grant = {
  account: string;
  fence: number;
  how: "new" | "released" | "restarted" | "expired";
  governor: unknown;
  agoMs: number | null;
  previous: string | null;
  renewedMs: number | null;
};

/** The fleet's tables. Everything throws the database's errors as they are; what has failed may have happened. */
export type LeaseStore = {
  look: () => Promise<Look>;
  /**
   * Registers; number and name stay those of an id that was there. With them come all epochs that were in force since a day
   * ago, and those ahead: slots that last yet began in them.
   *
   * @throws QuotekeeperError COLLECTORS_TOO_MANY when all 256 numbers are given away
   */
  join: (self: Self, telling: CollectorReport) => Promise<{ number: number; name: string; epochs: Epoch[] }>;
  /**
   * Tells of oneself, renews and looks, in one round trip.
   *
   * @returns `renewed`: accounts whose lease is ours still, whatever `leases` says: one that is lost in this very moment may
   *   stand there as it was; `isKnown` false: an operator has forgotten us
   */
  round: (
    self: Self,
    telling: CollectorReport,
    held: readonly HeldLease[],
  ) => Promise<Look & { renewed: string[]; isKnown: boolean }>;
  /**
   * Takes the leases of accounts where nobody has them: see above. One round trip.
   *
   * @param dead runs that are surely dead; the collector's own where a claim's answer was lost
   * @returns a grant for each account that nobody else has, by account
   */
  claim: (claims: readonly Claim[], self: Self, dead: readonly string[]) => Promise<Grant[]>;
  /**
   * Gives leases back, and says with `stops` that the collector ends, and what of its journal is not loaded then.
   *
   * @returns accounts that were still ours
   */
  release: (
    self: Self,
    held: readonly HeldLease[],
    stops: Pick<CollectorReport, "journalLag"> | null,
  ) => Promise<string[]>;
  /**
   * Proposes the epoch after `after`, 0 when there is none.
   *
   * @param from when it begins
   * @returns false: another collector was first
   */
  propose: (after: number, epoch: Omit<Epoch, "number">, by: string) => Promise<boolean>;
};

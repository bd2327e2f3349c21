/**
 * Which account asks for what. Calls are spread by weighted rendezvous hashing: each account draws a number for each
 * call, and the highest takes it, so that an account that comes or goes moves few calls of the others. A bound on
 * what each takes makes the spread even. Nothing but the arguments matters, and not their order: every process
 * comes to the same result. Pure.
 */
import { createHash } from "node:crypto";

export type Sharer = {
  name: string;
  /** Calls that it may make in a window; its share of the work is in proportion to their rate. */
  limit: number;
  windowMs: number;
};

/** What a job wants; names are as the ledger has them. */
export type JobWants = {
  job: string;
  priority: number;
  delayed: boolean;
  account: string | null;
  symbols: readonly string[];
  contracts: readonly string[];
  watchlist: string | null;
};

export type Partition = (name: string, delayed: boolean) => string | null;

/** Symbols of a block, unless the service says how many its lists begin with. No longer list counts: each process learns its own. */
const BLOCK_SIZE = 100;

/**
 * A contract and a watchlist are a call each. Symbols go in blocks, a call each; those of a block are wanted by the
 * same jobs, so that no call is half empty where one of them alone is due. Each name has one owner, whatever jobs want
 * it. Its delayed and its real-time quotes need different calls anyway, so these may have two.
 *
 * What a pinned job wants is asked by its account alone, for other jobs as well; of two pins the one of the higher
 * priority holds, then the one of the job whose name comes first. A pin to an account that does not take part does
 * not hold, because what is not polled is gone. A watchlist is another one at another account: when all who want it are
 * pinned to absent accounts, nobody asks for it.
 *
 * An account has at most its weighted share of all calls, rounded up, unless pins give it more. The same is true of the
 * calls for what the same jobs want, so that their slots are even too, as long as the first bound has room.
 *
 * @param wanted each job once
 */
export function partition(
  wanted: readonly JobWants[],
  accounts: readonly Sharer[],
  blockSize = BLOCK_SIZE,
): Partition {
  const takers = takersOf(accounts);
  const present = new Set(takers.map(({ name }) => name));
  const [only] = takers;
  if (only && takers.length === 1 && !wanted.some((job) => job.watchlist !== null && isAbsent(job, present)))
    return () => only.name;

  const groups = [true, false].flatMap((delayed) =>
    groupsOf(
      wanted.filter((one) => one.delayed === delayed),
      { delayed, blockSize, present },
    ),
  );
  const owners = new Map<string, string>();
  const give = ({ delayed }: Group, { names }: Unit, taker: Taker): void => {
    taker.load += 1;
    for (const name of names) owners.set(`${delayed} ${name}`, taker.name);
  };
  const count = groups.reduce((sum, { units }) => sum + units.length, 0);
  for (const group of groups)
    for (const taker of takers.filter(({ name }) => name === group.pin))
      for (const unit of group.units) give(group, unit, taker);
  // The large ones first: the small ones fill up what rounding leaves.
  const free = groups.filter(({ pin }) => pin === null).sort((a, b) => b.units.length - a.units.length);
  for (const group of free) {
    const before = new Map(takers.map((taker) => [taker, taker.load]));
    for (const unit of group.units) {
      const open = takers.filter(({ load, share }) => load < roundedUp(share * count));
      const even = open.filter(
        (taker) => taker.load - (before.get(taker) ?? 0) < roundedUp(taker.share * group.units.length),
      );
      const taker = highest(unit.key, even) ?? highest(unit.key, open);
      if (taker) give(group, unit, taker);
    }
  }
  return (name, delayed) => owners.get(`${delayed} ${name}`) ?? null;
}

/** A call: the names it asks for, and what accounts draw for. */
type Unit = { key: string; names: readonly string[] };

/** The calls for what exactly the same jobs want. */
type Group = { units: Unit[]; delayed: boolean; pin: string | null };

/** Jobs in the order of their names, and what all of them and no others want. */
type JobSet = {
  jobs: readonly JobWants[];
  larger: Map<JobWants, JobSet>;
  symbols: string[];
  singles: string[];
};

/** @param wanted all of one `delayed` */
function groupsOf(
  wanted: readonly JobWants[],
  { delayed, blockSize, present }: { delayed: boolean; blockSize: number; present: ReadonlySet<string> },
): Group[] {
  return jobSetsOf(wanted).map(({ jobs, symbols, singles }) => {
    const key = [delayed, ...jobs.map(({ job }) => job)].join(" ");
    const [pin = null] = jobs
      .filter((job) => !isAbsent(job, present))
      .sort((a, b) => b.priority - a.priority)
      .flatMap(({ account }) => account ?? []);
    const isOfNobody = (name: string): boolean =>
      jobs.every((job) => isAbsent(job, present)) && jobs.some(({ watchlist }) => watchlist === name);
    const blocks = Array.from({ length: Math.ceil(symbols.length / blockSize) }, (_, number) => ({
      key: `${key} ${number}`,
      names: symbols.slice(number * blockSize, (number + 1) * blockSize),
    }));
    const alone = singles
      .filter((name) => !isOfNobody(name))
      .map((name) => ({ key: `${delayed} ${name}`, names: [name] }));
    return { units: [...blocks, ...alone], delayed, pin };
  });
}

/** Thousands of names are wanted by the same few jobs: each set of jobs is made once. In the order of their jobs' names. */
function jobSetsOf(wanted: readonly JobWants[]): JobSet[] {
  const sets: JobSet[] = [];
  const setOf = (jobs: readonly JobWants[]): JobSet => {
    const set = { jobs, larger: new Map<JobWants, JobSet>(), symbols: [], singles: [] };
    sets.push(set);
    return set;
  };
  const none = setOf([]);
  const wantedBy = new Map<string, JobSet>();
  const singles = new Set<string>();
  for (const job of [...wanted].sort(inOrderOf((one) => one.job))) {
    for (const name of [...job.contracts, job.watchlist ?? []].flat()) singles.add(name);
    for (const name of [...job.symbols, ...job.contracts, job.watchlist ?? []].flat()) {
      const set = wantedBy.get(name) ?? none;
      // Named twice by this job.
      if (set.jobs.at(-1) === job) continue;
      const larger = set.larger.get(job) ?? setOf([...set.jobs, job]);
      set.larger.set(job, larger);
      wantedBy.set(name, larger);
    }
  }
  for (const name of [...wantedBy.keys()].sort()) {
    const set = wantedBy.get(name) ?? none;
    (singles.has(name) ? set.singles : set.symbols).push(name);
  }
  return sets.sort(inOrderOf(({ jobs }) => jobs.map(({ job }) => job).join(" ")));
}

function isAbsent({ account }: JobWants, present: ReadonlySet<string>): boolean {
  return account !== null && !present.has(account);
}

/** An account while calls are given out: its share of all, and how many it has. */
type Taker = { name: string; share: number; hash: number; load: number };

function takersOf(accounts: readonly Sharer[]): Taker[] {
  const sorted = [...accounts].sort(inOrderOf(({ name }) => name));
  // In order, because sums of fractions depend on it.
  const rate = sorted.reduce((sum, { limit, windowMs }) => sum + limit / windowMs, 0);
  return sorted.map(({ name, limit, windowMs }) => ({
    name,
    share: limit / windowMs / rate,
    hash: hashOf(name),
    load: 0,
  }));
}

/** What the rounding of fractions adds to a whole number is no call. */
function roundedUp(calls: number): number {
  return Math.ceil(calls - 1e-9);
}

/** The account that draws the highest number, which it does as often as its share says. */
function highest(key: string, takers: readonly Taker[]): Taker | null {
  const hash = hashOf(key);
  let [best, most]: [Taker | null, number] = [null, -Infinity];
  for (const taker of takers) {
    const drawn = Math.log(mixed(hash ^ taker.hash)) / taker.share;
    if (drawn > most) [best, most] = [taker, drawn];
  }
  return best;
}

function hashOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE();
}

/** A number above 0 and below 1 (the last step of MurmurHash3): a digest for each account and call would take 40 ms. */
function mixed(hash: number): number {
  let mix = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35);
  return (((mix ^ (mix >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}

function inOrderOf<Item>(textOf: (item: Item) => string): (a: Item, b: Item) => number {
  return (a, b) => (textOf(a) < textOf(b) ? -1 : textOf(a) > textOf(b) ? 1 : 0);
}

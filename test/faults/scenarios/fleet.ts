/**
 * Three collectors share four accounts of one archive, and one fault after the other strikes them. Then everything is
 * recounted from the journals' bytes and the service's own log, which knows whose each call was.
 */
import { setTimeout as delay } from "node:timers/promises";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import { until } from "../../support/until.ts";
import { type Member, openFleetOf } from "../kit/fleet.ts";
import { auditFleet } from "../kit/fleetAudit.ts";
import { auditLedger } from "../kit/ledgerAudit.ts";
import { type Gap, recount } from "../kit/recount.ts";
import type { SharedArrival, SharedService } from "../kit/sharedService.ts";
import { readPositions } from "../kit/stored.ts";
import type { World } from "../kit/world.ts";
import { NAMES, writeShared } from "./sharedAccounts.ts";
import { CALLS_UNDER_WAY, type Verdict } from "./verdict.ts";

/** Their names. */
const MEMBERS = ["one", "two", "three"] as const;

/** So long an account may have no owner, in ms. */
const NO_OWNER_MS = 15_000;

/** Of a slot that had an owner for less than this nothing is expected, in ms. */
const WITHIN_A_SLOT_MS = 4_000;

/** Findings of one kind listed at most. */
const MOST_FINDINGS = 5;

/** What may strike, and how often each does. */
const WEIGHTS = {
  kill: 4,
  "kill, and away": 3,
  "pause 3": 2,
  "pause 20": 2,
  "pause 60": 0.2,
  // A third of all pauses.
  "pause 3 in a round": 0.6,
  "pause 20 in a round": 1.5,
  "cut 3": 2,
  "cut 20": 3,
  "silence 3": 2,
  "silence 20": 3,
  "all cut": 2,
  "all silent": 1,
  restart: 3,
  "end, and away": 2,
  refuse: 1,
  "old journal": 2,
} as const;

/** Is never drawn: with a clock that was moved the ledger alone knows which slots there were. */
const CLOCK = "clock";

/** Are never drawn: a scenario of its own does both for longer. */
type Upgrade = "no database" | "each restarted";

/** What a clock may be off by for a while, in ms. */
const OFFSETS_MS = [60_000, -60_000, 3_600_000, -3_600_000];

/** The name of a fault. Numbers are seconds; the others take what is drawn. */
export type FaultName = keyof typeof WEIGHTS | typeof CLOCK | Upgrade;

/** So many faults as they are drawn. @param random gives numbers from 0 to 1 */
export function drawFaults(count: number, random: () => number): FaultName[] {
  const names = Object.keys(WEIGHTS) as (keyof typeof WEIGHTS)[];
  const sum = names.reduce((all, name) => all + WEIGHTS[name], 0);
  return Array.from({ length: count }, () => {
    let left = random() * sum;
    return names.find((name) => (left -= WEIGHTS[name]) < 0) ?? "kill";
  });
}

/** How it goes. */
type Course = {
  service: SharedService;
  limit: number;
  windowMs: number;
  faults: readonly FaultName[];
  /** @returns numbers from 0 to 1 */
  random: () => number;
  /** How far the database is from all of them, in ms a round trip. Default: it is beside them. */
  roundTripMs?: number;
  /** Whether waits are held to what is promised; false: the machine's speed is not to matter. */
  isTimed: boolean;
  onFault?: (done: number) => void;
};

type Struck = { name: FaultName; fromMs: number; toMs: number };

const nowMs = (): number => systemClock.now().getTime();

/** Runs it. */
export async function shareFleet(world: World, course: Course): Promise<Verdict> {
  const { service, faults, random, isTimed, onFault } = course;
  const fleet = await openedFleet(world, course);
  for (const member of fleet) member.moveAway(course.roundTripMs ?? 0);
  const struck: Struck[] = [];
  const takeOvers: number[] = [];
  const violations: string[] = [];
  try {
    await beginFleet(world, fleet, service);
    for (const [place, name] of faults.entries()) {
      const member = fleet[Math.floor(random() * fleet.length)] as Member;
      const account = NAMES[Math.floor(random() * NAMES.length)] ?? "main";
      const held = await heldBy(world, member);
      const fromMs = nowMs();
      await strike(name, { world, fleet, member, account, service, random });
      struck.push({ name, fromMs, toMs: nowMs() });
      for (const one of fleet.filter(({ process }) => !process.isRunning())) {
        violations.push(`${one.name} ended after ${name}: ${one.process.output().slice(-500)}`);
        one.start();
      }
      await allCalled(service);
      if (!name.startsWith("all") && name !== "refuse")
        takeOvers.push(...takeOversOf(service.calls(), { held, member, fromMs, toMs: nowMs() }));
      await delay(isTimed ? 1_000 + 3_000 * random() : 500);
      onFault?.(place + 1);
    }
  } catch (error) {
    await Promise.all(fleet.map(({ process }) => process.kill()));
    throw error;
  }
  // What is recounted is loaded first, which takes a far database long.
  for (const member of fleet) member.moveAway(0);
  const verdict = await concludeFleet(world, {
    ...{ fleet, service, struck, isTimed, scenario: "fleet" },
    did: `${MEMBERS.length} collectors, ${NAMES.length} accounts, ${faults.length} faults: ${tally(faults)}`,
  });
  takeOvers.sort((a, b) => a - b);
  const longest = takeOvers.at(-1) ?? 0;
  if (isTimed && longest > NO_OWNER_MS) violations.push(`a take-over took ${longest} ms`);
  return {
    ...verdict,
    figures: {
      ...{ faults: faults.length, takeOvers: takeOvers.length },
      ...{ medianTakeOverMs: takeOvers[Math.floor(takeOvers.length / 2)] ?? 0, longestTakeOverMs: longest },
      ...verdict.figures,
    },
    violations: [...violations, ...verdict.violations],
  };
}

/** The part of a fleet scenario that comes before the first collector. */
export async function openedFleet(
  world: World,
  limits: { limit: number; windowMs: number },
): Promise<Member[]> {
  writeShared(world, limits, NAMES);
  const fleet = await openFleetOf(world, MEMBERS);
  // So that the first slots are known to be of a simulated market, whichever account answers first.
  // One after the other: two polls of one account may answer in the same instant, and then one quote is the other's.
  for (const member of fleet) await member.poll("main");
  return fleet;
}

/** Starts them, and waits until they have shared out the accounts. */
export async function beginFleet(
  world: World,
  fleet: readonly Member[],
  service: SharedService,
): Promise<void> {
  for (const member of fleet) member.start();
  await until(async () => {
    const gone = fleet.find(({ process }) => !process.isRunning());
    if (gone) throw new Error(`${gone.name} ended: ${gone.process.output()}`);
    return (await holders(world)) === fleet.length;
  }, "each collector having an account");
  await allCalled(service);
}

async function holders({ pool }: World): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    "select count(distinct holder)::int as n from leases where not released",
  );
  return rows[0]?.n ?? 0;
}

async function heldBy({ pool }: World, { id }: Member): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select name from leases join accounts on accounts.id = account_id where holder = $1 and not released",
    [id],
  );
  return rows.map(({ name }) => name);
}

/** Waits until each account was called and answered. */
export async function allCalled(service: SharedService): Promise<void> {
  const before = service.calls().length;
  await until(() => {
    const called = new Set<string>();
    const all = service.calls();
    for (let place = before; place < all.length; place += 1)
      if (all[place]?.status === 200) called.add(all[place]?.account ?? "");
    return called.size === NAMES.length;
  }, "each account being called");
}

type Strike = {
  world: World;
  fleet: readonly Member[];
  member: Member;
  account: string;
  service: SharedService;
  random: () => number;
};

/** One fault, from its beginning until nothing of it is left but what it has done. */
async function strike(name: FaultName, striking: Strike): Promise<void> {
  const { world, fleet, member, account, service, random } = striking;
  const seconds = Number(/\d+/.exec(name)?.[0] ?? 5 + 15 * random());
  const lasts = (): Promise<void> => delay(1_000 * seconds);
  const cut = async (members: readonly Member[], quietly: boolean, meanwhile = lasts): Promise<void> => {
    for (const one of members) await one.cut(quietly);
    await meanwhile();
    for (const one of members) await one.restore();
  };
  switch (name) {
    case "kill":
      await member.process.kill();
      return member.start();
    case "kill, and away":
      await member.process.kill();
      await lasts();
      return member.start();
    case "pause 3":
    case "pause 20":
    case "pause 60":
      member.process.pause();
      await lasts();
      return member.process.goOn();
    case "pause 3 in a round":
    case "pause 20 in a round":
      await member.pauseInRound();
      await lasts();
      return member.process.goOn();
    case "cut 3":
    case "cut 20":
      return cut([member], false);
    case "silence 3":
    case "silence 20":
      return cut([member], true);
    case "all cut":
      return cut(fleet, false);
    case "all silent":
      return cut(fleet, true);
    case "no database":
      return cut(fleet, false, () => allCalled(service));
    case "each restarted":
      return restartEach(world, fleet, service);
    case "restart":
      await member.end();
      return member.start();
    case "end, and away":
      await member.end();
      await lasts();
      return member.start();
    case "refuse":
      service.refuse(account, true);
      await delay(3_000);
      return service.refuse(account, false);
    case CLOCK:
      member.moveClock(OFFSETS_MS[Math.floor(random() * OFFSETS_MS.length)] ?? 0);
      await lasts();
      return member.moveClock(0);
    case "old journal":
      // What it journals now it loads only when it is back, long after others have settled these slots.
      await member.cut(false);
      await delay(4_000);
      await member.process.kill();
      await member.restore();
      await lasts();
      return member.start();
  }
}

/** Ends and starts them one after the other, as who upgrades a fleet does. */
export async function restartEach(
  world: World,
  fleet: readonly Member[],
  service: SharedService,
): Promise<void> {
  for (const member of fleet) {
    await member.end();
    member.start();
    await until(async () => (await stopped(world)) === 0, "the collector being back");
    await allCalled(service);
  }
}

/** Collectors that have said that they end, and have not come back. */
async function stopped({ pool }: World): Promise<number> {
  return (await pool.query("select from collectors where stopped")).rowCount ?? 0;
}

/** How long each account that a collector had was without calls until another one's first, in ms. */
function takeOversOf(
  calls: readonly SharedArrival[],
  { held, member, fromMs, toMs }: { held: readonly string[]; member: Member; fromMs: number; toMs: number },
): number[] {
  return held.flatMap((account) => {
    const next = calls.find(
      (call) =>
        call.account === account &&
        call.collector !== member.name &&
        call.atMs >= fromMs &&
        call.atMs <= toMs,
    );
    return next ? [next.atMs - fromMs] : [];
  });
}

function tally(faults: readonly FaultName[]): string {
  const names = [...new Set(faults)].sort();
  return names.map((name) => `${faults.filter((one) => one === name).length} ${name}`).join(", ");
}

/**
 * Ends all, has the first of them come once more, and recounts everything. Of an account that was changing hands, or of a slot
 * that began as one had ended already, nobody has opened a share: whoever comes next accounts for it.
 */
export async function concludeFleet(
  world: World,
  {
    fleet,
    service,
    struck,
    ...said
  }: {
    fleet: readonly Member[];
    service: SharedService;
    struck: readonly Struck[];
    isTimed: boolean;
    scenario: string;
    did: string;
  },
): Promise<Verdict> {
  const { pool, jobs } = world;
  const journalDirs = fleet.map(({ journalDir }) => journalDir);
  await until(() => allLoaded(world, journalDirs), "all journals being loaded");
  await until(() => fleet.every(({ hasAccounted }) => hasAccounted), "the account of the slots before");
  // Of a journal that came late the owner of each account settles what it left open, within a minute.
  const settled = "select from open_slots where ends_at < clock_timestamp() - interval '5 seconds'";
  await until(async () => (await pool.query(settled)).rowCount === 0, "the slots left open being settled");
  const clockMoved = struck.some(({ name }) => name === CLOCK);
  // By clocks that differ a slot is each collector's own, with nothing but its shares.
  const recounted = clockMoved ? [] : jobs;
  const endedFromMs = nowMs();
  await Promise.all(fleet.map((member) => member.end()));
  const ended = await comeOnceMore(world, { fleet, service, jobs: recounted, fromMs: endedFromMs });
  for (const journalDir of journalDirs) await loadAll({ pool, journalDir, clock: systemClock });
  for (const { proxy } of fleet) await proxy.close();

  const audit = await auditFleet(pool, journalDirs);
  const ledger = await auditLedger(pool, recounted);
  const arrivals = service.arrivals();
  const counted = await recount(pool, { journalDirs, jobs: recounted, arrivals, ended });
  const stale = await staleCalls(world, fleet, service.calls());
  const refusals = service.calls().filter(({ status }) => status === 429);
  const stopping = struck.filter(({ name }) => /^(kill|pause|old journal)/.test(name));
  const mostLost = stopping.length * CALLS_UNDER_WAY * NAMES.length;
  const lostSince = counted.lost.filter(({ atMs }) => atMs > (stopping.at(-1)?.toMs ?? 0));
  const gaps =
    said.isTimed && !clockMoved
      ? longGaps(counted.gaps, [...struck, { name: "kill", fromMs: endedFromMs, toMs: ended.toMs }])
      : [];
  return {
    ...{ scenario: said.scenario, did: said.did },
    figures: {
      ...{ calls: service.calls().length, refusals: refusals.length, lostUnderWay: counted.lost.length },
      ...{ answers: audit.answers, quotes: audit.quotes, slots: counted.slots },
      ...{ due: counted.due, stored: counted.stored, missed: ledger.missed, longestGap: counted.longestGap },
    },
    violations: [
      ...fleet.flatMap(({ ends }) => ends),
      ...audit.violations,
      ...ledger.violations,
      ...counted.violations,
      ...stale,
      ...gaps,
      ...(counted.lost.length > mostLost
        ? [`${counted.lost.length} answers are in no journal, more than were under way`]
        : []),
      ...lostSince.map(({ id }) => `${id} is in no journal, and nobody was killed or paused after it`),
    ],
  };
}

/** The first collector alone, until nothing is open of the slots since an instant. @returns when it was ended */
async function comeOnceMore(
  world: World,
  of: { fleet: readonly Member[]; service: SharedService; jobs: World["jobs"]; fromMs: number },
): Promise<{ fromMs: number; toMs: number }> {
  const [member] = of.fleet as [Member, ...Member[]];
  const passed = { fromMs: of.fromMs, toMs: nowMs() };
  member.start();
  await allCalled(of.service);
  await until(() => areWhole(world, of.jobs, passed), "the account of the slots in which nobody called");
  // Also of those before, for which nobody had the time: a far database takes it.
  await until(() => member.hasAccounted, "the account of the slots before");
  const fromMs = nowMs();
  await member.end();
  return { fromMs, toMs: nowMs() };
}

/** Whether the ledger has all that was due at each slot that lasted within a span. */
async function areWhole(
  { pool }: World,
  jobs: World["jobs"],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<boolean> {
  for (const { name, names, stepMs } of jobs) {
    const { rows } = await pool.query<{ due: number }>(
      "select sum(due)::int as due from slots where job = $1 and slot_at > $2 and slot_at <= $3 group by slot_at",
      [name, new Date(fromMs - stepMs).toISOString(), new Date(toMs).toISOString()],
    );
    const began = Math.floor(toMs / stepMs) - Math.floor(fromMs / stepMs) + 1;
    if (rows.length < began || rows.some(({ due }) => due !== names.length)) return false;
  }
  return true;
}

async function allLoaded({ pool }: World, journalDirs: readonly string[]): Promise<boolean> {
  const client = await pool.connect();
  try {
    const segments = (await Promise.all(journalDirs.map((dir) => listSegments(dir)))).flat();
    const positions = await readPositions(client);
    // What is written right now is never all loaded.
    const behind = segments.filter(({ name, bytes }) => (positions.get(name) ?? 0) < (bytes ?? 0) - 200_000);
    return behind.length === 0;
  } finally {
    client.release();
  }
}

/** Calls of an account by another than its owner, once that one had called it. */
export async function staleCalls(
  { pool }: Pick<World, "pool">,
  fleet: readonly Pick<Member, "id" | "name" | "wasCutOff">[],
  calls: readonly SharedArrival[],
): Promise<string[]> {
  const { rows } = await pool.query<{ account: string; at: string; holder: string; how: string }>(
    `select a.name as account, extract(epoch from taken_at) * 1000 as at, holder, how
     from lease_history join accounts a on a.id = account_id order by taken_at`,
  );
  const byId = new Map(fleet.map((member) => [member.id, member.name]));
  const grants = rows.map(({ at, holder, ...row }) => ({
    ...row,
    atMs: Number(at),
    owner: byId.get(holder) ?? "",
  }));
  const found: string[] = [];
  for (const account of NAMES) {
    const its = grants.filter((grant) => grant.account === account);
    const opened = new Set<number>();
    for (const call of [...calls].filter((one) => one.account === account).sort((a, b) => a.atMs - b.atMs)) {
      const place = its.findLastIndex(({ atMs }) => atMs <= call.atMs);
      const grant = its[place];
      // Before the collectors it was the polls' alone.
      if (!grant) continue;
      if (call.collector === grant.owner) opened.add(place);
      else if (opened.has(place) && !fleet.find(({ name }) => name === call.collector)?.wasCutOff(call.atMs))
        found.push(
          `${account} was called by ${call.collector} at ${new Date(call.atMs).toISOString()}, and was ${grant.owner}'s since ${new Date(grant.atMs).toISOString()} (${grant.how})`,
        );
    }
  }
  return found.length > MOST_FINDINGS
    ? [...found.slice(0, MOST_FINDINGS), `${found.length} stale calls`]
    : found;
}

/** Gaps that are longer than a slot, and than the faults that struck meanwhile left accounts without owners. */
function longGaps(gaps: readonly Gap[], struck: readonly Struck[]): string[] {
  const found = gaps.filter(({ slots, fromMs, toMs }) => {
    const its = struck.filter((one) => one.fromMs < toMs && one.toMs + NO_OWNER_MS > fromMs);
    return toMs - fromMs > its.length * NO_OWNER_MS + (toMs - fromMs) / slots + WITHIN_A_SLOT_MS;
  });
  return found
    .slice(0, MOST_FINDINGS)
    .map(
      ({ job, name, slots, fromMs }) =>
        `${job}: ${name} was missed at ${slots} slots in a row from ${new Date(fromMs).toISOString()}`,
    );
}

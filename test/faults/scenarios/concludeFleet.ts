/** The end of a fleet: everything is recounted from the journals' bytes and the service's own log. */
import { DEADLINES } from "../../../src/collect/transport/httpCalls.ts";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import { until } from "../../support/until.ts";
import type { Member, Span } from "../kit/fleet.ts";
import { auditFleet } from "../kit/fleetAudit.ts";
import { auditLedger } from "../kit/ledgerAudit.ts";
import { type Gap, recount } from "../kit/recount.ts";
import type { Arrival } from "../kit/feed.ts";
import type { SharedArrival, SharedService } from "../kit/sharedService.ts";
import { readPositions } from "../kit/stored.ts";
import type { World } from "../kit/world.ts";
import { allCalled, NAMES } from "./sharedAccounts.ts";
import { CALLS_UNDER_WAY, type Verdict } from "./verdict.ts";
import { CLOCK, type FaultName } from "./fleetFaults.ts";

/** So long an account may have no owner, in ms. */
export const NO_OWNER_MS = 15_000;

/** Of a slot that had an owner for less than this nothing is expected, in ms. */
const WITHIN_A_SLOT_MS = 4_000;

/** So long a collector that was asked to end waits for the calls under way, in ms. */
const CALLS_GRACE_MS = 1_500;

/** Findings of one kind listed at most. */
const MOST_FINDINGS = 5;

export type Struck = { name: FaultName; fromMs: number; toMs: number };

const nowMs = (): number => systemClock.now().getTime();

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
  const lost = lostWithoutLeaving(fleet, service.calls(), counted.lost);
  const ends = fleet.map(({ name, leavings }) => `${name} ended ${leavings.map(inWords).join()}`).join("; ");
  const lostSince = lost.filter(({ atMs }) => atMs > (stopping.at(-1)?.toMs ?? 0));
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
      ...(lost.length > mostLost
        ? [`${lost.length} answers are in no journal, more than were under way`]
        : []),
      ...lostSince.map(
        ({ id, atMs, collector }) =>
          `${id} to ${collector} at ${atMs} is in no journal, and nobody was killed or paused after it; ${ends}`,
      ),
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

/**
 * Answers in no journal, but for those to calls that were under way in an end which lasted longer than it waits for them: a slow
 * machine's.
 */
export function lostWithoutLeaving(
  fleet: readonly Pick<Member, "name" | "leavings">[],
  calls: readonly SharedArrival[],
  lost: readonly Arrival[],
): SharedArrival[] {
  const ids = new Set(lost.map(({ id }) => id));
  return calls.filter(({ id, atMs, collector }) => {
    const leavings = fleet.find(({ name }) => name === collector)?.leavings ?? [];
    const wasLeaving = leavings.some(
      ({ fromMs, toMs }) =>
        toMs - fromMs >= CALLS_GRACE_MS && atMs >= fromMs - DEADLINES.callMs && atMs <= toMs,
    );
    return ids.has(id) && !wasLeaving;
  });
}

function inWords({ fromMs, toMs }: Span): string {
  return `at ${fromMs} for ${toMs - fromMs} ms`;
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

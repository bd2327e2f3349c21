/**
 * Three collectors share four accounts of one archive, and one fault after the other strikes them. Then everything is
 * recounted from the journals' bytes and the service's own log, which knows whose each call was.
 */
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../../src/ground/clock.ts";
import { until } from "../../support/until.ts";
import { type Member, openFleetOf } from "../kit/fleet.ts";
import type { SharedArrival, SharedService } from "../kit/sharedService.ts";
import type { World } from "../kit/world.ts";
import { allCalled, NAMES, writeShared } from "./sharedAccounts.ts";
import type { Verdict } from "./verdict.ts";
import { concludeFleet, NO_OWNER_MS, type Struck } from "./concludeFleet.ts";
import { type FaultName, strike } from "./fleetFaults.ts";

/** Their names. */
const MEMBERS = ["one", "two", "three"] as const;

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

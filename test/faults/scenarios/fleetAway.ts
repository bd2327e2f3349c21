/** A fleet whose database is away, and whose collectors are then ended and started again, one after the other. */
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../../src/ground/clock.ts";
import type { SharedService } from "../kit/sharedService.ts";
import type { World } from "../kit/world.ts";
import { concludeFleet } from "./concludeFleet.ts";
import { beginFleet, openedFleet } from "./fleet.ts";
import { restartEach } from "./fleetFaults.ts";
import { allCalled, NAMES } from "./sharedAccounts.ts";
import type { Verdict } from "./verdict.ts";

/** The least part of the budget that is used while the database is away. */
const LEAST_USED = 0.94;

/** How it goes. */
type Course = {
  service: SharedService;
  limit: number;
  windowMs: number;
  /** How long the database is away, in ms. */
  awayMs: number;
  /**
   * What is held to what is promised: the budget's use, where more is due than it allows; how many slots in a row an
   * instrument is missed at, where less is. Null: the machine's speed is not to matter.
   */
  promised: "use" | "gaps" | null;
};

/** Runs it. */
export async function upgradeFleet(world: World, course: Course): Promise<Verdict> {
  const { service, limit, windowMs, awayMs, promised } = course;
  const fleet = await openedFleet(world, course);
  const nowMs = (): number => systemClock.now().getTime();
  const used = (fromMs: number, toMs: number): number => {
    const calls = service.arrivals().filter(({ atMs }) => atMs >= fromMs && atMs < toMs).length;
    return calls / ((NAMES.length * limit * (toMs - fromMs)) / windowMs);
  };
  const violations: string[] = [];
  const figures: Record<string, number> = {};
  try {
    await beginFleet(world, fleet, service);
    if (promised !== null) await delay(2 * windowMs);
    const beforeMs = nowMs();
    await delay(awayMs / 2);
    figures["usedBeforePercent"] = Math.round(1_000 * used(beforeMs, nowMs())) / 10;
    for (const member of fleet) await member.cut(false);
    const awayFromMs = nowMs();
    await delay(awayMs);
    const share = used(awayFromMs, nowMs());
    figures["usedAwayPercent"] = Math.round(1_000 * share) / 10;
    if (promised === "use" && share < LEAST_USED)
      violations.push(`${figures["usedAwayPercent"]} % of the budget was used while the database was away`);
    for (const member of fleet) await member.restore();
    await allCalled(service);
    await restartEach(world, fleet, service);
  } catch (error) {
    await Promise.all(fleet.map(({ process }) => process.kill()));
    throw error;
  }
  // Nothing was killed or paused: no answer may be lost, and no instrument be missed at two slots in a row.
  const verdict = await concludeFleet(world, {
    ...{ fleet, service, struck: [], isTimed: promised === "gaps", scenario: "fleet upgraded" },
    did: `the database ${awayMs} ms away, then each collector ended and started again`,
  });
  return {
    ...verdict,
    figures: { ...figures, ...verdict.figures },
    violations: [...violations, ...verdict.violations],
  };
}

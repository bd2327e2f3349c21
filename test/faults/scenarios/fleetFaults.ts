/** What strikes a fleet of collectors: each fault, from its beginning until nothing of it is left but what it has done. */
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../../support/until.ts";
import type { Member } from "../kit/fleet.ts";
import type { SharedService } from "../kit/sharedService.ts";
import type { World } from "../kit/world.ts";
import { allCalled } from "./sharedAccounts.ts";

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
export const CLOCK = "clock";

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

type Strike = {
  world: World;
  fleet: readonly Member[];
  member: Member;
  account: string;
  service: SharedService;
  random: () => number;
};

export async function strike(name: FaultName, striking: Strike): Promise<void> {
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

/** The short form of `npm run test:faults -- --only fleet`: what is shown does not depend on how many faults there are. */
import { afterEach, expect, test } from "@jest/globals";
import { seeded } from "../../bench/governor/random.ts";
import { freshDatabase } from "../support/database.ts";
import { FLEET_LOAD, FLEET_RULES } from "./kit/demands.ts";
import { startSharedService } from "./kit/sharedService.ts";
import { openWorldOn, type World, type WorldOptions } from "./kit/world.ts";
import { type FaultName, shareFleet } from "./scenarios/fleet.ts";
import { upgradeFleet } from "./scenarios/fleetAway.ts";
import { sharedKeys, sharedSecrets } from "./scenarios/sharedAccounts.ts";

const LIMITS = { limit: 60, windowMs: 6_000 };

let world: World | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

async function open(load: WorldOptions["load"] = FLEET_LOAD) {
  const service = await startSharedService(sharedKeys(), { ...LIMITS, rules: FLEET_RULES });
  const { url } = await freshDatabase();
  const options: WorldOptions = { load, migrated: false, settings: sharedSecrets() };
  world = await openWorldOn(url, { ...options, openFeed: async () => service });
  return { opened: world, service };
}

test("three collectors under six faults: each call is its owner's, each answer is stored once, and the ledger adds up", async () => {
  const { opened, service } = await open();
  const faults: FaultName[] = ["restart", "pause 3", "kill", "silence 3", "pause 20", "refuse"];

  const verdict = await shareFleet(opened, {
    ...{ service, ...LIMITS, faults, random: seeded(4), isTimed: false },
  });

  expect(verdict).toMatchObject({ violations: [] });
  expect(verdict.figures["takeOvers"]).toBeGreaterThan(0);
});

test("without the database a fleet goes on, and one after the other ended and started again loses nothing", async () => {
  const { opened, service } = await open({ symbols: 0, options: 60, optionsEverySeconds: 4, slowSymbols: 0 });

  const verdict = await upgradeFleet(opened, { service, ...LIMITS, awayMs: 3_000, promised: null });

  expect(verdict).toMatchObject({ violations: [], figures: { lostUnderWay: 0 } });
});

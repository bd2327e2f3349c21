/** The short form of `npm run test:faults -- --only fleet`: what is shown does not depend on how many faults there are. */
import { afterEach, expect, jest, test } from "@jest/globals";
import { seeded } from "../../bench/governor/random.ts";
import { freshDatabase } from "../support/database.ts";
import { FLEET_LOAD, FLEET_RULES } from "./kit/demands.ts";
import type { Load } from "./kit/jobs.ts";
import { startSharedService } from "./kit/sharedService.ts";
import { openWorldOn, type World } from "./kit/world.ts";
import { shareFleet } from "./scenarios/fleet.ts";
import type { FaultName } from "./scenarios/fleetFaults.ts";
import { sharedKeys, sharedSecrets } from "./scenarios/sharedAccounts.ts";

// Three collectors run through seven faults.
jest.setTimeout(300_000);

const LIMITS = { limit: 60, windowMs: 6_000 };

/** Little, in a way that calls each account at each slot of four seconds. */
const LOAD: Load = { ...FLEET_LOAD, symbols: 100 };

let world: World | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

test("three collectors under seven faults: each call is its owner's, each answer is stored once, the ledger adds up, and only a kill or a pause loses an answer", async () => {
  const service = await startSharedService(sharedKeys(), { ...LIMITS, rules: FLEET_RULES });
  const { url } = await freshDatabase();
  const options = { load: LOAD, migrated: false, settings: sharedSecrets() };
  world = await openWorldOn(url, { ...options, openFeed: async () => service });
  // Those who lose answers come first: after them none may be lost.
  const stopping: FaultName[] = ["pause 3", "kill", "pause 20 in a round"];
  const others: FaultName[] = ["silence 3", "refuse", "no database", "each restarted"];

  const verdict = await shareFleet(world, {
    ...{ service, ...LIMITS, faults: [...stopping, ...others], random: seeded(4), isTimed: false },
  });

  expect(verdict).toMatchObject({ violations: [] });
  expect(verdict.figures["takeOvers"]).toBeGreaterThan(0);
});

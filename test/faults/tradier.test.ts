/** Real collectors of Tradier's whole chains, killed at random instants: against the journal, and against the fake's own log. */
import { afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { seeded } from "../../bench/governor/random.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { openTradierWorld } from "./kit/livingWorld.ts";
import { openWorldOn, type World } from "./kit/world.ts";
import { killAtTradier } from "./scenarios/wholeChains.ts";

// Collectors are killed and recounted for many slots.
jest.setTimeout(300_000);

let bin = "";
beforeAll(() => {
  bin = compileProgram(tempDir());
});

let world: World | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

test("rows and ledger of whole chains are right when the collector is killed at random instants, and the list is not asked for again", async () => {
  const { url } = await freshDatabase();
  const opened = await openTradierWorld((options) => openWorldOn(url, { ...options, bin, migrated: false }));
  world = opened.world;

  const verdict = await killAtTradier(world, opened.fake, { kills: 4, random: seeded(7) });

  expect(verdict.violations).toEqual([]);
  expect(verdict.figures["recounted"]).toBeGreaterThan(3);
  expect(verdict.figures["quotes"]).toBeGreaterThan(0);
});

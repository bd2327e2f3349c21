/** Real collectors of Alpaca's whole chains in pages, killed at random instants: against the journal, and against the fake's own log. */
import { afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { seeded } from "../../bench/governor/random.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { openAlpacaWorld } from "./kit/livingWorld.ts";
import { openWorldOn, type World } from "./kit/world.ts";
import { killAtAlpaca } from "./scenarios/wholeChains.ts";

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

test("rows and ledger of chains in pages are right when the collector is killed at random instants: a chain is stored where all of its pages are in the journal, and missed where one is not", async () => {
  const { url } = await freshDatabase();
  const opened = await openAlpacaWorld((options) => openWorldOn(url, { ...options, bin, migrated: false }));
  world = opened.world;

  const verdict = await killAtAlpaca(world, opened.fake, { kills: 5, random: seeded(7) });

  expect(verdict.violations).toEqual([]);
  expect(verdict.figures["recounted"]).toBeGreaterThan(2);
  expect(verdict.figures["quotes"]).toBeGreaterThan(0);
  expect(verdict.figures["pages"]).toBeGreaterThan(20);
  // Kills came between the pages of a chain.
  expect(verdict.figures["cutChains"]).toBeGreaterThan(0);
});

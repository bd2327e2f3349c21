/**
 * Real collectors of a stock and of E*TRADE's whole chains, killed at random instants, with and without a login: against the
 * journal, and against the fake's own log.
 */
import { afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { seeded } from "../../bench/governor/random.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { openEtradeWorld } from "./kit/livingWorld.ts";
import { openWorldOn, type World } from "./kit/world.ts";
import { killAtEtrade } from "./scenarios/wholeChains.ts";

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

async function open(): Promise<Awaited<ReturnType<typeof openEtradeWorld>>> {
  const { url } = await freshDatabase();
  const opened = await openEtradeWorld((options) => openWorldOn(url, { ...options, bin, migrated: false }));
  world = opened.world;
  return opened;
}

test("rows and ledger of E*TRADE's whole chains are right when the collector is killed at random instants, and one login outlives all kills", async () => {
  const { world: opened, fake } = await open();

  const killing = { kills: 4, random: seeded(7), spellAfter: () => false };
  const { violations, figures } = await killAtEtrade(opened, fake, killing);

  expect(violations).toEqual([]);
  expect(figures).toMatchObject({ logins: 1, slotsLogin: 0 });
  expect(figures["recounted"]).toBeGreaterThan(3);
  expect(figures["quotes"]).toBeGreaterThan(0);
});

test("a session that ends while a collector runs, a kill without one, and a login later: slots are missed for want of a login or of a collector, and of nothing else", async () => {
  const { world: opened, fake } = await open();

  const killing = { kills: 3, random: seeded(11), spellAfter: (kill: number) => kill === 1 };
  const { violations, figures } = await killAtEtrade(opened, fake, killing);

  expect(violations).toEqual([]);
  expect(figures).toMatchObject({ logins: 2 });
  expect(figures["slotsLogin"]).toBeGreaterThan(1);
  expect(figures["slotsDown"]).toBeGreaterThan(0);
});

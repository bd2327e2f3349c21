/** Real collectors of Tradier's whole chains, killed at random instants: against the journal, and against the fake's own log. */
import { afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { seeded } from "../../bench/governor/random.ts";
import { startFakeTradier, TOKENS } from "../fakes/tradier/fake.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { tempDir } from "../support/tempDir.ts";
import { recountChains, wrongSlots } from "./kit/chainRecount.ts";
import { fakeOptions, openLivingWorld, STEP_MS } from "./kit/livingWorld.ts";
import type { World } from "./kit/world.ts";
import { killCollectors } from "./scenarios/collectorKills.ts";

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

/** What a body holds, as the ledger names it; read with JSON.parse alone. */
function namesIn(body: string): string[] {
  const { quotes, options } = JSON.parse(body) as {
    quotes?: { quote: { symbol: string } };
    options?: { option: { underlying: string; expiration_date: string }[] };
  };
  const dates = new Set(options?.option.map((one) => `chain ${one.underlying}:${one.expiration_date}`));
  return [...(quotes ? [quotes.quote.symbol] : []), ...dates];
}

test("rows and ledger of whole chains are right when the collector is killed at random instants, and the list is not asked for again", async () => {
  const fake = await startFakeTradier({ ...fakeOptions(), limit: { says: 1_000_000, holds: 1_000_000 } });
  const settings = { QUOTES_SERVICE: "tradier", QUOTES_ACCESS_TOKEN: TOKENS.token };
  world = await openLivingWorld(fake, bin, settings);

  const verdict = await killCollectors(world, { kills: 4, random: seeded(7), demand: "whole chains'" });

  const slots = await recountChains(world, STEP_MS, namesIn);
  const lists = fake.calls.filter(({ path, status }) => path.endsWith("/expirations") && status === 200);
  expect([verdict.violations, wrongSlots(slots)]).toEqual([[], []]);
  expect(slots.length).toBeGreaterThan(3);
  expect(verdict.figures["quotes"]).toBeGreaterThan(100);
  // A kill may come between an answer and the disk, and another day of New York may begin meanwhile.
  expect(lists.length).toBeLessThanOrEqual(3);
});

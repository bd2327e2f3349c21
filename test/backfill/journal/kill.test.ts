/** A backfill that is killed at any moment loses nothing, doubles nothing, and goes on. */
import { expect, jest, test } from "@jest/globals";
import { writeSample } from "../../../bench/backfill/sample.ts";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { contentOf } from "../../support/archive.ts";
import { createTestClock } from "../../support/clock.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { tempDir } from "../../support/tempDir.ts";
import { run } from "../../cli/edges.ts";
import { shutGate } from "../gate.ts";
import { backfillWorld } from "../world.ts";

// Programs are killed and started again, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** Enough for several transactions. */
const QUOTES = 26_000;

test("a backfill that is killed twice while it runs has every row once at the end, and its report is of all runs", async () => {
  const bin = compileProgram(tempDir());
  const world = await backfillWorld();
  await writeSample(world.journalDir, QUOTES);
  const whole = await backfillWorld();
  await loadAll({ pool: whole.pool, journalDir: world.journalDir, clock: createTestClock() });

  const gate = await shutGate(world);
  const first = await gate.killed(bin, ["backfill", "--journal"]);
  const second = await gate.killed(bin, ["backfill", "--journal"]);
  await gate.open();
  const last = await run(["backfill", "--journal", "--json"], world.env);

  expect(first).toBeGreaterThan(0);
  expect(second).toBeGreaterThan(first);
  expect(second).toBeLessThan(80);
  const { backfills, ...filled } = await contentOf(world.pool);
  const { backfills: none, ...expected } = await contentOf(whole.pool);
  expect(filled).toEqual(expected);
  expect([backfills?.rows, none?.rows]).toEqual([1, 0]);
  const quotes = filled["quotes"]?.rows;
  expect(JSON.parse(last.stdout)).toMatchObject({
    resumed: true,
    report: { answers: 80, newAnswers: 80, read: quotes, stored: quotes, repeated: 0 },
  });
});

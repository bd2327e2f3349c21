/** A sweep and the schedule of the job files: calls kept free, slots filled. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { systemClock } from "../../../src/clock.ts";
import { type DataDirLock, lockDataDir, thisProcess } from "../../../src/run/beside/lock.ts";
import { appendAll, at } from "../../support/journal.ts";
import { settled } from "../../support/ledger.ts";
import { roomBeside } from "../../../src/backfill/sweep/room.ts";
import { contractsOf } from "../../collect/due.ts";
import { jobOf } from "../../collect/jobOf.ts";
import { type BackfillWorld, backfillWorld } from "../world.ts";
import { account, contracts, printed, scripted, sweep, symbolsFile, sweepFile } from "./world.ts";

/** Polls so many contracts every minute, around the clock. */
function writeJob({ env }: BackfillWorld, contractCount: number): void {
  const dir = env["QUOTEKEEPER_JOBS_DIR"] ?? "";
  const options = Array.from(
    { length: contractCount },
    (_, index) => `  - { underlying: IBM, expiration: 2026-12-18, type: CALL, strike: ${100 + index} }`,
  );
  const head = ["name: every-minute", 'schedule: "* * * * *"', "session: always", "options:"];
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "every-minute.yaml"), `${[...head, ...options].join("\n")}\n`);
}

/** A collector holds the data directory. */
async function holdLock({ env }: BackfillWorld): Promise<void> {
  const options = { clock: systemClock, self: await thisProcess(), warn: () => undefined };
  const lock = await lockDataDir(env["QUOTEKEEPER_DATA_DIR"] ?? "", options);
  held.push(lock);
}

const held: DataDirLock[] = [];
afterEach(async () => {
  for (const lock of held.splice(0)) await lock.release();
});

test("beside a running collector what its jobs need is kept free, and the time says so", async () => {
  const world = await backfillWorld();
  const service = await scripted(() => 200);
  writeJob(world, 20);
  const file = symbolsFile(world, contracts(74));
  const flags = ["--symbols-file", file, "--dry-run"] as const;
  const env = account(world, service.baseUrl);

  const alone = await sweep(env, systemClock, ...flags);
  await holdLock(world);
  const beside = await sweep(env, systemClock, ...flags);

  expect(alone.stdout).toContain("about 74 s: 60 calls a minute\n");
  // 20 calls and three to spare: 37 of 60 are the sweep's.
  expect(beside.stdout).toContain(
    "about 2 min: 60 calls a minute, 23 of them kept free for the running schedule\n",
  );
});

test("a sweep's time is looked up five days ahead, with the slots of the quarter of an hour behind them", () => {
  const jobs = [
    jobOf({
      name: "daily",
      schedule: "10 12 * * *",
      timezone: "UTC",
      options: contractsOf(20),
      session: "always",
    }),
  ];
  const now = new Date("2026-11-20T12:00:00Z");
  const room = roomBeside(
    { limit: 60, windowMs: 60_000 },
    { jobs, calendar: [] },
    { known: { prices: [], expirations: [] }, batchSize: 100, now },
  );

  // From 16 minutes before each slot at 12:10 until it is over 37 calls a minute are left, and 60 else.
  const reduced = 11 + 4 * 17 + 6;
  const most = reduced * 37 + (5 * 1_440 - reduced) * 60;
  expect(room.timeFor(most, now)).toBe(5 * 86_400_000);
  expect(room.timeFor(most + 1, now)).toBeNull();
});

test("a schedule that needs every call leaves none for a sweep, which says so and sends nothing", async () => {
  const world = await backfillWorld();
  const service = await scripted(() => 200);
  writeJob(world, 60);
  await holdLock(world);
  const file = symbolsFile(world, ["AAPL"]);

  const outcome = await sweep(account(world, service.baseUrl), systemClock, "--symbols-file", file);

  expect(outcome.exitCode).toBe(1);
  expect(outcome.stderr).toContain("SWEEP_NO_ROOM: the job files need 60 of 60 calls, and a collector runs");
  expect(service.lists).toEqual([]);
});

test("a slot that was missed and still lasts is filled by the sweep's quote, and the ledger says by what", async () => {
  const world = await backfillWorld();
  const service = await scripted(() => 200);
  await appendAll(world.journalDir, [
    settled(at(-1), at(-10), ["AAPL", "MSFT"], ["AAPL transport", "MSFT transport"]),
  ]);
  const file = symbolsFile(world, ["AAPL", "IBM"]);
  const env = account(world, service.baseUrl);

  const outcome = await sweepFile(env, file);

  expect(printed(outcome).report).toMatchObject({ stored: 2, filled: 1 });
  const slots = await world.pool.query("select due, stored, missed from slots");
  const fills = await world.pool.query("select instrument, reason, filled_by from fills");
  expect(slots.rows).toEqual([{ due: 2, stored: 1, missed: 1 }]);
  expect(fills.rows).toEqual([{ instrument: "AAPL", reason: "transport", filled_by: "sweep" }]);
});

/** The files of jobs that are polled once. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import {
  endOnce,
  goOnOnce,
  isAsked,
  leaveOnce,
  listOnce,
  putOnce,
} from "../../../src/collector/once/onceFiles.ts";
import type { OnceJob } from "../../../src/schedule/onceJob.ts";
import { createTestClock } from "../../support/clock.ts";
import { tempDir } from "../../support/tempDir.ts";

function jobOf(name: string): OnceJob {
  return {
    ...{ once: true, name, delayed: false, priority: 0, single: false },
    ...{
      accounts: [{ name: "default", key: "k" }],
      symbols: ["AAPL"],
      watchlist: null,
      contracts: [],
      chains: [],
    },
  };
}

test("jobs are listed in the order in which they were put there, for their owner alone, each at a slot of its own before now", async () => {
  const dataDir = join(tempDir(), "data");
  const clock = createTestClock();
  const put: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    put.push((await putOnce(dataDir, jobOf(`job-${count}`), clock)).slotAt);
    clock.advance(2);
  }

  const found = await listOnce(dataDir, "json");

  expect(found.map(({ job }) => job.name)).toEqual(["job-0", "job-1", "job-2", "job-3", "job-4"]);
  expect(found.map(({ slotAt }) => slotAt)).toEqual(put);
  expect(put[0]?.startsWith("2026-11-20T22:49:59.999")).toBe(true);
  const dir = join(dataDir, "once");
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
});

test("a job that is left is asked for no more until somebody goes on with it, at the same slot; one that is over is gone", async () => {
  const dataDir = tempDir();
  const file = await putOnce(dataDir, jobOf("many"), createTestClock());

  await leaveOnce(file);
  const asked = await isAsked(file);
  const [left] = await listOnce(dataDir, "left");
  const again = left && (await goOnOnce(left));

  expect(asked).toBe(false);
  expect(again).toEqual(file);
  expect(await isAsked(file)).toBe(true);
  await endOnce(file);
  expect(readdirSync(join(dataDir, "once"))).toEqual([]);
});

test.each([
  ["no JSON", "{"],
  ["a job without accounts", JSON.stringify({ ...jobOf("x"), accounts: [] })],
  ["a job that is not polled once", JSON.stringify({ ...jobOf("x"), once: false })],
  ["a symbol that is none", JSON.stringify({ ...jobOf("x"), symbols: ["two words"] })],
])("%s is set aside, told once, and other names mean nothing", async (_what, text) => {
  const dataDir = tempDir();
  const dir = join(dataDir, "once");
  mkdirSync(dir);
  writeFileSync(join(dir, "20261120T225000.000001Z.json"), text);
  writeFileSync(join(dir, "notes.json"), text);
  const told: string[] = [];

  for (const _time of [1, 2])
    expect(await listOnce(dataDir, "json", (path) => void told.push(path))).toEqual([]);

  expect(told).toEqual([join(dir, "20261120T225000.000001Z.json")]);
  expect(readdirSync(dir).sort()).toEqual(["20261120T225000.000001Z.json.broken", "notes.json"]);
});

test("two jobs that chance puts at one microsecond have slots of their own, and neither takes the other's place", async () => {
  const dataDir = join(tempDir(), "data");
  const drawn = [7, 7, 7, 8];
  const clock = { now: createTestClock().now, random: () => Uint8Array.of(0, 0, 0, drawn.shift() ?? 9) };

  for (const name of ["one", "two"]) await putOnce(dataDir, jobOf(name), clock);

  const found = await listOnce(dataDir, "json");
  expect(found.map(({ job }) => job.name)).toEqual(["one", "two"]);
  expect(new Set(found.map(({ slotAt }) => slotAt)).size).toBe(2);
});

/** The newest slot of a schedule that is over: a collector has accounted for it, if one runs. */
import { expect, test } from "@jest/globals";
import { RunningSchedule } from "../../../src/backfill/sweep/schedule.ts";
import { jobOf } from "../../collect/world.ts";
import { GOVERNOR } from "./rules.ts";

function regularJob(): RunningSchedule {
  const schedule = new RunningSchedule(GOVERNOR, new Map());
  const job = jobOf({ name: "equities", schedule: "* * * * *", session: "regular", symbols: ["AAPL"] });
  schedule.read({ jobs: [job], calendar: [] }, Date.parse("2026-11-20T15:00:00Z"));
  return schedule;
}

test.each([
  // The slot of 14:59 ends at 15:00:00, and has half a minute to be accounted for.
  ["2026-11-20T15:00:29Z", "2026-11-20T14:58:00.000Z"],
  ["2026-11-20T15:00:30Z", "2026-11-20T14:59:00.000Z"],
  ["2026-11-22T15:00:00Z", "2026-11-20T20:59:00.000Z"],
  ["2026-11-23T14:29:00Z", "2026-11-20T20:59:00.000Z"],
  ["2026-11-23T14:31:40Z", "2026-11-23T14:30:00.000Z"],
])("at %s it is the one of %s", (now, slot) => {
  expect(regularJob().newestOver(new Date(now))?.toISOString()).toBe(slot);
});

test("on a weekend it is found again and again without the week being looked through each time", () => {
  const schedule = regularJob();
  const sunday = Date.parse("2026-11-22T15:00:00Z");

  const found = Array.from({ length: 50 }, (_, second) =>
    schedule.newestOver(new Date(sunday + second * 1_000)),
  );

  expect(new Set(found).size).toBe(1);
});

test("no calls are kept free at a weekend, and those of the opening from a quarter of an hour before it", () => {
  const schedule = regularJob();

  const reserved = ["2026-11-22T15:00:00Z", "2026-11-23T14:13:00Z", "2026-11-23T14:20:00Z"].map((at) =>
    schedule.reservedAt(Date.parse(at)),
  );

  expect(reserved).toEqual([0, 0, 1]);
});

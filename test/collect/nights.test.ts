/** The collector through the nights and days on which slots have been lost or doubled elsewhere. */
import { expect, test } from "@jest/globals";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { addsUp, entriesOf, jobOf, startWorld, type World } from "./world.ts";

const exchange = createCalendar();

/** The slots of a job, UTC, to the minute. */
function slotsOf(world: World, job: string): string[] {
  return entriesOf(world.notes, job).map(({ slotAt }) => slotAt.slice(0, 16));
}

test("the spring night skips an hour: hourly polls go on without a gap, a poll at 02:30 is made at 03:30, once", async () => {
  const world = startWorld({
    start: "2026-03-08T04:10:00Z",
    jobs: [
      jobOf({ name: "hourly", schedule: "0 * * * *", symbols: ["GE"] }),
      jobOf({ name: "nightly", schedule: "30 2 * * *", symbols: ["KO"] }),
    ],
  });

  await world.until("2026-03-09T07:00:00Z");

  const hours = Array.from({ length: 27 }, (_, hour) =>
    new Date(Date.UTC(2026, 2, 8, 4 + hour)).toISOString().slice(0, 16),
  );
  expect(slotsOf(world, "hourly")).toEqual(hours);
  expect(slotsOf(world, "nightly").slice(-2)).toEqual(["2026-03-08T07:30", "2026-03-09T06:30"]);
  expect(addsUp(entriesOf(world.notes))).toBe(true);
});

test("the autumn night repeats an hour: hourly polls are made in both, a poll at 01:30 in the first alone", async () => {
  const world = startWorld({
    start: "2026-11-01T04:10:00Z",
    jobs: [
      jobOf({ name: "hourly", schedule: "0 * * * *", symbols: ["GE"] }),
      jobOf({ name: "nightly", schedule: "30 1 * * *", symbols: ["KO"] }),
    ],
  });

  await world.until("2026-11-02T07:00:00Z");

  expect(slotsOf(world, "hourly")).toHaveLength(27);
  expect(new Set(slotsOf(world, "hourly")).size).toBe(27);
  expect(slotsOf(world, "nightly").slice(-2)).toEqual(["2026-11-01T05:30", "2026-11-02T06:30"]);
});

test("on 9 January 2025, the national day of mourning, nothing is polled", async () => {
  const world = startWorld({
    start: "2025-01-08T20:50:00Z",
    jobs: [jobOf({ name: "list", session: "any", symbols: ["GE"], schedule: "*/30 * * * *" })],
    calendar: exchange,
  });

  await world.until("2025-01-10T09:31:00Z");

  expect(slotsOf(world, "list").slice(-3)).toEqual(
    ["2025-01-09T00:30", "2025-01-10T09:00", "2025-01-10T09:30"].slice(0, 3),
  );
  expect(
    world.calls.some(
      ({ sentAt }) =>
        sentAt >= Date.parse("2025-01-09T01:00:00Z") && sentAt < Date.parse("2025-01-10T09:00:00Z"),
    ),
  ).toBe(false);
});

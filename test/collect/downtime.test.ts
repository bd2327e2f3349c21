import { expect, test } from "@jest/globals";
import { newestSlots } from "../../src/collect/downtime.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { createSchedule } from "../../src/schedule/slots.ts";

const DAY_MS = 86_400_000;
const every = (cron: string) =>
  createSchedule({ cron, timezone: "UTC", session: "always", calendar: alwaysOpen });
const NOW = new Date("2026-11-20T14:30:30Z");
const before = (ms: number) => new Date(+NOW - ms);

test("a downtime is accounted for slot by slot as the schedule has them", () => {
  const after = before(3.4 * DAY_MS);

  const slots = newestSlots(every("*/20 * * * *"), after, NOW);

  expect(slots).toEqual(every("*/20 * * * *").slotsBetween(after, NOW));
});

test("of decades, 400 days are accounted for", () => {
  const slots = newestSlots(every("0 12 * * *"), new Date(0), NOW);

  expect(slots).toHaveLength(400);
  expect(slots.at(-1)).toEqual(new Date("2026-11-20T12:00:00Z"));
});

test("of a job of seconds, no more slots are accounted for than a job of minutes has in 400 days, but for a day", () => {
  const slots = newestSlots(every("* * * * * *"), before(30 * DAY_MS), NOW);

  expect(slots.length).toBeLessThan(400 * 1_440 + 86_400);
  expect(slots.at(-1)).toEqual(NOW);
  expect(slots[0]).toEqual(before(7 * DAY_MS - 1_000));
});

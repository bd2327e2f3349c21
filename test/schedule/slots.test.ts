import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createTask } from "node-cron";
import { validateCron } from "../../src/schedule/cron.ts";
import { createSchedule, type Schedule } from "../../src/schedule/slots.ts";
import { type JobSchedule, scheduleJob } from "../../src/schedule/jobSchedule.ts";
import { alwaysOpen, createCalendar, type WantedSession } from "../../src/market/calendar/tradingCalendar.ts";
import { jobOf } from "../collect/jobOf.ts";
import { runs } from "../support/runs.ts";
import { SLOT_ENDS } from "../support/slotEnds.ts";

const nyse = createCalendar();

function newYork(cron: string, session: WantedSession = "always"): Schedule {
  return createSchedule({ cron, timezone: "America/New_York", session, calendar: nyse });
}

/** Slots in the window (after, until], as ISO minutes in UTC. */
function slots(schedule: Schedule, after: string, until: string): string[] {
  return schedule.slotsBetween(new Date(after), new Date(until)).map((at) => at.toISOString().slice(0, 16));
}

test("a window excludes its beginning and includes its end", () => {
  expect(slots(newYork("*/5 * * * *"), "2026-01-15T12:00:00Z", "2026-01-15T12:10:00Z")).toEqual([
    "2026-01-15T12:05",
    "2026-01-15T12:10",
  ]);
});

test("a window that ends before it begins, or at once, holds no slot", () => {
  expect(slots(newYork("* * * * *"), "2026-01-15T12:00:00Z", "2026-01-15T12:00:00Z")).toEqual([]);
  expect(slots(newYork("* * * * *"), "2026-01-15T12:00:00Z", "2026-01-15T11:00:00Z")).toEqual([]);
});

test("a window holds the seconds that an expression names, in order of time", () => {
  const day = (cron: string): string[] =>
    newYork(cron)
      .slotsBetween(new Date("2026-01-15T05:00:00Z"), new Date("2026-01-16T05:00:00Z"))
      .map((at) => at.toISOString().slice(11, 19));

  expect(day("30 15 9 * * *")).toEqual(["14:15:30"]);
  expect(day("45,15 9 * * *")).toEqual(["14:15:00", "14:45:00"]);
});

test("a window cut in two anywhere, over clock changes too, holds the same slots, each once", () => {
  const from = Date.parse("2025-01-01T00:00:00Z");
  const year = 366 * 86_400_000;
  const crons = [
    "* * * * *",
    "*/7 1-3 * * *",
    "30 2 * * *",
    "15,45 1 * * SUN",
    "0 0 1 * *",
    "*/20 * * * * *",
  ];
  const zones = [
    "America/New_York",
    "Europe/London",
    "Australia/Lord_Howe",
    "America/Havana",
    "Asia/Kolkata",
  ];

  fc.assert(
    fc.property(
      fc.constantFrom(...crons),
      fc.constantFrom(...zones),
      fc.integer({ min: 0, max: year }),
      fc.array(fc.integer({ min: 0, max: 3 * 86_400_000 }), { maxLength: 12 }),
      (cron, timezone, start, offsets) => {
        const schedule = createSchedule({ cron, timezone, session: "always", calendar: alwaysOpen });
        const cuts = [...offsets, 3 * 86_400_000]
          .sort((a, b) => a - b)
          .map((offset) => from + start + offset);
        const whole = schedule.slotsBetween(new Date(from + start), new Date(cuts.at(-1) ?? 0));
        const pieces = cuts.flatMap((cut, i) =>
          schedule.slotsBetween(new Date(cuts[i - 1] ?? from + start), new Date(cut)),
        );
        expect(pieces).toEqual(whole);
        expect(new Set(whole.map(Number)).size).toBe(whole.length);
        expect([...whole].sort((a, b) => Number(a) - Number(b))).toEqual(whole);
      },
    ),
    { numRuns: 60 },
  );
});

test.each([
  "* * * * *",
  "*/15 9-16 * * MON-FRI",
  "0 12 L * *",
  "30 4 15W JAN,JUL *",
  "5 4 * * FRI#3",
  "@hourly",
])("a window of weeks without clock change holds for %j what node-cron would run", (cron) => {
  const task = createTask(cron, () => undefined, { timezone: "America/New_York" });
  void task.destroy();
  const from = Date.parse("2026-01-01T00:00:00Z");
  // Of the month every fifth minute: all that these expressions name. Of its first day every one.
  const every = (stepMs: number, from: number, count: number) =>
    Array.from({ length: count }, (_, i) => new Date(from + (i + 1) * stepMs));
  const minutes =
    cron === "* * * * *"
      ? every(60_000, from, 7 * 1_440)
      : [...every(60_000, from, 1_440), ...every(300_000, from + 1_440 * 60_000, 30 * 288)];

  const found = newYork(cron).slotsBetween(new Date(from), minutes.at(-1) ?? new Date(from));

  expect(found).toEqual(minutes.filter((at) => task.match(at)));
});

test("a day is one of an expression's if node-cron says so", () => {
  const days = fc.constantFrom("*", "?", "1-7", "13", "*/9", "28-31", "5,L", "L", "15W", "1,31");
  const months = fc.constantFrom("*", "JAN-MAR", "2", "*/5", "6,12");
  const weekdays = fc.constantFrom("*", "?", "0", "7", "MON-FRI", "sat,SUN", "*/3", "FRI#3", "5L", "1#1,3");
  fc.assert(
    fc.property(days, months, weekdays, fc.integer({ min: 0, max: 400 }), (day, month, weekday, first) => {
      const cron = `0 12 ${day} ${month} ${weekday}`;
      fc.pre(validateCron(cron) === null);
      const task = createTask(cron, () => undefined, { timezone: "UTC" });
      void task.destroy();
      const from = Date.parse("2026-01-01T00:00:00Z") + first * 86_400_000;
      const noons = Array.from({ length: 40 }, (_, i) => new Date(from + i * 86_400_000 + 43_200_000));

      const schedule = createSchedule({ cron, timezone: "UTC", session: "always", calendar: alwaysOpen });
      const found = schedule.slotsBetween(new Date(from), noons.at(-1) ?? new Date(from));

      expect(found).toEqual(noons.filter((at) => task.match(at)));
    }),
    { numRuns: runs(100) },
  );
});

const spring = ["2025-03-09T04:59:00Z", "2025-03-09T08:00:00Z"] as const;
const autumn = ["2025-11-02T03:59:00Z", "2025-11-02T08:00:00Z"] as const;

test("an every-minute job is due every minute that passes", () => {
  expect(slots(newYork("* * * * *"), ...spring)).toHaveLength(181);
  expect(slots(newYork("* * * * *"), ...autumn)).toHaveLength(241);
});

test("an hourly job is due every hour that passes, in the repeated one twice by the wall", () => {
  expect(slots(newYork("30 * * * *"), ...autumn)).toEqual([
    "2025-11-02T04:30",
    "2025-11-02T05:30",
    "2025-11-02T06:30",
    "2025-11-02T07:30",
  ]);
  expect(slots(newYork("30 * * * *"), ...spring)).toEqual([
    "2025-03-09T05:30",
    "2025-03-09T06:30",
    "2025-03-09T07:30",
  ]);
});

test("a daily job right after the repeated hour is due when that is over", () => {
  expect(slots(newYork("0 2 * * *"), ...autumn)).toEqual(["2025-11-02T07:00"]);
});

test("a time moved out of the skipped hour onto another slot is one slot", () => {
  expect(slots(newYork("*/30 1-3 * * *"), ...spring)).toEqual([
    "2025-03-09T06:00",
    "2025-03-09T06:30",
    "2025-03-09T07:00",
    "2025-03-09T07:30",
  ]);
});

test("a clock that changes by half an hour, or at midnight, is counted the same way", () => {
  const at = (cron: string, timezone: string) =>
    createSchedule({ cron, timezone, session: "always", calendar: alwaysOpen });

  // Lord Howe: 02:00 to 02:30 on 5 October 2025. Havana: 00:00 to 01:00 on 9 March 2025.
  expect(
    slots(at("15 2 * * *", "Australia/Lord_Howe"), "2025-10-04T12:00:00Z", "2025-10-05T12:00:00Z"),
  ).toEqual(["2025-10-04T15:45"]);
  // A time that is moved by the half hour comes after the one that is not: 02:45 for 02:15, and 02:40.
  expect(
    slots(at("15,40 2 * * *", "Australia/Lord_Howe"), "2025-10-04T12:00:00Z", "2025-10-05T12:00:00Z"),
  ).toEqual(["2025-10-04T15:40", "2025-10-04T15:45"]);
  expect(slots(at("30 0 * * *", "America/Havana"), "2025-03-09T00:00:00Z", "2025-03-10T00:00:00Z")).toEqual([
    "2025-03-09T05:30",
  ]);
});

test("a date that a zone skipped has no slot", () => {
  const apia = createSchedule({
    cron: "0 12 * * *",
    timezone: "Pacific/Apia",
    session: "always",
    calendar: alwaysOpen,
  });

  // 30 December 2011 did not happen in Samoa: noon of the 29th is followed by noon of the 31st.
  expect(slots(apia, "2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z")).toEqual([
    "2011-12-29T22:00",
    "2011-12-30T22:00",
  ]);
});

test("a job for the regular session is due from the open to the minute before the close", () => {
  const day = slots(newYork("* * * * *", "regular"), "2026-01-15T05:00:00Z", "2026-01-16T05:00:00Z");

  expect(day).toHaveLength(390);
  expect([day[0], day.at(-1)]).toEqual(["2026-01-15T14:30", "2026-01-15T20:59"]);
});

test("pre, post and any have 330, 240 and 960 minutes", () => {
  const minutes = (session: WantedSession) =>
    slots(newYork("* * * * *", session), "2026-01-15T05:00:00Z", "2026-01-16T05:00:00Z").length;

  expect([minutes("pre"), minutes("post"), minutes("any"), minutes("always")]).toEqual([
    330, 240, 960, 1_440,
  ]);
});

test("an early close at 13:00 leaves 210 regular minutes and moves the post-market forward", () => {
  expect(slots(newYork("* * * * *", "regular"), "2025-07-03T04:00:00Z", "2025-07-04T04:00:00Z")).toHaveLength(
    210,
  );
  expect(slots(newYork("0 * * * *", "post"), "2025-07-03T04:00:00Z", "2025-07-04T04:00:00Z")).toEqual([
    "2025-07-03T17:00",
    "2025-07-03T18:00",
    "2025-07-03T19:00",
    "2025-07-03T20:00",
  ]);
});

test("a job written in another zone follows the exchange's days, not its own", () => {
  const tokyo = createSchedule({
    cron: "0 * * * *",
    timezone: "Asia/Tokyo",
    session: "regular",
    calendar: nyse,
  });

  // Friday's session ends on Saturday morning in Tokyo.
  expect(slots(tokyo, "2026-01-16T14:00:00Z", "2026-01-19T14:00:00Z").at(-1)).toBe("2026-01-16T20:00");
});

const next = (schedule: Schedule, after: string) => schedule.next(new Date(after))?.toISOString() ?? null;

test("the next slot is later than the moment asked from, even when that is a slot", () => {
  expect(next(newYork("*/5 * * * *"), "2026-01-15T12:00:00Z")).toBe("2026-01-15T12:05:00.000Z");
  expect(next(newYork("0 0 1 1 *"), "2026-01-01T05:00:00Z")).toBe("2027-01-01T05:00:00.000Z");
});

test("the next slot is found up to 400 days on", () => {
  // 19 February is a Friday in 2027, and not in 2026.
  expect(next(newYork("0 12 19 FEB FRI"), "2026-01-15T12:00:00Z")).toBe("2027-02-19T17:00:00.000Z");
  expect(next(newYork("0 12 19 FEB FRI"), "2026-01-14T12:00:00Z")).toBeNull();
});

test("the next slot is null when there is none within 400 days", () => {
  expect(next(newYork("0 12 29 2 *"), "2026-01-15T12:00:00Z")).toBeNull();
  expect(next(newYork("0 3 * * *", "regular"), "2026-01-15T12:00:00Z")).toBeNull();
  expect(next(newYork("0 12 25 12 *", "any"), "2026-01-15T12:00:00Z")).toBeNull();
});

test.each(["* * * * *", "*/30 * * * * *", "0 9-16/2 * JAN-MAR mon,FRI", "@daily", "0 0 L * ?"])(
  "%j is a cron expression",
  (cron) => {
    expect(validateCron(cron)).toBeNull();
  },
);

test.each([
  ["", /illegal/],
  ["* * * *", /5 or 6 fields/],
  ["61 * * * *", /minute/],
  ["* 24 * * *", /hour/],
  ["* * * * MOON", /week/i],
  ["0 0 30 FEB *", /impossible/],
  ["*/0 * * * *", /minute/],
  ["; rm", /illegal/],
])("%j is no cron expression, and the message says why", (cron, why) => {
  expect(validateCron(cron)).toMatch(why);
  expect(() => newYork(cron)).toThrow(expect.objectContaining({ code: "SCHEDULE_INVALID" }));
});

test("a zone that does not exist is refused", () => {
  const mars = () =>
    createSchedule({ cron: "* * * * *", timezone: "Mars/Olympus", session: "always", calendar: nyse });

  expect(mars).toThrow(/"Mars\/Olympus" is no time zone/);
  expect(mars).toThrow(expect.objectContaining({ cause: expect.anything() }));
});

test("day of month and day of week must both match, as in node-cron", () => {
  expect(slots(newYork("0 12 13 * FRI"), "2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z")).toEqual([
    "2026-02-13T17:00",
    "2026-03-13T16:00",
    "2026-11-13T17:00",
  ]);
});

test("a cron expression with seconds makes a schedule that needs ticks every second", () => {
  expect(newYork("*/15 * * * * *").subMinute).toBe(true);
  expect(newYork("0 * * * * *").subMinute).toBe(false);
  expect(newYork("* * * * *").subMinute).toBe(false);
});

/** A job's slots: of New York's market, unless it is the one that never closes. */
function jobSchedule(schedule: string, session: WantedSession, calendar = nyse): JobSchedule {
  return scheduleJob(jobOf({ name: "job", schedule, session }), calendar).schedule;
}

const end = (schedule: JobSchedule, slot: string): string => {
  const { deadlineMs, closes } = schedule.endOf(new Date(slot));
  return `${new Date(deadlineMs).toISOString().slice(0, 16)}${closes ? " close" : ""}`;
};

test("a slot lasts until the next one comes", () => {
  const always = jobSchedule("*/5 * * * *", "always");

  expect(end(always, "2026-01-15T12:05:00Z")).toBe("2026-01-15T12:10");
  expect(end(always, "2026-01-15T21:00:00Z")).toBe("2026-01-15T21:05");
  expect(end(jobSchedule("*/5 * * * *", "regular"), "2026-01-15T14:30:00Z")).toBe("2026-01-15T14:35");
});

test.each([
  ["pre", "2026-01-15T14:00:00Z", "2026-01-15T14:30 close"],
  ["regular", "2026-01-15T20:30:00Z", "2026-01-15T21:00 close"],
  ["post", "2026-01-16T00:30:00Z", "2026-01-16T01:00 close"],
  ["any", "2026-01-16T00:30:00Z", "2026-01-16T01:00 close"],
  ["regular", "2025-07-03T16:30:00Z", "2025-07-03T17:00 close"],
] as const)(
  "a slot of the session %s at %s lasts until that session closes: %s",
  (session, slot, expected) => {
    expect(end(jobSchedule("*/30 * * * *", session), slot)).toBe(expected);
  },
);

test.each(SLOT_ENDS)(
  "a slot lasts until $endsAt in the exchange's calendar where slots are apart by $name",
  (slot) => {
    const { deadlineMs } = jobSchedule(slot.schedule, slot.session).endOf(new Date(slot.slotAt));

    expect(new Date(deadlineMs)).toEqual(new Date(slot.endsAt));
  },
);

test("a slot lasts until midnight in New York where the market never closes, as its days begin then", () => {
  expect(end(jobSchedule("0 12 * * *", "regular", alwaysOpen), "2026-01-15T17:00:00Z")).toBe(
    "2026-01-16T05:00",
  );
});

test("a slot outside its session lasts until the next trading day, and for a day where the market is closed", () => {
  const regular = jobSchedule("*/30 * * * *", "regular");

  expect(end(regular, "2026-01-15T21:00:00Z")).toBe("2026-01-16T09:00");
  expect(end(regular, "2026-01-17T15:00:00Z")).toBe("2026-01-18T15:00");
});

test("two slots of one weekend last until the same trading day", () => {
  const weekend = jobSchedule("0 12 * * SAT,SUN", "always");

  expect(end(weekend, "2026-01-17T17:00:00Z")).toBe("2026-01-18T17:00");
  expect(end(weekend, "2026-01-18T17:00:00Z")).toBe("2026-01-19T17:00");
});

test("a daily slot before the calendar begins lasts for a day", () => {
  expect(end(jobSchedule("0 12 * * *", "always"), "1970-01-01T17:00:00Z")).toBe("1970-01-02T17:00");
});

const current = (schedule: JobSchedule, at: string): string | null =>
  schedule.current(new Date(at))?.toISOString().slice(0, 16) ?? null;

test("the current slot is the last one that came, from its own moment on", () => {
  const often = jobSchedule("*/5 * * * *", "always");

  expect(current(often, "2026-01-15T12:09:59Z")).toBe("2026-01-15T12:05");
  expect(current(often, "2026-01-15T12:10:00Z")).toBe("2026-01-15T12:10");
});

test("the current slot is found as long as it lasts, and is none of another trading day", () => {
  expect(current(jobSchedule("0 10 * * *", "always"), "2026-01-16T08:59:59Z")).toBe("2026-01-15T15:00");
  expect(current(jobSchedule("0 10 * * *", "always"), "2026-01-16T09:00:00Z")).toBe(null);
  expect(current(jobSchedule("0 12 * * SAT", "always"), "2026-01-18T16:59:59Z")).toBe("2026-01-17T17:00");
  expect(current(jobSchedule("0 12 * * SAT", "always"), "2026-01-18T17:00:00Z")).toBeNull();
  expect(current(jobSchedule("0 0 1 1 *", "always"), "2026-04-01T17:00:00Z")).toBeNull();
  expect(current(jobSchedule("0 12 29 2 *", "always"), "2026-11-20T17:00:00Z")).toBeNull();
});

test("no slot is current once its session has closed", () => {
  const once = jobSchedule("0 10 * * *", "regular");

  expect(current(once, "2026-01-15T20:59:59Z")).toBe("2026-01-15T15:00");
  expect(current(once, "2026-01-15T21:00:00Z")).toBeNull();
});

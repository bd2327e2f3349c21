import { expect, test } from "@jest/globals";
import { createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { calendarFileSchema } from "../../../src/market/calendar/overrides.ts";

test("a closure announced today wins over the rules", () => {
  const calendar = createCalendar([{ date: "2026-11-24", kind: "closed", reason: "Mourning" }]);

  expect(calendar.session("2026-11-24")).toBeNull();
  expect(calendar.closedReason("2026-11-24")).toBe("Mourning");
  expect(calendar.phaseAt(new Date("2026-11-24T15:00:00Z"))).toBe("closed");
});

test("an early day without a close ends at 13:00, or when the operator says", () => {
  const calendar = createCalendar([
    { date: "2026-11-23", kind: "early" },
    { date: "2026-11-24", kind: "early", close: "14:30" },
  ]);

  expect(calendar.session("2026-11-23")).toMatchObject({
    kind: "early",
    close: new Date("2026-11-23T18:00:00Z"),
  });
  expect(calendar.session("2026-11-24")?.close).toEqual(new Date("2026-11-24T19:30:00Z"));
});

test("a regular day opens a holiday, an early close or a Saturday", () => {
  const calendar = createCalendar([
    { date: "2026-11-26", kind: "regular" },
    { date: "2026-11-27", kind: "regular" },
    { date: "2026-11-28", kind: "regular", reason: "Test of systems" },
  ]);

  expect(calendar.sessions("2026-11-26", "2026-11-29").map(({ date, kind }) => [date, kind])).toEqual([
    ["2026-11-26", "regular"],
    ["2026-11-27", "regular"],
    ["2026-11-28", "regular"],
  ]);
  expect(calendar.session("2026-11-28")?.reason).toBe("Test of systems");
});

test("the file of overrides may be empty, and says each thing that is wrong with it", () => {
  expect(calendarFileSchema.parse({})).toEqual({ overrides: [] });

  const { error } = calendarFileSchema.safeParse({
    overrides: [
      { date: "2026-02-30", kind: "closed" },
      { date: "2026-03-02", kind: "closed", close: "13:00" },
      { date: "2026-03-03", kind: "early", close: "9:00" },
      { date: "2026-03-04", kind: "holiday" },
    ],
  });
  expect(error?.issues.map(({ path }) => path.join("."))).toEqual([
    "overrides.0.date",
    "overrides.1.close",
    "overrides.2.close",
    "overrides.3.kind",
  ]);
});

const isRead = (override: object): boolean =>
  calendarFileSchema.safeParse({ overrides: [{ date: "2026-03-02", ...override }] }).success;

test.each(["09:31", "10:00", "13:00", "15:59", "16:00"])("a session can close early at %s", (close) => {
  expect(isRead({ kind: "early", close })).toBe(true);
});

test.each([
  ...["09:30", "08:00", "16:01", "20:00", "23:30", "00:00"],
  ...["", "noon", "9:45", "13:60", "13:0x", "1x:00", "113:00", "13:000", "13.00"],
])("a session cannot close early at %j", (close) => {
  expect(isRead({ kind: "early", close })).toBe(false);
});

test("only a day that ends early has a close, and a reason says something", () => {
  expect(isRead({ kind: "regular", close: "13:00" })).toBe(false);
  expect(isRead({ kind: "closed", reason: "" })).toBe(false);
  expect(isRead({ kind: "closed", reason: "Mourning" })).toBe(true);
});

test("a date given twice is refused", () => {
  const { error } = calendarFileSchema.safeParse({
    overrides: [
      { date: "2026-03-02", kind: "closed" },
      { date: "2026-03-02", kind: "regular" },
    ],
  });

  expect(error?.issues).toMatchObject([
    { path: ["overrides", 1, "date"], message: "2026-03-02 is given twice" },
  ]);
});

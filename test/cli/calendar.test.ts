import { expect, test } from "@jest/globals";
import { calendarRows } from "../../src/cli/calendar.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";

test("the table lists sessions, and closed days when asked", () => {
  const calendar = createCalendar();

  const sessions = calendarRows(calendar, { from: "2025-07-03", to: "2025-07-07" });
  const all = calendarRows(calendar, { from: "2025-07-03", to: "2025-07-07", closed: true });

  expect(sessions.map(({ date, kind }) => [date, kind])).toEqual([
    ["2025-07-03", "early"],
    ["2025-07-07", "regular"],
  ]);
  expect(all.map(({ kind, reason }) => [kind, reason])).toEqual([
    ["early", "day before Independence Day"],
    ["closed", "Independence Day"],
    ["closed", "weekend"],
    ["closed", "weekend"],
    ["regular", null],
  ]);
});

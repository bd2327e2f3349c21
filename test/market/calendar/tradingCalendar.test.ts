import { expect, test } from "@jest/globals";
import {
  alwaysOpen,
  createCalendar,
  type Phase,
  datesBetween,
} from "../../../src/market/calendar/tradingCalendar.ts";
import { exchangeDate } from "../../../src/market/calendar/dates.ts";

/** A calendar that remembers nothing yet. */
const nyse = createCalendar;

/** Weekdays without a session, as NYSE and NYSE Group published them, month-day. */
const PUBLISHED_CLOSED: Record<number, string> = {
  1990: "01-01 02-19 04-13 05-28 07-04 09-03 11-22 12-25",
  1994: "02-21 04-01 04-27 05-30 07-04 09-05 11-24 12-26",
  1996: "01-01 02-19 04-05 05-27 07-04 09-02 11-28 12-25",
  1998: "01-01 01-19 02-16 04-10 05-25 07-03 09-07 11-26 12-25",
  1999: "01-01 01-18 02-15 04-02 05-31 07-05 09-06 11-25 12-24",
  2001: "01-01 01-15 02-19 04-13 05-28 07-04 09-03 09-11 09-12 09-13 09-14 11-22 12-25",
  2004: "01-01 01-19 02-16 04-09 05-31 06-11 07-05 09-06 11-25 12-24",
  2006: "01-02 01-16 02-20 04-14 05-29 07-04 09-04 11-23 12-25",
  2007: "01-01 01-02 01-15 02-19 04-06 05-28 07-04 09-03 11-22 12-25",
  2008: "01-01 01-21 02-18 03-21 05-26 07-04 09-01 11-27 12-25",
  2012: "01-02 01-16 02-20 04-06 05-28 07-04 09-03 10-29 10-30 11-22 12-25",
  2018: "01-01 01-15 02-19 03-30 05-28 07-04 09-03 11-22 12-05 12-25",
  2019: "01-01 01-21 02-18 04-19 05-27 07-04 09-02 11-28 12-25",
  2020: "01-01 01-20 02-17 04-10 05-25 07-03 09-07 11-26 12-25",
  2021: "01-01 01-18 02-15 04-02 05-31 07-05 09-06 11-25 12-24",
  2022: "01-17 02-21 04-15 05-30 06-20 07-04 09-05 11-24 12-26",
  2023: "01-02 01-16 02-20 04-07 05-29 06-19 07-04 09-04 11-23 12-25",
  2024: "01-01 01-15 02-19 03-29 05-27 06-19 07-04 09-02 11-28 12-25",
  2025: "01-01 01-09 01-20 02-17 04-18 05-26 06-19 07-04 09-01 11-27 12-25",
  2026: "01-01 01-19 02-16 04-03 05-25 06-19 07-03 09-07 11-26 12-25",
  2027: "01-01 01-18 02-15 03-26 05-31 06-18 07-05 09-06 11-25 12-24",
  2028: "01-17 02-21 04-14 05-29 06-19 07-04 09-04 11-23 12-25",
};

/** Early closes as published, month-day and New York time. */
const PUBLISHED_EARLY: Record<number, string> = {
  1990: "12-24@14:00",
  1991: "12-24@14:00",
  1992: "11-27@14:00 12-24@14:00",
  1993: "11-26@13:00",
  1994: "02-11@14:30 11-25@13:00",
  1995: "07-03@13:00 11-24@13:00",
  1996: "01-08@14:00 07-05@13:00 11-29@13:00 12-24@13:00",
  1997: "07-03@13:00 10-27@15:30 11-28@13:00 12-24@13:00 12-26@13:00",
  1998: "11-27@13:00 12-24@13:00",
  1999: "11-26@13:00 12-31@13:00",
  2000: "07-03@13:00 11-24@13:00",
  2001: "07-03@13:00 11-23@13:00 12-24@13:00",
  2002: "07-05@13:00 11-29@13:00 12-24@13:00",
  2003: "07-03@13:00 11-28@13:00 12-24@13:00 12-26@13:00",
  2004: "11-26@13:00",
  2008: "07-03@13:00 11-28@13:00 12-24@13:00",
  2012: "07-03@13:00 11-23@13:00 12-24@13:00",
  2013: "07-03@13:00 11-29@13:00 12-24@13:00",
  2014: "07-03@13:00 11-28@13:00 12-24@13:00",
  2018: "07-03@13:00 11-23@13:00 12-24@13:00",
  2019: "07-03@13:00 11-29@13:00 12-24@13:00",
  2020: "11-27@13:00 12-24@13:00",
  2021: "11-26@13:00",
  2022: "11-25@13:00",
  2023: "07-03@13:00 11-24@13:00",
  2024: "07-03@13:00 11-29@13:00 12-24@13:00",
  2025: "07-03@13:00 11-28@13:00 12-24@13:00",
  2026: "11-27@13:00 12-24@13:00",
  2027: "11-26@13:00",
  2028: "07-03@13:00 11-24@13:00",
};

function newYorkTime(at: Date): string {
  return at.toLocaleTimeString("en-GB", { timeZone: "America/New_York", hour: "2-digit", minute: "2-digit" });
}

test.each(Object.entries(PUBLISHED_CLOSED))(
  "in %s the market is closed on the published weekdays and no others",
  (year, days) => {
    const { closedReason } = nyse();
    const closed = datesBetween(`${year}-01-01`, `${year}-12-31`).filter(
      (date) => !["weekend", null].includes(closedReason(date)),
    );

    expect(closed.map((date) => date.slice(5)).join(" ")).toBe(days);
  },
);

test.each(Object.entries(PUBLISHED_EARLY))(
  "in %s the market closes early on the published days and no others",
  (year, days) => {
    const early = nyse()
      .sessions(`${year}-01-01`, `${year}-12-31`)
      .filter(({ kind }) => kind === "early");

    expect(early.map(({ date, close }) => `${date.slice(5)}@${newYorkTime(close)}`).join(" ")).toBe(days);
  },
);

test("a closed day says why", () => {
  expect(nyse().closedReason("2025-01-09")).toBe("National day of mourning for Jimmy Carter");
  expect(nyse().closedReason("2024-03-29")).toBe("Good Friday");
  expect(nyse().closedReason("2027-06-18")).toBe("Juneteenth (observed)");
  expect(nyse().closedReason("2024-06-15")).toBe("weekend");
  expect(nyse().closedReason("2024-06-14")).toBeNull();
});

test("an ordinary winter day runs 04:00, 09:30, 16:00, 20:00 Eastern Standard Time", () => {
  expect(nyse().session("2026-01-15")).toEqual({
    date: "2026-01-15",
    kind: "regular",
    pre: new Date("2026-01-15T09:00:00Z"),
    open: new Date("2026-01-15T14:30:00Z"),
    close: new Date("2026-01-15T21:00:00Z"),
    post: new Date("2026-01-16T01:00:00Z"),
    reason: null,
  });
});

test("post-market trading ends at 17:00 after a close at 13:00", () => {
  const session = nyse().session("2025-07-03");

  expect(session).toMatchObject({ kind: "early", reason: "day before Independence Day" });
  expect(session?.close).toEqual(new Date("2025-07-03T17:00:00Z"));
  expect(session?.post).toEqual(new Date("2025-07-03T21:00:00Z"));
});

test("the open moves by an hour of UTC over both clock changes of 2025", () => {
  const { session } = nyse();
  const opens = ["2025-03-07", "2025-03-10", "2025-10-31", "2025-11-03"].map((date) => session(date)?.open);

  expect(opens.map((open) => open?.toISOString().slice(11, 16))).toEqual([
    "14:30",
    "13:30",
    "13:30",
    "14:30",
  ]);
});

test.each([
  ["1990-12-27", "11:00", "16:00", "transformer explosion"],
  ["1994-02-11", "09:30", "14:30", "snowstorm"],
  ["1995-12-18", "10:30", "16:00", "systems trouble"],
  ["1996-01-08", "11:00", "14:00", "snowstorm"],
  ["1997-10-27", "09:30", "15:30", "circuit breaker"],
  ["1999-12-31", "09:30", "13:00", "eve of the year 2000"],
  ["2002-09-11", "12:00", "16:00", "anniversary of September 11"],
  ["2003-12-26", "09:30", "13:00", "day after Christmas"],
  ["2005-06-01", "09:30", "15:56", "systems trouble"],
])("on %s the market was open from %s to %s: %s", (date, open, close, reason) => {
  const session = nyse().session(date);

  expect([session?.open, session?.close].map((at) => newYorkTime(at ?? new Date(0)))).toEqual([open, close]);
  expect(session).toMatchObject({ reason, kind: close === "16:00" ? "regular" : "early" });
});

test("phases begin at their first millisecond and end before the next one", () => {
  const phases: [string, Phase][] = [
    ["2025-07-07T17:00:00.000Z", "regular"],
    ["2025-07-03T07:59:59.999Z", "closed"],
    ["2025-07-03T08:00:00.000Z", "pre"],
    ["2025-07-03T13:29:59.999Z", "pre"],
    ["2025-07-03T13:30:00.000Z", "regular"],
    ["2025-07-03T16:59:59.999Z", "regular"],
    ["2025-07-03T17:00:00.000Z", "post"],
    ["2025-07-03T20:59:59.999Z", "post"],
    ["2025-07-03T21:00:00.000Z", "closed"],
    ["2025-07-04T15:00:00.000Z", "closed"],
    // 20:30 in New York is already the next day in UTC.
    ["2026-01-16T00:30:00.000Z", "post"],
  ];

  const { phaseAt } = nyse();

  expect(phases.map(([at]) => [at, phaseAt(new Date(at))])).toEqual(phases);
});

test("a job may run in the session it wants, in any, or always", () => {
  const inPre = new Date("2026-01-15T10:00:00Z");
  const atNight = new Date("2026-01-15T06:00:00Z");

  expect(nyse().isOpenFor("pre", inPre)).toBe(true);
  expect(nyse().isOpenFor("regular", inPre)).toBe(false);
  expect(nyse().isOpenFor("any", inPre)).toBe(true);
  expect(nyse().isOpenFor("any", atNight)).toBe(false);
  expect(nyse().isOpenFor("always", atNight)).toBe(true);
});

test("a date before 1990, or one that does not exist, is refused", () => {
  for (const date of ["1989-12-29", "2023-02-29", "2023-2-1", "today"]) {
    expect(() => nyse().session(date)).toThrow(expect.objectContaining({ code: "CALENDAR_DATE_INVALID" }));
  }
  expect(() => nyse().phaseAt(new Date("1985-06-03T15:00:00Z"))).toThrow(/1990-01-01/);
});

test("the exchange's date changes at midnight in New York", () => {
  expect(exchangeDate(new Date("2026-07-01T03:59:59Z"))).toBe("2026-06-30");
  expect(exchangeDate(new Date("2026-07-01T04:00:00Z"))).toBe("2026-07-01");
});

test("nothing lies between a date and an earlier one", () => {
  expect(nyse().sessions("2025-02-01", "2025-01-01")).toEqual([]);
});

test("the market that never closes has a session on every date, from midnight to midnight in New York, and every phase open", () => {
  const sunday = alwaysOpen.session("2025-03-09");

  expect(sunday?.open).toEqual(new Date("2025-03-09T05:00:00Z"));
  expect(sunday?.close).toEqual(new Date("2025-03-10T04:00:00Z"));
  expect(alwaysOpen.sessions("2025-01-01", "2025-12-31")).toHaveLength(365);
  expect(alwaysOpen.phaseAt(new Date("2025-03-09T12:00:00Z"))).toBe("regular");
  expect(alwaysOpen.isOpenFor("post", new Date("2025-03-09T12:00:00Z"))).toBe(true);
  expect(alwaysOpen.closedReason("2025-12-25")).toBeNull();
});

/**
 * What no rule gives: closures, early closes and late openings decided for one day, since 1990.
 *
 * Sources: NYSE, "Special Closings" (1885 to 2011); NYSE announcements after it; for 1990-12-27 the Los Angeles
 * Times of that day; for 1999-12-31 the decision of the exchange's board of 3 June 1999. Moments of silence and
 * other delays of three minutes or less are left out: a poll in such a minute costs less than the rule.
 */
import type { EarlyClose } from "./earlyCloses.ts";

/** Days without a session, to the reason. */
export const CLOSURES: ReadonlyMap<string, string> = new Map([
  ["1994-04-27", "National day of mourning for Richard Nixon"],
  ["2001-09-11", "Terrorist attacks of September 11"],
  ["2001-09-12", "Terrorist attacks of September 11"],
  ["2001-09-13", "Terrorist attacks of September 11"],
  ["2001-09-14", "Terrorist attacks of September 11"],
  ["2004-06-11", "National day of mourning for Ronald Reagan"],
  ["2007-01-02", "National day of mourning for Gerald Ford"],
  ["2012-10-29", "Hurricane Sandy"],
  ["2012-10-30", "Hurricane Sandy"],
  ["2018-12-05", "National day of mourning for George H. W. Bush"],
  ["2025-01-09", "National day of mourning for Jimmy Carter"],
]);

/** Sessions that ended early for one year only, exchange time. */
export const IRREGULAR_CLOSES: ReadonlyMap<string, EarlyClose> = new Map([
  ["1994-02-11", { close: "14:30", reason: "snowstorm" }],
  ["1996-01-08", { close: "14:00", reason: "snowstorm" }],
  ["1997-10-27", { close: "15:30", reason: "circuit breaker" }],
  ["1997-12-26", { close: "13:00", reason: "day after Christmas" }],
  ["1999-12-31", { close: "13:00", reason: "eve of the year 2000" }],
  ["2003-12-26", { close: "13:00", reason: "day after Christmas" }],
  ["2005-06-01", { close: "15:56", reason: "systems trouble" }],
]);

/** Sessions that opened late, exchange time. */
export const LATE_OPENINGS: ReadonlyMap<string, { open: string; reason: string }> = new Map([
  ["1990-12-27", { open: "11:00", reason: "transformer explosion" }],
  ["1995-12-18", { open: "10:30", reason: "systems trouble" }],
  ["1996-01-08", { open: "11:00", reason: "snowstorm" }],
  ["2002-09-11", { open: "12:00", reason: "anniversary of September 11" }],
]);

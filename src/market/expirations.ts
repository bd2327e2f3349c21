import { Temporal } from "temporal-polyfill";
import { remembered } from "../ground/remembered.ts";
import { type Calendar, FIRST_DATE } from "./calendar/tradingCalendar.ts";
import { REGULAR_CLOSE } from "./calendar/tradingSession.ts";
import { type RootedSymbol, rootOf } from "./root.ts";
import { SETTLEMENT_OF_ROOT } from "./settlement.ts";
import { addDays, DAY, exchangeDate, exchangeInstant, nthWeekday } from "./calendar/dates.ts";

type ExpirationKind = "monthly" | "weekly";

/**
 * Before this month monthly options expired on the Saturday after the third Friday, from then on on the Friday (OCC
 * moved the date with February 2015; old contracts with Saturdays are in the field notes).
 */
const FIRST_FRIDAY_MONTH = Temporal.PlainYearMonth.from("2015-02");

/**
 * The third Friday, or the last session before it when that Friday is a holiday (Good Friday 2019: Thursday 18 April);
 * until January 2015 the Saturday after the third Friday.
 */
export function monthlyExpiration(year: number, month: number, calendar: Calendar): string {
  const thirdFriday = nthWeekday({ year, month }, DAY.friday, 3);
  if (Temporal.PlainYearMonth.compare(thirdFriday.toPlainYearMonth(), FIRST_FRIDAY_MONTH) < 0) {
    return thirdFriday.add({ days: 1 }).toString();
  }
  return lastSessionUpTo(thirdFriday, calendar);
}

/** `next`: how many; `isOver`: which do not count, those before today where it is absent. */
type NextExpirations = { kind: ExpirationKind; next: number; isOver?: (expiration: string) => boolean };

/**
 * The next expirations at or after a date, ascending; one on the date itself is still to come.
 *
 * @param today exchange date, `YYYY-MM-DD`
 */
export function nextExpirations(
  { kind, next, isOver = (expiration) => expiration < today }: NextExpirations,
  today: string,
  calendar: Calendar,
): string[] {
  const expirations: string[] = [];
  const date = Temporal.PlainDate.from(today);
  // On a Saturday that is itself an expiration, the Friday before it counts.
  let friday = date.subtract({ days: (date.dayOfWeek - DAY.friday + 7) % 7 });
  for (; expirations.length < next; friday = friday.add({ weeks: 1 })) {
    const isThird = friday.day > 14 && friday.day <= 21;
    if (kind === "monthly" && !isThird) continue;
    const expiration = isThird
      ? monthlyExpiration(friday.year, friday.month, calendar)
      : lastSessionUpTo(friday, calendar);
    if (!isOver(expiration)) expirations.push(expiration);
  }
  return expirations;
}

/** Dates before may have no session up to them in the calendar. */
const FIRST_SETTLED = addDays(FIRST_DATE, 31);

/** A contract, as far as its end goes; `strikes: "all"`: all contracts of the date, whatever their roots. */
type ExpiringContract = RootedSymbol & { expiration: string; strikes?: unknown };

/**
 * Whether nothing is to be asked of it any more. On its date it has not expired, a Saturday included; but a contract that is settled at
 * the open of its date was traded for the last time in the session before.
 *
 * @param today exchange date, `YYYY-MM-DD`; see `contractDate`
 */
export function isExpired(asked: ExpiringContract, today: string, calendar: Calendar): boolean {
  if (asked.expiration !== today) return asked.expiration < today;
  return asked.strikes !== "all" && settlingOpen(asked, calendar) !== null;
}

/** The open at which a contract is settled; null: it is settled at a close. */
function settlingOpen(contract: ExpiringContract, calendar: Calendar): Date | null {
  const settled = SETTLEMENT_OF_ROOT.get(rootOf(contract).replace(/^[$^.]/, "")) ?? "close";
  if (settled === "close" || contract.expiration < FIRST_SETTLED) return null;
  const date = Temporal.PlainDate.from(contract.expiration);
  const last = lastSessionUpTo(date, calendar);
  const thirdFriday = nthWeekday({ year: date.year, month: date.month }, DAY.friday, 3);
  const isSettled = settled === "open" || last === lastSessionUpTo(thirdFriday, calendar);
  return isSettled ? (calendar.session(last)?.open ?? null) : null;
}

/**
 * Assumed: a contract trades until the close of its expiration date's session (a few index options 15 minutes longer), and
 * nothing is to be asked of it afterwards. On a date without a session, such as the Saturdays until January 2015, it is
 * asked for until this time in New York.
 */
const EXPIRES_WITHOUT_SESSION = REGULAR_CLOSE;

/** The instant at which a contract ends: the open of its date's session, or of the last one before, if that settles it, else the close. */
export function expiresAt(contract: ExpiringContract, calendar: Calendar): Date {
  return settlingOpen(contract, calendar) ?? closeOf(contract.expiration, calendar);
}

function closeOf(date: string, calendar: Calendar): Date {
  const session = date < FIRST_DATE ? null : calendar.session(date);
  return session?.close ?? exchangeInstant(date, EXPIRES_WITHOUT_SESSION);
}

/**
 * The date that counts as today for contracts: the exchange's, and from the close of its session the next one, when
 * contracts of the date are over.
 */
export function contractDate(at: Date, calendar: Calendar): string {
  const date = dateOfHour(Math.floor(at.getTime() / HOUR_MS));
  return at >= closeOf(date, calendar) ? addDays(date, 1) : date;
}

const HOUR_MS = 3_600_000;

/** By hours since the epoch, as a date begins on the hour: it is asked for at each slot of hours ahead. */
const dateOfHour = remembered(8, (hour: number): string => exchangeDate(new Date(hour * HOUR_MS)));

function lastSessionUpTo(friday: Temporal.PlainDate, calendar: Calendar): string {
  let date = friday;
  while (calendar.session(date.toString()) === null) date = date.subtract({ days: 1 });
  return date.toString();
}

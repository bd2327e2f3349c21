/** Which option contracts the simulated market lists. */
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { isDateText } from "../../market/calendar/dates.ts";
import { expiresAt, monthlyExpiration, nextExpirations } from "../../market/expirations.ts";
import { plainStrike, type OptionContract } from "../../market/instrument.ts";
import { remembered } from "../../ground/remembered.ts";
import { dayOfDate, sessionAt } from "./marketDay.ts";

export type ListedContract = OptionContract & {
  /** Epoch day of the first session in which it trades. */
  firstDay: number;
  /** Epoch ms, see `expiresAt`. */
  expiresMs: number;
  strikePrice: number;
};

/**
 * Assumed: every weekly expiration is listed for three years and the January monthlies for five, far more than any
 * exchange lists, so that chains of every job file find their contracts.
 */
const LISTED_DAYS = { weekly: 1_096, january: 1_826 } as const;

/** Strikes lie from a tenth to ten times the price that the underlying's walk returns to, at multiples of 0.5. */
const STRIKE_RANGE = { least: 0.1, most: 10 } as const;

/** The first expiration date that the rules of `market/` reach safely. */
const FIRST_EXPIRATION = "1990-02-01";

const calendar = createCalendar();

/** The first session's epoch day of an expiration date of the exchange's rules; null for any other text. */
const firstDayOf = remembered(5_000, (date: string): number | null => {
  if (!isDateText(date) || date < FIRST_EXPIRATION) return null;
  if (nextExpirations({ kind: "weekly", next: 1 }, date, calendar)[0] !== date) return null;
  const [year, month] = [Number(date.slice(0, 4)), Number(date.slice(5, 7))];
  const isJanuary = month === 1 && monthlyExpiration(year, 1, calendar) === date;
  return dayOfDate(date) - (isJanuary ? LISTED_DAYS.january : LISTED_DAYS.weekly);
});

/** Of an underlying and an expiration date, with a blank between. */
const expiresMsOf = remembered(5_000, (expiring: string): number => {
  const [underlying = "", expiration = ""] = expiring.split(" ");
  return expiresAt({ underlying, expiration }, calendar).getTime();
});

/**
 * The contract as listed at an instant (epoch ms); null when the market has no such root, expiration or strike, or when the
 * contract has expired or is not listed yet.
 *
 * @param baseCents the price that the underlying's walk returns to; it never moves, so a listed strike stays listed
 */
export function listedContract(
  contract: OptionContract,
  baseCents: number,
  atMs: number,
): ListedContract | null {
  if (contract.root !== undefined) return null;
  const strikePrice = strikeOf(contract.strike, baseCents);
  const firstDay = firstDayOf(contract.expiration);
  if (strikePrice === null || firstDay === null) return null;
  const expiresMs = expiresMsOf(`${contract.underlying} ${contract.expiration}`);
  if (atMs >= expiresMs || sessionAt(atMs).day < firstDay) return null;
  return { ...contract, firstDay, expiresMs, strikePrice };
}

function strikeOf(text: string, baseCents: number): number | null {
  if (!/^\d{1,8}(\.5)?$/.test(plainStrike(text))) return null;
  const strike = Number(text);
  const base = baseCents / 100;
  return strike > 0 && strike >= base * STRIKE_RANGE.least && strike <= base * STRIKE_RANGE.most
    ? strike
    : null;
}

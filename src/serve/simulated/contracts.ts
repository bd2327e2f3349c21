/** Which option contracts the simulated market lists. */
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { isDateText } from "../../market/calendar/dates.ts";
import { expiresAt, monthlyExpiration, nextExpirations } from "../../market/expirations.ts";
import { plainStrike, type OptionContract } from "../../market/instrument.ts";
import { remembered } from "../../remembered.ts";
import { dayOfDate, sessionAt } from "./marketDay.ts";

export type ListedContract = OptionContract & {
  /** Epoch day of the first session in which it trades. */
  firstDay: number;
  /** Epoch ms at which it expires: at the close of the exchange's session on its expiration date. */
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

type Expiration = { firstDay: number; expiresMs: number };

/** An expiration date of the exchange's rules; false for any other text. */
const expirationOf = remembered(5_000, (date: string): Expiration | false => {
  if (!isDateText(date) || date < FIRST_EXPIRATION) return false;
  if (nextExpirations({ kind: "weekly", next: 1 }, date, calendar)[0] !== date) return false;
  const [year, month] = [Number(date.slice(0, 4)), Number(date.slice(5, 7))];
  const isJanuary = month === 1 && monthlyExpiration(year, 1, calendar) === date;
  return {
    firstDay: dayOfDate(date) - (isJanuary ? LISTED_DAYS.january : LISTED_DAYS.weekly),
    expiresMs: expiresAt(date, calendar).getTime(),
  };
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
  const expiration = expirationOf(contract.expiration);
  if (strikePrice === null || !expiration) return null;
  if (atMs >= expiration.expiresMs || sessionAt(atMs).day < expiration.firstDay) return null;
  return { ...contract, ...expiration, strikePrice };
}

function strikeOf(text: string, baseCents: number): number | null {
  if (!/^\d{1,8}(\.5)?$/.test(plainStrike(text))) return null;
  const strike = Number(text);
  const base = baseCents / 100;
  return strike > 0 && strike >= base * STRIKE_RANGE.least && strike <= base * STRIKE_RANGE.most
    ? strike
    : null;
}

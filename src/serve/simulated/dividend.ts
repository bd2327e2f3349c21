/** Dividends of the simulated market. */
import type { DividendData } from "../../quotes-api/document.ts";
import type { Company } from "./companies.ts";
import { decimalText } from "./decimalText.ts";
import { chance, seedOf } from "./hash.ts";
import { DAY_MS } from "./session.ts";

/** How the service writes the yield of an equity without a dividend: Java's smallest double (field notes). */
export const NO_YIELD = "4.9E-324";

/**
 * The latest dividend with an ex-date on or before a date. A company that pays none has the amount `0.0`, an
 * ex-date years past and the yield `4.9E-324`, as the service does.
 *
 * @param date `YYYY-MM-DD`
 * @param previousClose cents; the yield is that of the close, so it changes once a session
 */
export function dividendOf(company: Company, date: string, previousClose: number): DividendData {
  const seed = seedOf(`dividend/${company.symbol}`);
  if (company.quarterlyDividend === 0) {
    const year = 2001 + Math.floor(6 * chance(seed, 0));
    return {
      amount: "0.0",
      exDate: exDate(seed, year * 12 + Math.floor(12 * chance(seed, 1))),
      yield: NO_YIELD,
    };
  }
  return {
    amount: decimalText(company.quarterlyDividend, 4),
    exDate: latestExDate(seed, date),
    yield: decimalText((400 * company.quarterlyDividend) / (previousClose / 100), 2),
  };
}

/** Companies go ex in every third month, each in its own. */
function latestExDate(seed: number, date: string): string {
  const [year = 0, month = 1] = date.split("-").map(Number);
  const offset = Math.floor(3 * chance(seed, 2));
  let index = year * 12 + month - 1;
  while (index % 3 !== offset || exDate(seed, index) > date) index -= 1;
  return exDate(seed, index);
}

/** The company's weekday in a month, months counted from year 0. */
function exDate(seed: number, monthIndex: number): string {
  const day = 8 + Math.floor(14 * chance(seed, 3));
  const time = Date.UTC(Math.floor(monthIndex / 12), monthIndex % 12, day);
  const weekday = new Date(time).getUTCDay();
  const toWeekday = weekday === 6 ? 2 : weekday === 0 ? 1 : 0;
  return new Date(time + toWeekday * DAY_MS).toISOString().slice(0, 10);
}

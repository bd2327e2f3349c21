/** Bars as a CSV file: what the chart draws, in numbers. Pure. */
import { harmless } from "../../read/formula.ts";
import { csvText } from "./csvText.ts";
import type { Bar, BarsView, MissRow } from "../../archive/ask/dashboardTypes.ts";

const HEADING =
  "instrument,source,delayed,interval,date,session,bar_at,open,high,low,close,bid,ask,mean_spread,quote_count,volume,missing,reasons";

/**
 * A line for each bar; every one says where its prices come from. Absent values are empty. Behind the bar stand the quotes
 * that were due from its beginning until the next one's and are missing, by job and reason.
 *
 * @param misses ascending
 */
export function barsCsv(view: BarsView, misses: readonly MissRow[]): string {
  const { instrument, source, delayed, interval, bars } = view;
  const missing = missesByBar(bars, misses);
  const lines = bars.map(({ date, session, at, open, high, low, close, bid, ask, ...rest }, index) => [
    harmless(instrument),
    source,
    String(delayed),
    interval,
    date,
    session,
    at,
    open,
    high,
    low,
    close,
    bid,
    ask,
    rest.meanSpread,
    rest.quoteCount,
    rest.volume,
    String(missing[index]?.reduce((sum, { count }) => sum + count, 0) ?? 0),
    harmless((missing[index] ?? []).map(({ job, reason, count }) => `${job} ${reason} ${count}`).join("; ")),
  ]);
  return csvText(HEADING.split(","), lines);
}

/** By the bar that had begun; what was missed before the first one stands with it. */
function missesByBar(bars: readonly Bar[], misses: readonly MissRow[]): MissRow[][] {
  const starts = bars.map(({ at }) => Date.parse(at));
  const found: MissRow[][] = bars.map(() => []);
  let place = 0;
  for (const miss of misses) {
    while ((starts[place + 1] ?? Infinity) <= Date.parse(miss.firstAt)) place += 1;
    found[place]?.push(miss);
  }
  return found;
}

/** Which bars the instrument's chart has: ranges as the address holds them, older bars, and news of those that are known. Pure. */
import { INTERVALS, MOST_BARS } from "../../../archive/ask/widths.ts";
import type { BarsView, Interval } from "../../../archive/ask/dashboardTypes.ts";

export const RANGES = [
  { name: "1D", label: "1 session", sessions: 1 },
  { name: "5D", label: "5 sessions", sessions: 5 },
  { name: "1M", label: "21 sessions", sessions: 21 },
  { name: "1Y", label: "252 sessions", sessions: 252 },
  { name: "All", label: "all sessions", sessions: 10_000 },
] as const;

/** A range of sessions, or of exchange dates; a date that is not given leaves its end open. */
export type ChosenRange =
  { name: (typeof RANGES)[number]["name"]; sessions: number } | { from: string; to: string };

/** The range that an address holds: dates come before names. */
export function rangeOf({ range, from, to }: { range: string; from: string; to: string }): ChosenRange {
  const dates = { from: isDateText(from) ? from : "", to: isDateText(to) ? to : "" };
  if (dates.from !== "" || dates.to !== "")
    return dates.from !== "" && dates.to !== "" && dates.to < dates.from ? { from: to, to: from } : dates;
  return RANGES.find(({ name }) => name === range) ?? RANGES[0];
}

/** A range as people read it: `5D`, `2026-11-16 to 2026-11-20`. */
export function rangeLabel(range: ChosenRange): string {
  if ("name" in range) return range.name;
  if (range.from === "") return `until ${range.to}`;
  return range.to === "" ? `since ${range.from}` : `${range.from} to ${range.to}`;
}

export function intervalOf(text: string): Interval {
  return INTERVALS.find((name) => name === text) ?? "1m";
}

/** Whether it is `YYYY-MM-DD` and a day that exists. */
export function isDateText(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(Date.parse(text)) &&
    new Date(text).toISOString().startsWith(text)
  );
}

/**
 * How many sessions are read when one scrolls to before the first bar: twice as many, as far as a chart draws as many bars. Null:
 * no older ones are stored, or they would be too many bars.
 */
export function olderSessions(
  { more, bars }: Pick<BarsView, "more" | "bars">,
  sessions: number,
): number | null {
  const most = Math.floor((MOST_BARS / Math.max(1, bars.length)) * sessions);
  const next = Math.min(2 * sessions, most);
  return more && next > sessions ? next : null;
}

/**
 * Known bars with news of them, which replace all from their first date on. Null: they are of another width, so that all of them have
 * to be read.
 */
export function mergeBars(known: BarsView, news: BarsView): BarsView | null {
  const dates = [...news.bars, ...news.sessions].map(({ date }) => date).sort();
  const [from] = dates;
  if (from === undefined) return known;
  if (news.interval !== known.interval) return null;
  return {
    ...news,
    bars: [...known.bars.filter(({ date }) => date < from), ...news.bars],
    sessions: [...known.sessions.filter(({ date }) => date < from), ...news.sessions],
    dividends: [...known.dividends.filter(({ exDate }) => exDate < from), ...news.dividends],
    more: known.more,
  };
}

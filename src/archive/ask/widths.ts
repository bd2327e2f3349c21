/** The widths of bars that the dashboard draws, and which of them a stretch of time can be drawn in. Pure. */

/** Widths in ms, ascending. Their names are what `bars(...)` of the schema takes for an interval. */
export const WIDTH_MS = {
  "1m": 60_000,
  "2m": 120_000,
  "3m": 180_000,
  "5m": 300_000,
  "10m": 600_000,
  "15m": 900_000,
  "30m": 1_800_000,
  "1h": 3_600_000,
  "2h": 7_200_000,
  "4h": 14_400_000,
  "1d": 86_400_000,
  "1w": 604_800_000,
} as const;

export type Interval = keyof typeof WIDTH_MS;

export const INTERVALS = Object.keys(WIDTH_MS) as [Interval, ...Interval[]];

export function isOfDates(interval: Interval): boolean {
  return WIDTH_MS[interval] >= WIDTH_MS["1d"];
}

/** The Monday of a date's week: bars of weeks begin with it. */
export function mondayOf(date: string): string {
  const at = new Date(`${date}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7));
  return at.toISOString().slice(0, 10);
}

/** Most bars of one answer: more than a screen has columns, few enough to be drawn at once. */
export const MOST_BARS = 10_000;

type DayOfQuotes = { quotes: number; spanMs: number };

/** The open, the close and the hours around them cut bars short: a date has at most so many more. */
const CUT_BARS = 4;

const SESSION_MS = 23_400_000;

/**
 * The narrowest width, at least as wide as the wanted one, in which some dates make no more bars than can be drawn. Of
 * whole dates there are never too many.
 *
 * @param days.empty sessions without a quote: their places are drawn empty
 */
export function widthFor(
  wanted: Interval,
  days: { withQuotes: readonly DayOfQuotes[]; empty: number },
  most: number,
): Interval {
  const fits = (interval: Interval): boolean => {
    if (isOfDates(interval)) return true;
    const width = WIDTH_MS[interval];
    const bars = days.withQuotes.reduce(
      (sum, { quotes, spanMs }) => sum + Math.min(quotes, Math.ceil(spanMs / width) + CUT_BARS),
      0,
    );
    return bars + days.empty * Math.ceil(SESSION_MS / width) <= most;
  };
  return INTERVALS.slice(INTERVALS.indexOf(wanted)).find(fits) ?? "1d";
}

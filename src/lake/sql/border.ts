/** Which exchange dates come from the lake, which from the database, and which from both. Pure. */
import { addDays } from "../../market/calendar/dates.ts";
import { type DayManifest, HOT_TABLES, type LakeTable, tableOf } from "../lakeFiles.ts";
import type { Bounds } from "./bounds.ts";

/** What is known of the lake's dates at the database's one instant. */
export type LakeDays = {
  /** Ascending. */
  days: readonly DayManifest[];
  /** Dates of which rows came, or were changed, since they were written. */
  late: ReadonlySet<string>;
  /** Dates whose quotes were dropped from the database, or of which it has lost some. */
  gone: ReadonlySet<string>;
};

/** Where the rows of a table lie. Dates are the exchange's, both ends included; null: no end. */
export type Border = {
  lake: readonly LakeTable[];
  /** Files of dates of which the database has some rows. */
  both: readonly LakeTable[];
  hot: readonly { from: string | null; to: string | null }[];
};

/**
 * The border of a table that has dates. A date that is written, and has not changed since, is the lake's; all else is the
 * database's. Of quotes that are no more in the database, rows that came later are added to the lake's.
 */
export function borderOf(
  name: string,
  { days, late, gone }: LakeDays,
  { dates }: Pick<Bounds, "dates">,
): Border {
  const { from, to } = dates;
  const isWithin = (date: string): boolean => (from === null || date >= from) && (to === null || date <= to);
  const isSettled = ({ date, complete }: DayManifest): boolean => complete && !late.has(date);
  const isHot = HOT_TABLES.some((one) => one === name);
  const within = days.filter(({ date }) => isWithin(date));
  const changed = within.filter((day) => !isSettled(day));
  const filesOf = (of: readonly DayManifest[]): LakeTable[] => of.flatMap((day) => tableOf(day, name) ?? []);
  const last = days.at(-1)?.date ?? null;
  // Dates that came late and have no file yet.
  const missing = [...late].filter((date) => last !== null && date <= last && isWithin(date));
  const single = [...new Set([...changed.map(({ date }) => date), ...missing])].sort();
  return {
    lake: filesOf(within.filter(isSettled)),
    both: filesOf(isHot ? changed.filter(({ date }) => gone.has(date)) : []),
    hot: [
      ...single.map((date) => ({ from: date, to: date })),
      ...(last === null || to === null || to > last
        ? [{ from: last === null ? from : from !== null && from > last ? from : addDays(last, 1), to }]
        : []),
    ],
  };
}

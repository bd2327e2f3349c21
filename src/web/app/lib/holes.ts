/** Where quotes are missing in a chart, and what the ledger says of it. Pure. */
import type { Interval, MissRow } from "../../api/types.ts";
import { isOfDates } from "../../../archive/ask/widths.ts";
import type { Slot } from "./chartGaps.ts";
import { exchangeDateOf } from "./format.ts";

type Missed = Pick<MissRow, "job" | "reason" | "count" | "firstAt" | "lastAt">;

/**
 * A run of neighbouring places of a chart at which quotes are missing: `empty` ones have no bar, others a bar of fewer
 * quotes than were due. `missed` is none where the ledger knows nothing of the hole.
 */
export type Hole = {
  from: number;
  to: number;
  empty: boolean;
  missed: Missed[];
};

/**
 * The holes of a chart, ascending. A miss belongs to the place that had begun when its slot came: also where that is a
 * night before, whose hours are not drawn.
 *
 * @param slots as `withGaps` gives them
 * @param misses ascending
 */
export function holesOf(slots: readonly Slot[], misses: readonly MissRow[], interval: Interval): Hole[] {
  const ofDates = isOfDates(interval);
  const hasBegun = ({ at, date }: Slot, miss: MissRow): boolean =>
    ofDates ? date <= exchangeDateOf(Date.parse(miss.firstAt)) : Date.parse(at) <= Date.parse(miss.firstAt);
  const byPlace = new Map<number, MissRow[]>();
  let place = 0;
  for (const miss of misses) {
    for (let next = slots[place + 1]; next && hasBegun(next, miss); next = slots[place + 1]) place += 1;
    byPlace.set(place, [...(byPlace.get(place) ?? []), miss]);
  }
  const holes: Hole[] = [];
  slots.forEach(({ bar, date, session }, index) => {
    const missed = byPlace.get(index) ?? [];
    if (bar && missed.length === 0) return;
    const before = holes.at(-1);
    const neighbour = slots[index - 1];
    const goesOn =
      before?.to === index - 1 &&
      before.empty === (bar === null) &&
      (ofDates || (neighbour?.date === date && neighbour.session === session));
    if (goesOn) {
      before.to = index;
      before.missed.push(...missed);
    } else holes.push({ from: index, to: index, empty: bar === null, missed: [...missed] });
  });
  return holes.map((hole) => ({ ...hole, missed: sum(hole.missed) }));
}

function sum(rows: readonly Missed[]): Missed[] {
  const sums = new Map<string, Missed>();
  for (const { job, reason, count, firstAt, lastAt } of rows) {
    const key = `${reason} ${job}`;
    const before = sums.get(key);
    sums.set(key, {
      job,
      reason,
      count: count + (before?.count ?? 0),
      firstAt: before?.firstAt ?? firstAt,
      lastAt,
    });
  }
  return [...sums.values()].sort((a, b) => b.count - a.count);
}

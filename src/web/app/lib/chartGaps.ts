/**
 * Where bars are missing although quotes were due: there a chart shows a gap, and closed hours none; where quotes are missing,
 * and what the ledger says of it. Pure.
 */
import { mondayOf, WIDTH_MS, isOfDates } from "../../../archive/ask/widths.ts";
import type { Bar, Interval, SessionView, MissRow } from "../../../archive/ask/dashboardTypes.ts";
import { exchangeDateOf } from "./format.ts";

/** A place of a chart: a bar, or an empty one. */
export type Slot = { at: string; date: string; session: Bar["session"]; bar: Bar | null };

/** A spacing is a hole when it is this many times what is usual. */
const HOLE = 1.5;

/** Most empty places in a row: a hole of a night shows as one, and does not push the bars aside. */
const MOST_EMPTY = 400;

/**
 * The bars with empty places between them. Within one part of one day, from its first bar to its last; in the regular
 * session, from the open to the close as far as it has come; all of a session without a bar. What is usual is learnt from the bars, so that a job of
 * every five minutes has no gaps in bars of one.
 *
 * @param bars ascending
 * @param nowMs epoch ms
 */
export function withGaps(
  bars: readonly Bar[],
  { interval, sessions, nowMs }: { interval: Interval; sessions: readonly SessionView[]; nowMs: number },
): Slot[] {
  if (interval === "1d") return byDate(bars, sessions, (date) => date);
  if (interval === "1w") return byDate(bars, sessions, mondayOf);
  const step = Math.max(WIDTH_MS[interval], usualSpacing(bars));
  const hours = new Map(sessions.map((session) => [session.date, session]));
  const withBars = new Set(bars.map(({ date }) => date));
  const without = sessions
    .filter(({ date }) => !withBars.has(date))
    .map(({ date, openAt, closeAt }) =>
      empty({
        date,
        session: "regular",
        step,
        fromMs: Date.parse(openAt),
        toMs: Math.min(Date.parse(closeAt), nowMs),
      }),
    );
  const drawn = groups(bars).map((group) => {
    const [first] = group;
    if (!first) return [];
    const { date, session } = first;
    const regular = session === "regular" ? hours.get(date) : undefined;
    const slots: Slot[] = [];
    const fill = (fromMs: number, toMs: number): void =>
      void slots.push(...empty({ date, session, step, fromMs, toMs }));
    const firstMs = Date.parse(first.at);
    if (regular) fill(Date.parse(regular.openAt), firstMs - (HOLE - 1) * step);
    let beforeMs = firstMs - step;
    for (const bar of group) {
      const atMs = Date.parse(bar.at);
      if (atMs - beforeMs > HOLE * step) fill(beforeMs + step, atMs - (HOLE - 1) * step);
      slots.push({ at: bar.at, date, session, bar });
      beforeMs = atMs;
    }
    if (regular) fill(beforeMs + step, Math.min(Date.parse(regular.closeAt), nowMs - HOLE * step));
    return slots;
  });
  if (without.length === 0) return drawn.flat();
  return [...drawn, ...without].sort((a, b) => ((a[0]?.at ?? "") < (b[0]?.at ?? "") ? -1 : 1)).flat();
}

/** Empty places from one time to another, as many as a hole may have. */
function empty({
  fromMs,
  toMs,
  step,
  ...of
}: Pick<Slot, "date" | "session"> & { fromMs: number; toMs: number; step: number }): Slot[] {
  const slots: Slot[] = [];
  for (let at = fromMs; at < toMs && slots.length < MOST_EMPTY; at += step)
    slots.push({ at: new Date(at).toISOString().replace(".000Z", "Z"), ...of, bar: null });
  return slots;
}

function byDate(
  bars: readonly Bar[],
  sessions: readonly SessionView[],
  placeOf: (date: string) => string,
): Slot[] {
  const barOf = new Map(bars.map((bar) => [placeOf(bar.date), bar]));
  const dates = [...new Set([...sessions.map(({ date }) => placeOf(date)), ...barOf.keys()])].sort();
  return dates.map((date) => {
    const bar = barOf.get(date) ?? null;
    return { at: `${date}T00:00:00Z`, date, session: bar?.session ?? null, bar };
  });
}

/** Runs of bars of one part of one day. */
function groups(bars: readonly Bar[]): Bar[][] {
  const found: Bar[][] = [];
  for (const bar of bars) {
    const last = found.at(-1);
    const of = last?.[0];
    if (last && of && of.date === bar.date && of.session === bar.session) last.push(bar);
    else found.push([bar]);
  }
  return found;
}

/** The median distance of neighbours within their part of a day, ms; 0 where there are none. */
function usualSpacing(bars: readonly Bar[]): number {
  const spacings = groups(bars)
    .flatMap((group) =>
      group.slice(1).map((bar, index) => Date.parse(bar.at) - Date.parse(group[index]?.at ?? bar.at)),
    )
    .sort((a, b) => a - b);
  return spacings[Math.floor((spacings.length - 1) / 2)] ?? 0;
}

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

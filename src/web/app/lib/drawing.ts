/**
 * What a chart draws: the places of its axis, where bars are missing although quotes were due, what the ledger says of it, and what
 * stands at one place. Closed hours are no gaps. Pure.
 */
import { mondayOf, WIDTH_MS, isOfDates } from "../../../archive/ask/widths.ts";
import type { Bar, Interval, SessionView, MissRow, BarsView } from "../../../archive/ask/dashboardTypes.ts";
import { exchangeDateOf, dayAndTime, span } from "./format.ts";
import { direction, fixed, percent, price, pricePlaces, signed, thousands } from "../../../ground/figures.ts";
import { reasonOf } from "./reasons.ts";

/** A place of a chart: a bar, or an empty one. */
export type Slot = { at: string; date: string; session: Bar["session"]; bar: Bar | null };

/** A spacing is a hole when it is this many times what is usual. */
const HOLE = 1.5;

/** Most empty places in a row: a hole of a night shows as one, and does not push the bars aside. */
const MOST_EMPTY = 400;

type GapOptions = { interval: Interval; sessions: readonly SessionView[]; nowMs: number };

/**
 * The bars with empty places between them. Within one part of one day, from its first bar to its last; in the regular session, from
 * the open to the close as far as it has come; all of a session without a bar. The usual spacing is learnt from the
 * bars: a job of every five minutes has no gaps in bars of one.
 *
 * @param bars ascending
 */
export function withGaps(bars: readonly Bar[], { interval, sessions, nowMs }: GapOptions): Slot[] {
  if (interval === "1d") return byDate(bars, sessions, (date) => date);
  if (interval === "1w") return byDate(bars, sessions, mondayOf);
  const parts = partsOf(bars);
  const step = Math.max(WIDTH_MS[interval], usualSpacing(parts));
  const hours = new Map(sessions.map((session) => [session.date, session]));
  const withBars = new Set(bars.map(({ date }) => date));
  const without = sessions.filter(({ date }) => !withBars.has(date));
  return [...parts, ...without.map(({ date }): Part => ({ date, session: "regular", bars: [] }))]
    .map((part) =>
      filled(part, { step, nowMs, hours: part.session === "regular" ? hours.get(part.date) : undefined }),
    )
    .sort((a, b) => ((a[0]?.at ?? "") < (b[0]?.at ?? "") ? -1 : 1))
    .flat();
}

/** Bars of one part of one day. */
type Part = Pick<Bar, "date" | "session"> & { bars: Bar[] };

function partsOf(bars: readonly Bar[]): Part[] {
  const parts: Part[] = [];
  for (const bar of bars) {
    const last = parts.at(-1);
    const { date, session } = bar;
    if (last?.date === date && last.session === session) last.bars.push(bar);
    else parts.push({ date, session, bars: [bar] });
  }
  return parts;
}

/** The median distance of neighbours within their part of a day, ms; 0 where there are none. */
function usualSpacing(parts: readonly Part[]): number {
  const spacings = parts
    .map(({ bars }) => bars.map(({ at }) => Date.parse(at)))
    .flatMap((at) => at.slice(1).map((ms, index) => ms - (at[index] ?? ms)))
    .sort((a, b) => a - b);
  return spacings[Math.floor((spacings.length - 1) / 2)] ?? 0;
}

/** @param of.hours of the session that the part is; absent: of another part nobody knows when it begins or ends */
function filled(
  { date, session, bars }: Part,
  { step, nowMs, hours }: { step: number; nowMs: number; hours: SessionView | undefined },
): Slot[] {
  const slots: Slot[] = [];
  const fill = (fromMs: number, toMs: number): void => {
    for (let [at, count] = [fromMs, 0]; at < toMs && count < MOST_EMPTY; at += step, count += 1)
      slots.push({ at: new Date(at).toISOString().replace(".000Z", "Z"), date, session, bar: null });
  };
  let nextMs = Date.parse(hours?.openAt ?? bars[0]?.at ?? "");
  for (const bar of bars) {
    const atMs = Date.parse(bar.at);
    fill(nextMs, atMs - (HOLE - 1) * step);
    slots.push({ at: bar.at, date, session, bar });
    nextMs = atMs + step;
  }
  const dueMs = bars.length === 0 ? nowMs : nowMs - HOLE * step;
  if (hours) fill(nextMs, Math.min(Date.parse(hours.closeAt), dueMs));
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

type MissSummary = Pick<MissRow, "job" | "reason" | "count" | "firstAt" | "lastAt">;

/**
 * A run of neighbouring places of a chart at which quotes are missing: `empty` ones have no bar, others a bar of fewer
 * quotes than were due. `missed` is none where the ledger knows nothing of the hole.
 */
type Hole = { from: number; to: number; empty: boolean; missed: MissSummary[] };

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

function sum(rows: readonly MissSummary[]): MissSummary[] {
  const sums = new Map<string, MissSummary>();
  for (const row of rows) {
    const key = `${row.reason} ${row.job}`;
    const { count, firstAt } = sums.get(key) ?? { count: 0, firstAt: row.firstAt };
    sums.set(key, { ...row, count: row.count + count, firstAt });
  }
  return [...sums.values()].sort((a, b) => b.count - a.count);
}

/** `places`: decimals of all prices. `flat`: most bars have one price, so that a candle of them is a dash. */
export type Drawing = { view: BarsView; slots: Slot[]; holes: Hole[]; places: number; flat: boolean };

/** More bars of one price than this share are a line. */
const MOST_FLAT = 0.5;

/** @param misses what the ledger knows, ascending */
export function drawingOf(view: BarsView, misses: readonly MissRow[], nowMs: number): Drawing {
  const { bars, interval, sessions } = view;
  const slots = withGaps(bars, { interval, sessions, nowMs });
  const flat = bars.filter(({ high, low }) => high !== null && high === low).length;
  return {
    view,
    slots,
    holes: holesOf(slots, misses, interval),
    places: pricePlaces(bars.flatMap(({ open, high, low, close }) => [open, high, low, close])),
    flat: flat > MOST_FLAT * bars.length,
  };
}

export function numberOf(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Number(text);
}

/** A mean of prices in their own form, whatever division has given. */
export function meanText(mean: string | null, places: number): string {
  return fixed(numberOf(mean), places);
}

/** `hole`: where quotes are missing, how many, whose and why; else null. */
export type Readout = {
  time: string;
  /** Absent at a place without a bar. */
  facts: { name: string; value: string; tone?: "up" | "down" | "" }[];
  hole: string | null;
};

/** The place of the newest bar; -1 where there is none. */
export function newestPlace({ slots }: Drawing): number {
  return slots.findLastIndex(({ bar }) => bar !== null);
}

/** @param place of `drawing.slots` */
export function readoutOf(drawing: Drawing, place: number): Readout {
  const { slots, holes, places } = drawing;
  const slot = slots[place];
  const hole = holes.find(({ from, to }) => place >= from && place <= to);
  const before = slots.slice(0, Math.max(0, place)).findLast(({ bar }) => bar?.close)?.bar?.close ?? null;
  return {
    time: slot ? timeOf(slot, drawing) : "",
    facts: slot?.bar ? factsOf(slot.bar, before, places) : [],
    hole: hole ? holeText(hole) : null,
  };
}

function timeOf({ at, date }: Slot, { view: { interval } }: Drawing): string {
  if (interval === "1w") return `Week of ${date}`;
  return isOfDates(interval) ? date : dayAndTime(at, { seconds: false });
}

function factsOf(bar: Bar, before: string | null, places: number): Readout["facts"] {
  const [now, then] = [numberOf(bar.close), numberOf(before)];
  const change = now === null || then === null ? null : (now - then).toFixed(places);
  const part = change === null || !then ? "" : ` (${signed(percent((Number(change) / then) * 100))})`;
  return [
    { name: "Open", value: price(bar.open, places) },
    { name: "High", value: price(bar.high, places) },
    { name: "Low", value: price(bar.low, places) },
    { name: "Close", value: price(bar.close, places) },
    { name: "Change", value: `${signed(price(change, places))}${part}`, tone: direction(change) },
    { name: "Volume", value: thousands(bar.volume) },
    { name: "Spread", value: meanText(bar.meanSpread, places) },
  ];
}

export function holeText({ missed }: Hole): string {
  if (missed.length === 0)
    return "No quotes, and the ledger has no entry: none were due, or they have not been loaded.";
  return missed
    .map(({ job, reason, count, firstAt, lastAt }) => {
      const lasted = Date.parse(lastAt) - Date.parse(firstAt);
      const when = `${dayAndTime(firstAt, { seconds: false })}${lasted === 0 ? "" : `, for ${span(lasted)}`}`;
      return `${thousands(count)} missing: ${reasonOf(reason).title} (job ${job}, ${when})`;
    })
    .join("; ");
}

/** From when to when the places of a hole are. */
export function holeTime(hole: Hole, drawing: Drawing): string {
  const [first, last] = [drawing.slots[hole.from], drawing.slots[hole.to]];
  if (!first || !last) return "";
  const from = timeOf(first, drawing);
  return hole.from === hole.to ? from : `${from} to ${timeOf(last, drawing)}`;
}

/** A readout as one sentence, for who hears it. */
export function spoken({ time, facts, hole }: Readout): string {
  const said = facts.map(({ name, value }) => `${name.toLowerCase()} ${value}`);
  return [time, ...said, ...(hole === null ? [] : [hole])].join(", ");
}

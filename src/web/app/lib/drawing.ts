/** What a chart draws: the places of its axis and the holes; and what stands at one place. Pure. */
import { isOfDates } from "../../../archive/ask/widths.ts";
import type { Bar, BarsView, MissRow } from "../../../archive/ask/dashboardTypes.ts";
import { type Slot, withGaps, type Hole, holesOf } from "./chartGaps.ts";
import { direction, fixed, percent, price, pricePlaces, signed, thousands } from "../../../ground/figures.ts";
import { dayAndTime, span } from "./format.ts";
import { reasonOf } from "./reasons.ts";

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

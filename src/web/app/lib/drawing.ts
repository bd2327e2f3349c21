/** What a chart draws: the places of its axis, lines over them, and holes; and what stands at one place. Pure. */
import { barKey, isOfDates } from "../../../archive/ask/widths.ts";
import { type Indicator, indicatorKey, indicatorLabel, numberOf, valuesOf } from "../../api/indicators.ts";
import type { BarsView, MissRow } from "../../../archive/ask/dashboardTypes.ts";
import { type Slot, withGaps, type Hole, holesOf } from "./chartGaps.ts";
import {
  direction,
  fixed,
  NOTHING,
  percent,
  price,
  pricePlaces,
  signed,
  thousands,
} from "../../../figures.ts";
import { span, exchangeTime, exchangeMoment, ZONE_NAME } from "./format.ts";
import { reasonOf } from "./reasons.ts";

/** A line over the bars; its values by place. `color` is the number of one of the style sheet's. */
export type Line = {
  key: string;
  label: string;
  /** Prices of this instrument, or percent of another one. */
  unit: "price" | "percent";
  color: number;
  values: (number | null)[];
  /** What percents are of, by place; null: the values are prices. */
  closes: (number | null)[] | null;
};

export type Drawing = {
  view: BarsView;
  slots: Slot[];
  lines: Line[];
  places: number;
  spread: boolean;
  /** The close that percents are of; null: prices are drawn. */
  base: number | null;
  holes: Hole[];
};

/** How many colours the style sheet has for lines. */
const COLORS = 5;

/** `misses`: what the ledger knows, ascending. */
type OfDrawing = { misses: readonly MissRow[]; indicators: readonly Indicator[]; nowMs: number };

export function drawingOf(view: BarsView, { misses, indicators, nowMs }: OfDrawing): Drawing {
  const { interval, sessions, compared } = view;
  const slots = withGaps(view.bars, { interval, sessions, nowMs });
  const bars = slots.map(({ bar, date }) => bar ?? { ...EMPTY, date });
  const averages = indicators.filter(
    // Of a single bar a volume-weighted price says nothing.
    ({ name }) => name !== "spread" && !(name === "vwap" && isOfDates(interval)),
  );
  const drawing: Drawing = {
    view,
    slots,
    spread: indicators.some(({ name }) => name === "spread"),
    base: null,
    places: pricePlaces(view.bars.flatMap(({ open, high, low, close }) => [open, high, low, close])),
    lines: [
      ...compared.map(({ instrument, closes: of }, index) => ({
        key: instrument,
        label: instrument,
        unit: "percent" as const,
        color: 1 + index,
        values: [],
        closes: slots.map((slot) => numberOf(of[barKey(slot, interval)])),
      })),
      ...averages.map((indicator, index) => ({
        key: indicatorKey(indicator),
        label: indicatorLabel(indicator),
        unit: "price" as const,
        color: COLORS - (index % COLORS),
        closes: null,
        values: valuesOf(indicator, bars).map((value, place) => (slots[place]?.bar ? value : null)),
      })),
    ],
    holes: holesOf(slots, misses, interval),
  };
  return basedOn(drawing, 0);
}

const EMPTY = { high: null, low: null, close: null, volume: null, meanSpread: null };

/** The same drawing with its percents from another place on: of each instrument's first close there. */
export function basedOn(drawing: Drawing, place: number): Drawing {
  const { view, slots, lines } = drawing;
  if (view.compared.length === 0) return drawing;
  return {
    ...drawing,
    base: firstFrom(
      place,
      slots.map(({ bar }) => numberOf(bar?.close)),
    ),
    lines: lines.map((line) => {
      if (line.closes === null) return line;
      const base = firstFrom(place, line.closes);
      return { ...line, values: line.closes.map((close) => percentOf(close, base)) };
    }),
  };
}

/** The first value at a place or after it; where there is none, the last one before. */
function firstFrom(place: number, values: readonly (number | null)[]): number | null {
  const isThere = (value: number | null): boolean => value !== null;
  return values.slice(place).find(isThere) ?? values.findLast(isThere) ?? null;
}

/** How far a value is from another, in percent. */
export function percentOf(value: number | null, base: number | null): number | null {
  return value === null || base === null || base === 0 ? null : (value / base - 1) * 100;
}

export type Readout = {
  time: string;
  /** Absent at a place without a bar. */
  facts: { name: string; value: string; tone?: "up" | "down" | "" }[];
  lines: string[];
  /** Where quotes are missing: how many, whose and why; else null. */
  hole: string | null;
};

/** The place of the newest bar; -1 where there is none. */
export function newestPlace({ slots }: Drawing): number {
  return slots.findLastIndex(({ bar }) => bar !== null);
}

/** @param place of `drawing.slots` */
export function readoutOf(drawing: Drawing, place: number): Readout {
  const { slots, lines, holes, places } = drawing;
  const slot = slots[place];
  const hole = holes.find(({ from, to }) => place >= from && place <= to);
  return {
    time: slot ? timeOf(slot, drawing) : "",
    facts: slot?.bar ? factsOf(slot.bar, { before: closeBefore(slots, place), places }) : [],
    lines: lines.map(({ unit, values }) => shown(values[place] ?? null, unit, places)),
    hole: hole ? holeText(hole) : null,
  };
}

function timeOf({ at, date }: Slot, { view: { interval } }: Drawing): string {
  if (interval === "1w") return `Week of ${date}`;
  return isOfDates(interval) ? date : exchangeMoment(at);
}

function closeBefore(slots: readonly Slot[], place: number): string | null {
  return slots.slice(0, Math.max(0, place)).findLast(({ bar }) => bar?.close)?.bar?.close ?? null;
}

function factsOf(
  bar: NonNullable<Slot["bar"]>,
  { before, places }: { before: string | null; places: number },
): Readout["facts"] {
  const { open, high, low, close, volume, meanSpread } = bar;
  const [now, then] = [numberOf(close), numberOf(before)];
  const part = percentOf(now, then);
  const change = now === null || then === null ? null : (now - then).toFixed(places);
  return [
    { name: "Open", value: price(open, places) },
    { name: "High", value: price(high, places) },
    { name: "Low", value: price(low, places) },
    { name: "Close", value: price(close, places) },
    {
      name: "Change",
      value: `${signed(price(change, places))}${part === null ? "" : ` (${shown(part, "percent", places)})`}`,
      tone: direction(change),
    },
    { name: "Volume", value: thousands(volume) },
    { name: "Spread", value: price(shortSpread(meanSpread), places) },
  ];
}

/** A mean has as many digits as division gives; four decimals are what people compare. */
export function shortSpread(meanSpread: string | null): string | null {
  return meanSpread?.replace(/(\.\d{4})\d+$/, "$1") ?? null;
}

function shown(value: number | null, unit: Line["unit"], places: number): string {
  if (value === null) return NOTHING;
  return unit === "percent" ? signed(percent(value)) : fixed(value, places);
}

export function holeText({ missed }: Hole): string {
  if (missed.length === 0)
    return "No quotes, and the ledger has no entry: none were due, or they have not been loaded.";
  return missed
    .map(({ job, reason, count, firstAt, lastAt }) => {
      const lasted = Date.parse(lastAt) - Date.parse(firstAt);
      const when =
        firstAt === lastAt ? exchangeMoment(firstAt) : `${exchangeMoment(firstAt)}, for ${span(lasted)}`;
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
export function spoken({ time, facts, lines: values, hole }: Readout, lines: readonly Line[]): string {
  return [
    time,
    ...facts.map(({ name, value }) => `${name.toLowerCase()} ${value}`),
    ...lines.map(({ label }, index) => `${label} ${values[index]}`),
    ...(hole === null ? [] : [hole]),
  ].join(", ");
}

/** What a picture says of itself, and the name of its file. */
export type Caption = {
  title: string;
  simulated: boolean;
  lines: { text: string; color: `series-${1 | 2 | 3 | 4 | 5}` }[];
  file: string;
};

/** @param seen the first and the last place that are in the picture */
export function captionOf(drawing: Drawing, seen: { from: number; to: number }): Caption {
  const { view, slots, lines } = drawing;
  const { instrument, interval, delayed, source } = view;
  const [first, last] = [slots[seen.from], slots[seen.to]];
  const moment = (slot: Slot | undefined): string =>
    !slot
      ? ""
      : isOfDates(interval)
        ? slot.date
        : `${slot.date} ${exchangeTime(slot.at, { seconds: false })}`;
  const { lines: values } = readoutOf(
    drawing,
    slots.slice(0, seen.to + 1).findLastIndex(({ bar }) => bar !== null),
  );
  const zone = isOfDates(interval) ? "" : ` ${ZONE_NAME}`;
  const dates = [...new Set([first?.date, last?.date])].join("_");
  const file = [instrument, interval, dates, ...(source === "simulated" ? ["SIMULATED"] : [])].join("-");
  return {
    title: `${instrument}${delayed ? ", delayed" : ""}  ${interval}  ${moment(first)} to ${moment(last)}${zone}`,
    simulated: source === "simulated",
    lines: lines.map(({ label, color }, index) => ({
      text: `${label} ${values[index]}`,
      color: `series-${color}` as Caption["lines"][number]["color"],
    })),
    file: `${file.replace(/[^A-Za-z0-9._-]+/g, "_")}.png`,
  };
}

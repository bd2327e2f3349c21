/**
 * The volume of bars, as the archive has volumes: the sum of the day so far. A piece of a file begins with what the rows before
 * it have come to, so that it can be read alone. Pure.
 */
import { dateOf, type Instant, instantOf, microsOf } from "../clock.ts";
import { exchangeDate } from "../market/calendar/dates.ts";
import { NO_QUOTE } from "../quotes/document.ts";
import { remembered } from "../remembered.ts";
import type { Cut, QuoteUnit } from "./rowTypes.ts";

/** Of an instrument's day: the time of its last bar, and the sum of all bars before that one, and with it. */
export type DayVolume = [at: Instant, before: string, sum: string];

/** By exchange date and instrument, as `dayOf` names them. */
export type DayVolumes = Record<string, DayVolume>;

/** A row that was read. */
export type Read = {
  ok: true;
  unit: QuoteUnit;
  /** Of its instrument. */
  key: string;
  cut: Cut;
  /** What is wrong with values that could not be read: they are null. */
  odd: readonly string[];
};

/** A row that could not be read. */
export type Unread = { ok: false; name: string | null; problem: string };

/** What names the day of a row's instrument. */
export function dayOf({ unit: { observedAt }, key }: Pick<Read, "unit" | "key">): string {
  return `${dateOfHour(observedAt.slice(0, HOUR_CHARS))} ${key}`;
}

/** As far as the hour: the exchange's days begin at a whole one. */
const HOUR_CHARS = "2026-11-18T14".length;

const dateOfHour = remembered(1_000, (hour: string) => exchangeDate(dateOf(`${hour}:00:00.000000Z`)));

/** Sums of days, as far as rows were read. */
export class DaySums {
  readonly #days: Map<string, DayVolume>;

  constructor(known: DayVolumes = {}) {
    this.#days = new Map(Object.entries(known));
  }

  /** What the rows before have come to; null: there was none. */
  sumOf(day: string): DayVolume | null {
    return this.#days.get(day) ?? null;
  }

  /**
   * Takes in a row.
   *
   * @returns the row with the sum in place of its own volume, and before the first row of a day one that says 0: bars tell
   *   what was traded by two numbers. A row without a volume stays as it is
   */
  add<R extends Read>(row: R): (R | Unread)[] {
    const { unit } = row;
    const own = unit.quote.extended.volume;
    if (own === null) return [row];
    const day = dayOf(row);
    const known = this.sumOf(day);
    const at = unit.observedAt;
    if (known !== null && at < known[0]) return [outOfOrder(row, known[0])];
    // Two rows of one time are one bar, or contradict each other.
    const before = known === null ? "0" : at === known[0] ? known[1] : known[2];
    const sum = String(BigInt(before) + BigInt(own));
    if (known === null || at > known[0]) this.#days.set(day, [at, before, sum]);
    const summed = withVolume(row, sum);
    return known === null ? [...beginningOf(row, day), summed] : [summed];
  }
}

function outOfOrder({ unit }: Read, last: Instant): Unread {
  const problem = `it is of ${unit.observedAt}, and a row before it of ${last}: volumeOf: bar needs the rows of a day in the order of time`;
  return { ok: false, name: unit.instrument.symbol, problem };
}

function withVolume<R extends Read>(row: R, volume: string): R {
  const { quote } = row.unit;
  return { ...row, unit: { ...row.unit, quote: { ...quote, extended: { ...quote.extended, volume } } } };
}

/** The microsecond before a day's first bar is known; none where that is of another day. */
function beginningOf<R extends Read>(row: R, day: string): R[] {
  const observedAt = instantOf(microsOf(row.unit.observedAt) - 1n);
  const beginning = {
    ...row,
    unit: { ...row.unit, observedAt, quote: NO_QUOTE },
    cut: { times: 0, fractions: 0 },
    odd: [],
  };
  return dayOf(beginning) === day ? [withVolume(beginning, "0")] : [];
}

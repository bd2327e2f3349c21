/**
 * Bars of a stretch: its quotes in parts of five minutes, made where the stretch is made, so that the database need not read
 * back what it has just been given (docs/decisions/bars.md). Prices are added and compared exactly, as whole numbers.
 */
import { EXTENDED_FIELDS, PRICE_FIELDS } from "../../quotes-api/fields.ts";
import { HOLE_BYTES } from "../../read/copyLines.ts";
import { firstRows, type SeriesLines } from "./copyQuotes.ts";

/** Quotes of a series within five minutes of the UTC clock. */
export type BarPart = {
  delayed: boolean;
  /** Which five minutes, counted from 1970. */
  fiveMinutes: number;
  fields: PartFields;
};

/** The fields of `bar_part` behind those of its series, as PostgreSQL writes a row. */
export type PartFields = string;

/** What is known of a series: its parts in the order of their times, and the same in fewer, none of which has two dates in New York. */
export type SeriesBars = { parts: BarPart[]; days: PartFields[] };

/** Decimal places that a price may have, and digits before them: sums of them are still whole numbers without rounding. */
const [PLACES, DIGITS] = [6, 8];
const SCALE = 10 ** PLACES;

const MINUTE_MS = 60_000;
const [TAB, DOT, MINUS, ZERO, NINE, BACKSLASH] = [0x09, 0x2e, 0x2d, 0x30, 0x39, 0x5c];
const [LETTER_T, LETTER_Z] = [0x74, 0x5a];

/** Characters of an instant, and of its minute. */
const [INSTANT_LENGTH, MINUTE_LENGTH] = ["2026-11-20T14:31:02.123456Z".length, "2026-11-20T14:31".length];

/** How many fields stand before: the time and `delayed` of a quote, the time of an extended quote. */
const PRICES_AT = 2;
const [BID, ASK, LAST] = (["bid", "ask", "last"] as const).map(
  (name) => PRICES_AT + PRICE_FIELDS.findIndex((one) => one.name === name),
) as [number, number, number];
const VOLUME = 1 + EXTENDED_FIELDS.findIndex(({ name }) => name === "volume");

/**
 * Parts of bars of each series.
 *
 * @param series whose lines follow each other, each in ascending order of its times
 * @returns null when a value is written in another way than practically all are: then the database makes the bars
 */
export function barPartsOf(
  series: readonly { rows: number }[],
  quotes: SeriesLines,
  extended: SeriesLines,
): SeriesBars[] | null {
  const firsts = firstRows(series);
  const prices = new Line(quotes.bytes);
  const more = new Line(extended.bytes);
  const all: SeriesBars[] = [];
  for (let place = 0; place < series.length; place++) {
    const parts: Part[] = [];
    for (let row = firsts[place] ?? 0; row < (firsts[place + 1] ?? 0); row++) {
      prices.begin(quotes.starts[row] ?? 0);
      more.begin(extended.starts[row] ?? 0);
      if (!addRow(parts, prices, more)) return null;
    }
    const finished = parts.map((part) => part.finish(prices, more));
    // Live a series has one quote, and its day is its only part.
    const days = daysOf(parts).map((day) => finished[parts.indexOf(day)]?.fields ?? day.fields(prices, more));
    all.push({ parts: finished, days });
  }
  return all;
}

function addRow(parts: Part[], prices: Line, more: Line): boolean {
  const at = prices.at;
  const fiveMinutes = prices.fiveMinutes();
  prices.skip(1);
  const delayed = prices.byte() === LETTER_T;
  prices.skip(BID - 1);
  const [bid, bidPlaces] = [prices.price(), prices.places];
  prices.skip(ASK - BID);
  const [ask, askPlaces] = [prices.price(), prices.places];
  prices.skip(LAST - ASK);
  const last = prices.price();
  if (Number.isNaN(fiveMinutes + bid + ask + last)) return false;
  let part = parts.at(-1);
  // Rows of both kinds may take turns.
  if (part?.delayed !== delayed) part = parts.findLast((one) => one.delayed === delayed);
  if (part?.fiveMinutes !== fiveMinutes) parts.push((part = new Part(delayed, fiveMinutes, at)));
  part.count += 1;
  part.lastAt = at;
  if (bid > 0 && ask > 0) part.addSpread(ask - bid, Math.max(bidPlaces, askPlaces));
  if (last > 0) part.addPrice(at, last, prices.at);
  more.skip(VOLUME);
  if (!more.isNull()) part.addVolume(more.at);
  return Number.isSafeInteger(part.spreadSum);
}

/** So many five minutes have a day, and pass from midnight in UTC until it is midnight in New York: at 04:00 or at 05:00. */
const [DAY, SOONEST_MIDNIGHT, LATEST_MIDNIGHT] = [288, 48, 60];

/** Parts of one date in one; what may be of the date before or behind stays alone. */
function daysOf(parts: readonly Part[]): Part[] {
  const days = new Map<string, Part>();
  for (const part of parts) {
    const day = Math.floor((part.fiveMinutes - LATEST_MIDNIGHT) / DAY);
    const isSure = part.fiveMinutes < (day + 1) * DAY + SOONEST_MIDNIGHT;
    const name = `${part.delayed} ${isSure ? day : `alone ${part.fiveMinutes}`}`;
    days.set(name, days.get(name)?.with(part) ?? part);
  }
  return [...days.values()];
}

/** A place where there is nothing. */
const NOWHERE = -1;

/** A part in the making. Its times, prices and volumes are places in the lines: most are not the part's when it ends. */
class Part {
  readonly delayed: boolean;
  readonly fiveMinutes: number;
  readonly #firstAt: number;
  lastAt: number;
  count = 0;
  spreadSum = 0;
  #spreads = 0;
  #spreadPlaces = 0;
  #openAt = NOWHERE;
  #closeAt = NOWHERE;
  #open = NOWHERE;
  #close = NOWHERE;
  #high = NOWHERE;
  #low = NOWHERE;
  #highest = 0;
  #lowest = Infinity;
  #firstVolume = NOWHERE;
  #volume = NOWHERE;

  constructor(delayed: boolean, fiveMinutes: number, firstAt: number) {
    this.delayed = delayed;
    this.fiveMinutes = fiveMinutes;
    this.#firstAt = this.lastAt = firstAt;
  }

  addSpread(spread: number, places: number): void {
    this.spreadSum += spread;
    this.#spreads += 1;
    this.#spreadPlaces = Math.max(this.#spreadPlaces, places);
  }

  /** @param price above 0 */
  addPrice(at: number, price: number, written: number): void {
    if (this.#openAt === NOWHERE) [this.#openAt, this.#open] = [at, written];
    [this.#closeAt, this.#close] = [at, written];
    // Of two that are equal and written otherwise the newer one, as the database has it.
    if (price >= this.#highest) [this.#highest, this.#high] = [price, written];
    if (price <= this.#lowest) [this.#lowest, this.#low] = [price, written];
  }

  addVolume(written: number): void {
    if (this.#firstVolume === NOWHERE) this.#firstVolume = written;
    this.#volume = written;
  }

  finish(prices: Line, more: Line): BarPart {
    return { delayed: this.delayed, fiveMinutes: this.fiveMinutes, fields: this.fields(prices, more) };
  }

  /** This part and a later one in one. */
  with(later: Part): Part {
    const both = new Part(this.delayed, this.fiveMinutes, this.#firstAt);
    both.#take(this);
    both.#take(later);
    return both;
  }

  #take(part: Part): void {
    this.lastAt = part.lastAt;
    this.count += part.count;
    this.spreadSum += part.spreadSum;
    this.#spreads += part.#spreads;
    this.#spreadPlaces = Math.max(this.#spreadPlaces, part.#spreadPlaces);
    if (part.#closeAt !== NOWHERE) {
      if (this.#openAt === NOWHERE) [this.#openAt, this.#open] = [part.#openAt, part.#open];
      [this.#closeAt, this.#close] = [part.#closeAt, part.#close];
      if (part.#highest >= this.#highest) [this.#highest, this.#high] = [part.#highest, part.#high];
      if (part.#lowest <= this.#lowest) [this.#lowest, this.#low] = [part.#lowest, part.#low];
    }
    if (this.#firstVolume === NOWHERE) this.#firstVolume = part.#firstVolume;
    if (part.#volume !== NOWHERE) this.#volume = part.#volume;
  }

  fields(prices: Line, more: Line): PartFields {
    const times = [this.#firstAt, this.lastAt, this.#openAt, this.#closeAt];
    const texts = [...times, this.#open, this.#high, this.#low, this.#close].map((at) => prices.text(at));
    const spreadSum = scaledText(this.spreadSum, this.#spreadPlaces);
    const volumes = `${more.text(this.#firstVolume)},${more.text(this.#volume)}`;
    return `${this.delayed ? "t" : "f"},${texts.join(",")},${spreadSum},${this.#spreads},${this.count},${volumes}`;
  }
}

/** A whole number of `1 / SCALE` with so many decimal places. */
function scaledText(value: number, places: number): string {
  const digits = String(Math.abs(value)).padStart(PLACES + 1, "0");
  const whole = digits.slice(0, -PLACES);
  const rest = digits.slice(-PLACES).slice(0, places);
  return `${value < 0 ? "-" : ""}${whole}${places > 0 ? `.${rest}` : ""}`;
}

/** A line of COPY's text, field by field. */
class Line {
  readonly #bytes: Buffer;
  /** Where the field begins. */
  at = 0;
  /** Decimal places of the price that was read last. */
  places = 0;
  /** The minute that was read last, as text, and its five minutes: the next row's is mostly the same or near. */
  #minute = "";
  #fiveMinutes = NaN;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Goes to the first field behind the hole of the line that begins there. */
  begin(start: number): void {
    this.at = start + HOLE_BYTES;
  }

  /** Goes on to a later field. */
  skip(fields: number): void {
    const bytes = this.#bytes;
    let at = this.at;
    for (let left = fields; left > 0; at++) if (bytes[at] === TAB) left -= 1;
    this.at = at;
  }

  byte(): number {
    return this.#bytes[this.at] ?? 0;
  }

  isNull(): boolean {
    return this.byte() === BACKSLASH;
  }

  /** The field that begins at a place; nothing where there is none. */
  text(at: number): string {
    if (at === NOWHERE) return "";
    const bytes = this.#bytes;
    let end = at;
    while ((bytes[end] ?? 0) > TAB + 1) end += 1;
    return bytes.toString("latin1", at, end);
  }

  /** Which five minutes from 1970 on a time belongs to, `2026-11-20T14:31:02.123456Z`; NaN when it is written otherwise. */
  fiveMinutes(): number {
    const bytes = this.#bytes;
    const end = this.at + INSTANT_LENGTH;
    if (bytes[end - 1] !== LETTER_Z || bytes[end] !== TAB) return NaN;
    const minute = bytes.toString("latin1", this.at, this.at + MINUTE_LENGTH);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#fiveMinutes = Math.floor(Date.parse(`${minute}Z`) / (5 * MINUTE_MS));
    }
    return this.#fiveMinutes;
  }

  /** As a whole number of `1 / SCALE`: 0 when there is none, NaN when it is written otherwise or too long. */
  price(): number {
    if (this.isNull()) return (this.places = 0);
    const bytes = this.#bytes;
    const isNegative = bytes[this.at] === MINUS;
    let at = this.at + (isNegative ? 1 : 0);
    let value = 0;
    let places = -1;
    const begin = at;
    for (; ; at++) {
      const byte = bytes[at] ?? 0;
      if (byte >= ZERO && byte <= NINE) {
        value = 10 * value + (byte - ZERO);
        if (places >= 0) places += 1;
      } else if (byte === DOT && places < 0) places = 0;
      else if (byte <= TAB + 1) break;
      else return NaN;
    }
    this.places = Math.max(places, 0);
    const whole = at - begin - (places < 0 ? 0 : places + 1);
    if (at === begin || this.places > PLACES || whole > DIGITS) return NaN;
    value *= SCALE / 10 ** this.places;
    return isNegative ? -value : value;
  }
}

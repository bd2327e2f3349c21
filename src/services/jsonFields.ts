/** The values of one object of a JSON answer, as decimals, counts and times. */
import { type Instant, instantOfEpochMs, instantOfRfc } from "../ground/clock.ts";
import { isDateText } from "../market/calendar/dates.ts";
import { cutText } from "../ground/outsideText.ts";
import type { OddField } from "../quotes/document.ts";
import { type DecimalField, NUMBER_KINDS } from "../quotes/fields.ts";
import { COUNT, isPlainNumber, type NumberKind, readNumber } from "../quotes/units.ts";
import { isObject, type Json, type JsonObject, textOf, valueAt } from "./json.ts";

const NO_ODD: readonly OddField[] = [];

/** No quote of a service is older: an earlier time is one in another unit, as seconds are for milliseconds. */
const EARLIEST = "2000-01-01";

/** The values of one object. What cannot be read is null, and gathered. */
export class JsonFields {
  readonly #object: JsonObject;
  /** The key that the object stands behind; null: behind none. */
  readonly #within: string | null;
  readonly #latest: Instant | null;
  #odd: OddField[] | null;

  /**
   * @param latest the last instant that a time of a quote may say; null: any
   * @param within of an object in another: its key there, and what gathers odd fields
   */
  constructor(
    object: JsonObject,
    latest: Instant | null = null,
    within: { key: string; odd: OddField[] } | null = null,
  ) {
    this.#object = object;
    this.#latest = latest;
    this.#within = within && within.key;
    this.#odd = within && within.odd;
  }

  get odd(): readonly OddField[] {
    return this.#odd ?? NO_ODD;
  }

  object(key: string): JsonFields | null {
    const value = this.value(key);
    this.#odd ??= [];
    return isObject(value) ? new JsonFields(value, this.#latest, { key, odd: this.#odd }) : null;
  }

  value(key: string): Json | undefined {
    return valueAt(this.#object, key);
  }

  /** A text that is not empty; null: it is missing. */
  text(key: string): string | null {
    return textOf(this.value(key)) || null;
  }

  /** @param of the field that says what the number may be; any price may be the same */
  decimal(key: string, of: DecimalField = "last"): string | null {
    return this.#number(key, NUMBER_KINDS[of]);
  }

  /** The same, null where the number stands for "nothing". */
  decimalBut(key: string, isNothing: (number: string) => boolean, of?: DecimalField): string | null {
    const value = this.decimal(key, of);
    return value !== null && isNothing(value) ? null : value;
  }

  integer(key: string): string | null {
    return this.#number(key, COUNT);
  }

  integerBut(key: string, nothing: string): string | null {
    const value = this.integer(key);
    return value === nothing ? null : value;
  }

  /** A time in epoch milliseconds as an instant; null where the number stands for "never". */
  epochMs(key: string, never: string): Instant | null {
    return this.#bounded(key, this.integerBut(key, never));
  }

  /** The same in epoch seconds. */
  epochSeconds(key: string, never: string): Instant | null {
    return this.#bounded(key, this.#msOfSeconds(key, never));
  }

  /** A date as an instant of it, in epoch seconds: it may be long ago, or ahead. */
  epochSecondsOfDate(key: string, never: string): Instant | null {
    return this.#instant(key, this.#msOfSeconds(key, never));
  }

  /** The later of two times in epoch milliseconds. */
  laterEpochMs([one, other]: readonly [string, string], never: string): Instant | null {
    const [first, second] = [this.epochMs(one, never), this.epochMs(other, never)];
    return (first ?? "") > (second ?? "") ? first : second;
  }

  #msOfSeconds(key: string, never: string): string | null {
    const value = this.integerBut(key, never);
    return value === null ? null : `${value}000`;
  }

  /** `true` or `false`, as a text as well; null: it is neither. */
  flag(key: string): boolean | null {
    const value = this.value(key);
    if (value === true || value === "true") return true;
    return value === false || value === "false" ? false : null;
  }

  #bounded(key: string, value: string | null): Instant | null {
    const instant = this.#instant(key, value);
    return value === null || instant === null ? null : this.#inBounds(key, value, instant);
  }

  #inBounds(key: string, value: string, instant: Instant): Instant | null {
    if (instant >= EARLIEST && (this.#latest === null || instant <= this.#latest)) return instant;
    const day = instant.slice(0, EARLIEST.length);
    const problem = `"${cutText(value, 40)}" is of ${day}, and a time lies between ${EARLIEST} and its answer`;
    return this.#isOdd(key, value, problem);
  }

  #instant(key: string, value: string | null): Instant | null {
    if (value === null) return null;
    return (
      instantOfEpochMs(value) ?? this.#isOdd(key, value, `"${cutText(value, 40)}" is no time in epoch ms`)
    );
  }

  /** `2026-06-28 14:58:47`, which is UTC and does not say so: as New York's time it would lie behind the answer. */
  time(key: string): Instant | null {
    const value = this.text(key);
    if (value === null) return null;
    const date = value.slice(0, "2026-06-28".length);
    return /^.{10}[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(value) && isDateText(date)
      ? this.#inBounds(key, value, `${date}T${value.slice(date.length + 1)}.000000Z`)
      : this.#isOdd(key, value, `"${cutText(value, 40)}" is no time`);
  }

  /** RFC 3339 with any number of digits behind the second: kept to the microsecond, the rest is cut off. */
  rfcTime(key: string): Instant | null {
    const value = this.text(key);
    if (value === null) return null;
    const instant = instantOfRfc(value);
    return instant === null
      ? this.#isOdd(key, value, `"${cutText(value, 40)}" is no time of RFC 3339`)
      : this.#inBounds(key, value, instant);
  }

  #number(key: string, kind: NumberKind): string | null {
    const value = this.value(key);
    if (value === null || value === undefined) return null;
    const text = textOf(value) ?? "an object";
    // As nearly every number is written: no result is made for it.
    if (isPlainNumber(text, kind)) return text;
    const found = readNumber(text, kind);
    return found.ok ? found.value : this.#isOdd(key, text, found.problem);
  }

  #isOdd(key: string, text: string, problem: string): null {
    const element = this.#within === null ? key : `${this.#within}/${key}`;
    (this.#odd ??= []).push({ element, text, problem: `${element}: ${problem}` });
    return null;
  }
}

/** The values of one object of a JSON answer, as decimals, counts and times. */
import { type Instant, instantOfEpochMs } from "../clock.ts";
import { isDateText } from "../market/calendar/dates.ts";
import { cutText } from "../outsideText.ts";
import { type Read, readDecimal, readInteger } from "../quotes/decimal.ts";
import type { OddField } from "../quotes/document.ts";
import { JsonObject } from "./plainJson.ts";

const NO_ODD: readonly OddField[] = [];

/** The values of one object. What cannot be read is null, and gathered. */
export class JsonFields {
  readonly #object: JsonObject;
  readonly #path: string;
  #odd: OddField[] | null;

  constructor(object: JsonObject, path = "", odd: OddField[] | null = null) {
    this.#object = object;
    this.#path = path;
    this.#odd = odd;
  }

  get odd(): readonly OddField[] {
    return this.#odd ?? NO_ODD;
  }

  object(key: string): JsonFields | null {
    const value = this.#object.get(key);
    this.#odd ??= [];
    return value instanceof JsonObject ? new JsonFields(value, `${key}/`, this.#odd) : null;
  }

  /** A text that is not empty; null: it is missing. */
  text(key: string): string | null {
    const value = this.#object.get(key);
    return typeof value === "string" && value !== "" ? value : null;
  }

  decimal(key: string): string | null {
    return this.#read(key, readDecimal);
  }

  /** The same, null where the number stands for "nothing". */
  decimalBut(key: string, isNothing: (number: string) => boolean): string | null {
    const value = this.decimal(key);
    return value !== null && isNothing(value) ? null : value;
  }

  integer(key: string): string | null {
    return this.#read(key, readInteger);
  }

  integerBut(key: string, nothing: string): string | null {
    const value = this.integer(key);
    return value === nothing ? null : value;
  }

  /** A time in epoch milliseconds as an instant; null where the number stands for "never". */
  epochMs(key: string, never: string): Instant | null {
    const value = this.integerBut(key, never);
    if (value === null) return null;
    return (
      instantOfEpochMs(value) ?? this.#isOdd(key, value, `"${cutText(value, 40)}" is no time in epoch ms`)
    );
  }

  /** `2026-06-28 14:58:47`, which is UTC and does not say so: as New York's time it would lie behind the answer. */
  time(key: string): Instant | null {
    const value = this.text(key);
    if (value === null) return null;
    const [, date = "", time = ""] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)$/.exec(value) ?? [];
    return isDateText(date) && time < "24" && !/:[6-9]/.test(time)
      ? `${date}T${time}.000000Z`
      : this.#isOdd(key, value, `"${cutText(value, 40)}" is no time`);
  }

  #read(key: string, read: (text: string) => Read<string>): string | null {
    const value = this.#object.get(key);
    if (value === null || value === undefined) return null;
    const text = typeof value === "string" ? value : "an object";
    const found = read(text);
    return found.ok ? found.value : this.#isOdd(key, text, found.problem);
  }

  #isOdd(key: string, text: string, problem: string): null {
    const element = `${this.#path}${key}`;
    (this.#odd ??= []).push({ element, text, problem: `${element}: ${problem}` });
    return null;
  }
}

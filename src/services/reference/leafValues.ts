/** The leaves of one instrument as values. Those that cannot be read are null, and gathered. */
import { cutText, inShort } from "../../ground/outsideText.ts";
import { isDateText } from "../../market/calendar/dates.ts";
import { ABSENT_TEXTS, isNoValue, type ReadResult } from "../../quotes/decimal.ts";
import { readNumber, STRIKE } from "../../quotes/units.ts";
import { LEAF_NUMBERS, LEAF_PATHS, type LeafTexts } from "./leaves.ts";
import type { OddField } from "../../quotes/document.ts";

/**
 * Assumed: no symbol and no security type is longer than this, in characters; those asked for have 32 at most. An index
 * of the archive takes no more than 2,704 bytes of both.
 */
const MAX_NAME = 255;

const NONE_ODD: readonly OddField[] = Object.freeze([]);

/** The leaves of an instrument as values. Those that cannot be read are null, and gathered. */
export class Fields {
  readonly #texts: LeafTexts;
  readonly #damaged: ReadonlyMap<number, string> | null;
  #odd: OddField[] | null = null;
  #unnamed: string | null = null;

  constructor(texts: LeafTexts, damaged: ReadonlyMap<number, string> | null) {
    this.#texts = texts;
    this.#damaged = damaged;
  }

  /** In the order in which they were read. */
  get odd(): readonly OddField[] {
    return this.#odd ?? NONE_ODD;
  }

  /** Why it cannot be told which instrument this is, by the first such problem; null: it can. */
  get unnamed(): string | null {
    return this.#unnamed;
  }

  noteUnnamed(problem: string): null {
    this.#unnamed ??= problem;
    return null;
  }

  has(leaf: number): boolean {
    return this.#texts[leaf] !== undefined;
  }

  /** The text of a leaf as it was sent, whatever is wrong with it. */
  text(leaf: number): string {
    return this.#texts[leaf] ?? "";
  }

  /** What is wrong with a leaf's form, or with its text. */
  #problem<T>(leaf: number, read: ReadResult<T>): string | null {
    const damage = this.#damaged?.get(leaf);
    if (damage !== undefined) return `${LEAF_PATHS[leaf]} ${damage}`;
    return read.ok ? null : `${LEAF_PATHS[leaf]}: ${read.problem}`;
  }

  number(leaf: number): string | null {
    return this.#value(leaf, this.readNumber(leaf));
  }

  readNumber(leaf: number): ReadResult<string> {
    return readNumber(this.#texts[leaf], LEAF_NUMBERS[leaf] ?? STRIKE);
  }

  date(leaf: number): string | null {
    return this.#value(leaf, readDate(this.#texts[leaf]));
  }

  /** A yield; the one of no value stays, for it says that there is no dividend. */
  yield(leaf: number): string | null {
    const text = this.text(leaf).trim();
    return this.#value(leaf, isNoValue(text) ? { ok: true, value: text } : this.readNumber(leaf));
  }

  name(leaf: number): string | null {
    return this.#value(leaf, { ok: true, value: this.text(leaf) || null });
  }

  /** A symbol that names something else than the instrument. */
  symbol(leaf: number): string | null {
    return this.#value(leaf, readName(this.text(leaf)));
  }

  code(leaf: number): string | null {
    return this.#value(leaf, readCode(this.text(leaf)));
  }

  /** Anything but `true` is not; what is neither that nor `false` nor absent is odd. */
  flag(leaf: number): boolean {
    const text = this.text(leaf).toLowerCase();
    if (text === "true") return true;
    const isFalse = text === "false" || ABSENT_TEXTS.has(text);
    const problem = `${quoted(this.text(leaf))} is neither true nor false`;
    this.#value(leaf, isFalse ? NOTHING : { ok: false, problem });
    return false;
  }

  addOdd(leaf: number, problem: string): void {
    const element = LEAF_PATHS[leaf] ?? "";
    (this.#odd ??= []).push({ element, text: this.text(leaf), problem: `${element} ${problem}` });
  }

  /** A value that names the instrument: if it cannot be read, the instrument has no name. */
  naming<T>(leaf: number, read: ReadResult<T>): T | null {
    const problem = this.#problem(leaf, read);
    if (problem !== null) return this.noteUnnamed(problem);
    return read.ok ? read.value : null;
  }

  #value<T>(leaf: number, read: ReadResult<T>): T | null {
    if (read.ok && (this.#damaged === null || !this.#damaged.has(leaf))) return read.value;
    const problem = this.#problem(leaf, read) ?? "";
    (this.#odd ??= []).push({ element: LEAF_PATHS[leaf] ?? "", text: this.text(leaf), problem });
    return null;
  }
}

const NOTHING = { ok: true, value: null } as const;

/** A symbol: only emptiness means absence, `NaN` and `null` can be names. */
export function readName(text: string): ReadResult<string> {
  if (text.length > MAX_NAME)
    return { ok: false, problem: `"${inShort(text, 40)}" has ${text.length} characters` };
  return { ok: true, value: text || null };
}

export function readCode(text: string): ReadResult<string> {
  return { ok: true, value: codeOf(text) };
}

/** An exchange or a security type. */
export function codeOf(text: string): string | null {
  return ABSENT_TEXTS.has(text.toLowerCase()) ? null : text;
}

export function quoted(text: string): string {
  return `"${cutText(text, 40)}"`;
}

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * Reads the calendar date of a date-time such as `2011-06-24T00:00:00-04:00` from the text: the instant is midnight US
 * Eastern, and any other zone would move it to the day before (field notes, "Answers").
 *
 * @returns `YYYY-MM-DD`; null when absent, also for .NET's empty date `0001-01-01` (field notes, samples of 2016)
 */
export function readDate(text: string | undefined): ReadResult<string> {
  const trimmed = (text ?? "").trim();
  if (ABSENT_TEXTS.has(trimmed.toLowerCase())) return { ok: true, value: null };
  const date = DATE_TIME.exec(trimmed)?.[1] ?? "";
  // PostgreSQL's calendar has no year 0.
  if (!isDateText(date) || date.startsWith("0000-")) {
    return { ok: false, problem: `"${cutText(trimmed, 40)}" is not a date` };
  }
  return { ok: true, value: date.startsWith("0001-") ? null : date };
}

/**
 * Goes over the bytes of an `instrumentquote` and finds where its values are, without making text of them. What stands
 * between two values, tags and white space, is the same in item after item: it is learned from items that the pattern of
 * `ordinaryItem.ts` has read, and then only compared. A stretch of names or of a dividend is the same in answer after
 * answer, and is compared whole. Everything is ASCII here: a byte is a character.
 */
import { HELD_DIGITS } from "../quotes/decimal.ts";
import { readNumber, STRIKE } from "../quotes/units.ts";
import { placesInOrdinaryItem } from "../services/reference/ordinaryItem.ts";
import { LEAF, LEAF_NUMBERS, LEAF_PATHS } from "../services/reference/leaves.ts";
import { DECIMAL, FLAG, GROUP, GROUP_COUNT, KINDS } from "./leafKinds.ts";

/** Longest item, and longest text around items, that is read so, in characters. */
export const MAX_PLAIN_PIECE = 32_768;

/** What stands between two values, `</bidprice><change>`; `to` is the leaf whose value follows. */
type Joint = { readonly to: number; readonly length: number; readonly words: number };

/** Beside the leaves: an item begins at the one and ends at the other. */
const [START, END] = [0, LEAF_PATHS.length];

export const ITEM_START = "<instrumentquote>";
const ITEM_END = "</instrumentquote>";

/** So many joints behind one leaf are plenty: white space is not the same everywhere, and elements may be missing. */
const MAX_JOINTS = 64;

/**
 * What is known of a stretch, from its number on: the leaves with whose values it begins and ends, its bytes, where its
 * words are, and by group which stretch followed an instrument last time; in the group of instruments, that of the next
 * item. So many numbers for each, side by side: what is to be compared next is not at hand in the processor otherwise.
 */
const [FROM, TO, LENGTH, WORDS, FOLLOWERS, STRETCH] = [0, 1, 2, 3, 4, 8];

/** Bytes that are compared at once. */
const WORD = 8;

/** Characters of a number that certainly is held as it is, and digits that certainly fit into 64 bits (`decimal.ts`). */
const [MAX_DIGITS, SAFE_DIGITS] = [HELD_DIGITS.whole, 18];

const [SPACE, AMPERSAND, MINUS, POINT, ZERO, LESS, GREATER] = [0x20, 0x26, 0x2d, 0x2e, 0x30, 0x3c, 0x3e];

const FALSE = Buffer.from("false<");

/** Where the values of one item are, and with them what was learned from all items before. */
export class PlainItem {
  bytes: Buffer = Buffer.alloc(0);
  /** By leaf: where its value begins and ends, not behind its beginning if it is absent. One in `texts` begins at -1. */
  readonly starts = new Int32Array(END + 1);
  readonly ends = new Int32Array(END + 1);
  readonly texts = new Map<number, string>();
  /**
   * By group: bytes that come again, from the value of a leaf up to the end of the value of another. The same bytes have
   * the same number; it is 0 when the item has none.
   */
  readonly stretches = new Int32Array(GROUP_COUNT);
  hasUnderlyingQuote = false;

  learned = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));
  #start = 0;
  #stretchStart = 0;
  readonly #joints: Joint[][] = Array.from({ length: END }, () => []);
  readonly #numbers = new Map<string, number>();
  #heads = new Int32Array(4_096);
  /**
   * The bytes of joints and stretches, eight by eight; their last eight stand there whole, whatever stands before. As
   * floats, which are compared fastest: of ASCII, they are finite and not negative, and so equal when their bytes are.
   */
  #words = new Float64Array(4_096);
  #wordCount = 0;
  /** The instrument of the item before. */
  #previous = 0;

  /** Takes an answer, of ASCII alone. */
  open(body: Uint8Array): void {
    this.bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  }

  /** Reads the item that begins at `start`. @returns where it ends; 0 when it is not ordinary, or a value is odd */
  read(start: number): number {
    this.#begin(start);
    let at = start;
    for (let leaf = START; ;) {
      const joint = this.#jointAt(leaf, at);
      if (joint === null) return 0;
      for (let missing = leaf + 1; missing < joint.to; missing++) this.ends[missing] = -1;
      at += joint.length;
      leaf = joint.to;
      if (leaf === END) return at - start > MAX_PLAIN_PIECE ? 0 : at;
      if (leaf >= LEAF.underlyingQuote.first && leaf < LEAF.underlyingQuote.end)
        this.hasUnderlyingQuote = true;
      const kind = KINDS[leaf] ?? FLAG;
      if (kind < GROUP_COUNT) {
        const stretch = this.#stretchAt(leaf, at);
        if (stretch === 0) return 0;
        at = this.#stretchStart + this.#head(stretch, LENGTH);
        leaf = this.#head(stretch, TO);
      } else {
        at = kind === DECIMAL ? this.#decimalAt(leaf, at) : this.#countOrFlagAt(leaf, at);
        if (at === 0) return 0;
      }
    }
  }

  #begin(start: number): void {
    // Where an answer's item is followed by the first of another one, that is remembered as well.
    this.#previous = this.stretches[GROUP.instrument] || this.#previous;
    for (let group = 0; group < GROUP_COUNT; group++) this.stretches[group] = 0;
    if (this.texts.size > 0) this.texts.clear();
    this.hasUnderlyingQuote = false;
    this.#start = start;
  }

  /** The text of a number; null when it is absent. */
  text(leaf: number): string | null {
    const [start, end] = [this.starts[leaf] ?? 0, this.ends[leaf] ?? 0];
    if (start < 0) return this.texts.get(leaf) ?? null;
    return end <= start ? null : this.bytes.toString("latin1", start, end);
  }

  /** Whether `text` would say this. */
  says(leaf: number, value: string | null): boolean {
    const start = this.starts[leaf] ?? 0;
    const length = (this.ends[leaf] ?? 0) - start;
    if (start < 0 || value === null) return this.text(leaf) === value;
    if (value.length !== length) return false;
    for (let at = 0; at < length; at++) if (this.bytes[start + at] !== value.charCodeAt(at)) return false;
    return true;
  }

  #decimalAt(leaf: number, start: number): number {
    const { bytes } = this;
    const first = bytes[start] === MINUS && LEAF_NUMBERS[leaf]?.signed === true ? start + 1 : start;
    let at = this.#afterDigits(first);
    if (bytes[at] === POINT && at > first) at = this.#afterDigits(at + 1);
    const isOrdinary = at > first || at === start;
    if (bytes[at] !== LESS || !isOrdinary || at - start > MAX_DIGITS) return this.#oddAt(leaf, start);
    this.starts[leaf] = start;
    this.ends[leaf] = at;
    return at;
  }

  #countOrFlagAt(leaf: number, start: number): number {
    if (leaf === LEAF.unknownSymbol) return this.#isFalse(start) ? start + 5 : 0;
    const at = this.#afterDigits(start);
    const isOrdinary = at - start <= 1 || (this.bytes[start] !== ZERO && at - start <= SAFE_DIGITS);
    if (this.bytes[at] !== LESS || !isOrdinary) return this.#oddAt(leaf, start);
    this.starts[leaf] = start;
    this.ends[leaf] = at;
    return at;
  }

  #isFalse(at: number): boolean {
    const { bytes } = this;
    for (let place = 0; place < 6; place++) if (bytes[at + place] !== FALSE[place]) return false;
    return true;
  }

  #afterDigits(from: number): number {
    const { bytes } = this;
    let at = from;
    while (((bytes[at] ?? 0) - ZERO) >>> 0 <= 9) at += 1;
    return at;
  }

  /** A number that is written in another way, or a word for none. */
  #oddAt(leaf: number, start: number): number {
    const end = this.#afterText(start);
    if (end === 0) return 0;
    const written = this.bytes.toString("latin1", start, end);
    const read = readNumber(written, LEAF_NUMBERS[leaf] ?? STRIKE);
    if (!read.ok) return 0;
    const isInPlace = read.value === written;
    this.starts[leaf] = isInPlace || read.value === null ? start : -1;
    this.ends[leaf] = isInPlace ? end : read.value === null ? start : 0;
    if (!isInPlace && read.value !== null) this.texts.set(leaf, read.value);
    return end;
  }

  /** Behind a text, where its end tag begins; 0 when it holds something that is not plain. */
  #afterText(start: number): number {
    const { bytes } = this;
    for (let at = start; ; at++) {
      const code = bytes[at] ?? 0;
      if (code === LESS) return at;
      if (code < SPACE || code === AMPERSAND || code === GREATER) return 0;
    }
  }

  /** What stands behind the value of a leaf; null when the item is not ordinary. */
  #jointAt(leaf: number, at: number): Joint | null {
    const known = this.#findJoint(leaf, at);
    if (known !== null) return known;
    return this.#learnJoints() ? this.#findJoint(leaf, at) : null;
  }

  #findJoint(leaf: number, at: number): Joint | null {
    for (const joint of this.#joints[leaf] ?? []) if (this.#isAt(at, joint.length, joint.words)) return joint;
    return null;
  }

  #isAt(from: number, length: number, words: number): boolean {
    const view = this.#view;
    const all = this.#words;
    const last = from + length - WORD;
    if (last + WORD > view.byteLength) return false;
    let word = words;
    for (let at = from; at < last; at += WORD) if (view.getFloat64(at, true) !== all[word++]) return false;
    return view.getFloat64(last, true) === all[word];
  }

  /** Learns what stands between the values of this item; false when it is not ordinary. */
  #learnJoints(): boolean {
    const end = this.bytes.indexOf(ITEM_END, this.#start) + ITEM_END.length;
    if (end < this.#start || end - this.#start > MAX_PLAIN_PIECE) return false;
    const text = this.bytes.toString("latin1", this.#start, end);
    const places = placesInOrdinaryItem(text);
    if (places === null) return false;
    let [from, at] = [START, this.#start];
    for (let leaf = 1; leaf <= END; leaf++) {
      const [start, end] = leaf === END ? [text.length, 0] : (places[leaf] ?? [0, 0]);
      if (start === 0) continue;
      if (this.#findJoint(from, at) === null)
        this.#addJoint(from, at, { to: leaf, end: this.#start + start });
      [from, at] = [leaf, this.#start + end];
    }
    return true;
  }

  #addJoint(from: number, start: number, { to, end }: { to: number; end: number }): void {
    const joints = this.#joints[from] ?? [];
    if (joints.length === MAX_JOINTS) joints.length = 0;
    joints.push({ to, length: end - start, words: this.#addWords(start, end) });
  }

  /** @returns where they are */
  #addWords(start: number, end: number): number {
    const first = this.#wordCount;
    const count = Math.max(1, Math.ceil((end - start) / WORD));
    if (first + count > this.#words.length) {
      const larger = new Float64Array(2 * this.#words.length + count);
      larger.set(this.#words);
      this.#words = larger;
    }
    for (let at = start; at < end - WORD; at += WORD)
      this.#words[this.#wordCount++] = this.#view.getFloat64(at, true);
    this.#words[this.#wordCount++] = this.#view.getFloat64(end - WORD, true);
    this.learned += 1;
    return first;
  }

  /** The stretch of a group to which this leaf belongs; 0 when the item is not ordinary. */
  #stretchAt(leaf: number, at: number): number {
    const group = KINDS[leaf] ?? 0;
    const leader = group === GROUP.instrument ? this.#previous : (this.stretches[GROUP.instrument] ?? 0);
    const begun = this.stretches[group] ?? 0;
    if (begun === 0) {
      this.#stretchStart = at;
      const expected = this.#head(leader, FOLLOWERS + group);
      const length = this.#head(expected, LENGTH);
      if (this.#head(expected, FROM) === leaf && this.#isAt(at, length, this.#head(expected, WORDS)))
        // One byte more: where its last value ends, a tag begins.
        if (this.bytes[at + length] === LESS) return (this.stretches[group] = expected);
    }
    // What was expected and found may be the beginning of a longer one: that is gone over from its beginning.
    const stretch = this.#wholeStretch(begun === 0 ? leaf : this.#head(begun, FROM), group);
    if (leader !== 0) this.#heads[leader * STRETCH + FOLLOWERS + group] = stretch;
    return (this.stretches[group] = stretch);
  }

  /** What is known of a stretch. Of number 0, which is none, everything is 0. */
  #head(stretch: number, what: number): number {
    return this.#heads[stretch * STRETCH + what] ?? 0;
  }

  #wholeStretch(from: number, group: number): number {
    const start = this.#stretchStart;
    let to = from;
    for (let end = this.#afterText(start); end !== 0;) {
      const joint = this.#jointAt(to, end);
      if (joint === null) return 0;
      if (KINDS[joint.to] !== group) return this.#numberOf({ from, to, start, end });
      to = joint.to;
      end = this.#afterText(end + joint.length);
    }
    return 0;
  }

  #numberOf({ from, to, start, end }: Record<"from" | "to" | "start" | "end", number>): number {
    const key = `${from} ${this.bytes.toString("latin1", start, end)}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#numbers.size + 1;
    if ((number + 1) * STRETCH > this.#heads.length) {
      const larger = new Int32Array(2 * this.#heads.length);
      larger.set(this.#heads);
      this.#heads = larger;
    }
    this.#heads.set([from, to, end - start, this.#addWords(start, end)], number * STRETCH);
    this.#numbers.set(key, number);
    return number;
  }
}

/**
 * JSON (RFC 8259) whose numbers stay the text that was sent: a price that passes through a double is another price. Strict: what
 * `JSON.parse` refuses is refused here, and so are a key that stands in an object twice, and nesting beyond `MAX_DEPTH`.
 */
import { isAscii } from "node:buffer";
import { QuotekeeperError } from "../errors.ts";

/** A number is its text, as a string is. */
export type Json = string | boolean | null | readonly Json[] | JsonObject;

/** An object of an answer. Those with the same keys share their places. */
export class JsonObject {
  readonly #places: ReadonlyMap<string, number>;
  readonly #values: readonly Json[];
  /** As it was sent. */
  readonly text: string;

  constructor(places: ReadonlyMap<string, number>, values: readonly Json[], text: string) {
    this.#places = places;
    this.#values = values;
    this.text = text;
  }

  /** @returns undefined: it has no such key */
  get(key: string): Json | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  get keys(): string[] {
    return [...this.#places.keys()];
  }
}

/** Assumed: no answer of quotes nests deeper. */
const MAX_DEPTH = 16;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const CODE = {
  quote: 0x22,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
  space: 0x20,
} as const;

/**
 * @param body UTF-8, with or without a byte order mark
 * @throws QuotekeeperError DOCUMENT_REFUSED
 */
export function parsePlainJson(body: Uint8Array): Json {
  return new Parser(decoded(body)).whole();
}

function decoded(body: Uint8Array): string {
  // Bytes below 128 are the same in both, and Latin-1 takes a third of the time.
  if (isAscii(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw refused("it is not UTF-8", 0);
  }
}

function refused(why: string, at: number): QuotekeeperError {
  return new QuotekeeperError("DOCUMENT_REFUSED", `the JSON at character ${at}: ${why}`);
}

/** A text that is looked for again and again: compared code by code, a chain is parsed in an eighth less time than by `startsWith`. */
function codesOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, place) => text.charCodeAt(place));
}

const [NULL, TRUE, FALSE] = [codesOf("null"), codesOf("true"), codesOf("false")] as const;

/** The keys of an object, as the next one of its list most likely has them. */
type Shape = {
  places: ReadonlyMap<string, number>;
  /** Each key by its codes, as it stands in text without white space, with what is before and behind it. */
  tokens: readonly (readonly number[])[];
  /** The shapes of the objects, and of those in the lists, that were its values. */
  inside: (Shape | undefined)[];
};

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  /** Of the value that was read last, if it was an object or a list of objects. */
  #shape: Shape | undefined = undefined;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): Json {
    const value = this.#value(undefined);
    if (this.#next() === this.#text.length) return value;
    throw refused("something follows its end", this.#at);
  }

  /** Passes over white space. @returns where it is then */
  #next(): number {
    const text = this.#text;
    let at = this.#at;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== CODE.space && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
      at += 1;
    }
    return (this.#at = at);
  }

  #value(shape: Shape | undefined): Json {
    const at = this.#next();
    const code = this.#text.charCodeAt(at);
    if (code === CODE.quote) return this.#string();
    if (code === CODE.minus || (code >= CODE.zero && code <= CODE.nine)) return this.#number();
    if (code === CODE.openObject || code === CODE.openArray) {
      this.#depth += 1;
      if (this.#depth > MAX_DEPTH) throw refused(`it nests deeper than ${MAX_DEPTH}`, at);
      this.#at += 1;
      const value = code === CODE.openArray ? this.#array(shape) : (this.#likely(shape) ?? this.#object());
      this.#depth -= 1;
      return value;
    }
    if (this.#takes(NULL)) return null;
    if (this.#takes(TRUE)) return true;
    if (this.#takes(FALSE)) return false;
    throw refused(at === this.#text.length ? "it ends too early" : "no value begins here", at);
  }

  #takes(codes: readonly number[]): boolean {
    const text = this.#text;
    const start = this.#at;
    const { length } = codes;
    for (let place = 0; place < length; place++)
      if (text.charCodeAt(start + place) !== codes[place]) return false;
    this.#at = start + length;
    return true;
  }

  /** An object that has the keys of the shape, in its order and without white space; null: it has not, and nothing is read. */
  #likely(shape: Shape | undefined): JsonObject | null {
    if (shape === undefined) return null;
    const { places, tokens, inside } = shape;
    const start = this.#at;
    const values = new Array<Json>(tokens.length);
    for (let place = 0; place < tokens.length; place++) {
      if (!this.#takes(tokens[place] ?? [])) {
        this.#at = start;
        return null;
      }
      this.#shape = undefined;
      values[place] = this.#value(inside[place]);
      inside[place] = this.#shape ?? inside[place];
    }
    if (this.#text.charCodeAt(this.#at) !== CODE.closeObject) {
      this.#at = start;
      return null;
    }
    this.#at += 1;
    this.#shape = shape;
    return new JsonObject(places, values, this.#text.slice(start - 1, this.#at));
  }

  #object(): JsonObject {
    const start = this.#at - 1;
    const places = new Map<string, number>();
    const values: Json[] = [];
    const inside: (Shape | undefined)[] = [];
    if (!this.#closes(CODE.closeObject))
      do {
        const at = this.#next();
        if (this.#text.charCodeAt(at) !== CODE.quote) throw refused("a key is missing", at);
        const key = this.#string();
        if (places.has(key)) throw refused("a key stands there twice", at);
        places.set(key, values.length);
        this.#expect(CODE.colon, "a colon is missing");
        this.#shape = undefined;
        values.push(this.#value(undefined));
        inside.push(this.#shape);
      } while (this.#goesOn(CODE.closeObject));
    const tokens = [...places.keys()].map((key, place) =>
      codesOf(`${place === 0 ? "" : ","}${JSON.stringify(key)}:`),
    );
    this.#shape = { places, tokens, inside };
    return new JsonObject(places, values, this.#text.slice(start, this.#at));
  }

  #array(first: Shape | undefined): Json[] {
    const values: Json[] = [];
    this.#shape = first;
    if (this.#closes(CODE.closeArray)) return values;
    do values.push(this.#value(this.#shape));
    while (this.#goesOn(CODE.closeArray));
    return values;
  }

  #closes(code: number): boolean {
    if (this.#text.charCodeAt(this.#next()) !== code) return false;
    this.#at += 1;
    return true;
  }

  #goesOn(close: number): boolean {
    if (this.#closes(close)) return false;
    this.#expect(CODE.comma, "a comma or its end is missing");
    return true;
  }

  #expect(code: number, otherwise: string): void {
    if (!this.#closes(code)) throw refused(otherwise, this.#at);
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let at = start + 1;
    let escaped = false;
    for (let code = text.charCodeAt(at); code !== CODE.quote; code = text.charCodeAt(at)) {
      if (!(code >= CODE.space)) throw refused("a text does not end, or holds a control character", start);
      if (code === CODE.backslash) {
        escaped = true;
        at += 1;
      }
      at += 1;
    }
    this.#at = at + 1;
    if (!escaped) return text.slice(start + 1, at);
    try {
      return JSON.parse(text.slice(start, at + 1)) as string;
    } catch {
      throw refused("a text holds an escape that is none", start);
    }
  }

  #number(): string {
    const text = this.#text;
    const start = this.#at;
    let at = start + 1;
    let points = 0;
    let code = text.charCodeAt(at);
    for (; (code >= CODE.zero && code <= CODE.nine) || code === CODE.point; code = text.charCodeAt(at)) {
      if (code === CODE.point) points += 1;
      at += 1;
    }
    // A letter goes on with an exponent, or makes it no number.
    for (; isOfNumber(code); code = text.charCodeAt(at)) {
      points += 2;
      at += 1;
    }
    this.#at = at;
    const number = text.slice(start, at);
    const lead = text.charCodeAt(start) === CODE.minus ? start + 1 : start;
    const first = text.charCodeAt(lead);
    const isPlain =
      points < 2 &&
      text.charCodeAt(at - 1) !== CODE.point &&
      first <= CODE.nine &&
      (first > CODE.zero || (first === CODE.zero && text.charCodeAt(lead + 1) === CODE.point));
    if (isPlain || NUMBER.test(number)) return number;
    throw refused("a number is malformed", start);
  }
}

/** Whether a character behind digits belongs to what would be a number: a letter, a digit, a sign or a point. */
function isOfNumber(code: number): boolean {
  return (
    (code >= CODE.zero && code <= CODE.nine) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === CODE.minus ||
    code === CODE.point ||
    code === 0x2b
  );
}

/**
 * Lines for COPY, in its text format, as bytes. The reader of an answer makes them and does not know the numbers of
 * instruments and sources: a line begins with a hole for both, which the loader fills.
 */

/** The hole: `instrument_id` and `source_id` with all digits that they can have, each with its tab. */
const HOLE = Buffer.from("0000000000\t00000\t", "latin1");

const [ID_DIGITS, SOURCE_DIGITS] = [10, 5];
const [TAB, LINE_FEED, SPACE, ZERO, BACKSLASH, TILDE] = [0x09, 0x0a, 0x20, 0x30, 0x5c, 0x7e];

/** NULL in COPY's text format. */
const NULL = "\\N";

const FIRST_BYTES = 64 * 1024;

export class CopyLines {
  /** The lines, and room for more. */
  bytes = Buffer.allocUnsafe(FIRST_BYTES);
  end = 0;

  /** Makes room for so many bytes behind `end`; may replace `bytes`. */
  reserve(count: number): void {
    if (this.end + count <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.bytes.length, this.end + count));
    this.bytes.copy(larger, 0, 0, this.end);
    this.bytes = larger;
  }

  /** Begins a line with its hole. @returns where it begins */
  begin(): number {
    const start = this.end;
    this.reserve(HOLE.length);
    this.end += HOLE.copy(this.bytes, start);
    return start;
  }

  add(text: string): void {
    // No character takes more bytes.
    this.reserve(3 * text.length);
    this.end += this.bytes.write(text, this.end);
  }

  addValue(value: string | null): void {
    const text = value ?? NULL;
    this.reserve(text.length + 1);
    const { bytes } = this;
    let { end } = this;
    // Practically all are short and of digits: written byte by byte they need neither a string for the line nor a search.
    for (let place = 0; place < text.length; place++) {
      const code = text.charCodeAt(place);
      if ((code < SPACE || code > TILDE || code === BACKSLASH) && value !== null) {
        this.add(`${copyText(value)}\t`);
        return;
      }
      bytes[end++] = code;
    }
    bytes[end++] = TAB;
    this.end = end;
  }

  /** Ends a line of values: the last one's tab becomes the line's end. */
  endLine(): void {
    this.bytes[this.end - 1] = LINE_FEED;
  }
}

/** Characters that mean something in COPY's text format. PostgreSQL manual, COPY, "Text Format". */
const SPECIALS = /[\\\b\f\n\r\t\v]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** A value in COPY's text format; null is `\N`. */
export function copyText(value: string | null): string {
  if (value === null) return NULL;
  return value.replace(SPECIALS, (character) => ESCAPES[character] ?? "");
}

/** The lines of both tables. */
export type Lines = { quotes: CopyLines; extended: CopyLines };

/** Writes the numbers into the hole of the line that begins at `start`. */
export function fillHole(bytes: Uint8Array, start: number, { instrumentId, sourceId }: Numbers): void {
  const end = start + ID_DIGITS;
  for (let [at, rest] = [end - 1, instrumentId]; at >= start; at--, rest = Math.floor(rest / 10))
    bytes[at] = ZERO + (rest % 10);
  for (let [at, rest] = [end + SOURCE_DIGITS, sourceId]; at > end; at--, rest = Math.floor(rest / 10))
    bytes[at] = ZERO + (rest % 10);
}

export type Numbers = { instrumentId: number; sourceId: number };

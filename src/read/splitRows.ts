/** Cuts the bytes of a CSV file into rows. Pure. */

export type RawRow = {
  /** Its bytes, without the line break at its end. */
  bytes: Buffer;
  /** Its first line in the text, from 1 on. */
  line: number;
  /** Whether the row opens a quote and does not close it. */
  broken: boolean;
};

/**
 * Assumed: a row is not longer than this, in bytes, with the line breaks that it quotes. Longer ones are no rows, and
 * a quote that is not closed within this length costs its own line alone. Otherwise it would make one row of the whole rest.
 */
export const MAX_ROW_BYTES = 16_384;

/** Kept bytes of a longer row: enough to recognize it again, also when it is cut behind a carriage return. */
const KEPT_BYTES = MAX_ROW_BYTES + 2;

const [QUOTE, COMMA, NEWLINE, RETURN] = [0x22, 0x2c, 0x0a, 0x0d];

/** Where a row ends; `cut`: inside of its line, whose rest is skipped. */
type RowEnd = { at: number; broken: boolean; cut: boolean };

/** Makes rows of bytes that come in pieces. Skips empty lines. */
export class RowSplitter {
  #rest: Buffer = Buffer.alloc(0);
  #line = 1;
  #passingOver = false;

  push(bytes: Buffer): RawRow[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    return this.#take(false);
  }

  finish(): RawRow[] {
    return this.#take(true);
  }

  #take(ended: boolean): RawRow[] {
    const rows: RawRow[] = [];
    const text = this.#rest;
    let start = this.#passingOver ? this.#passOver(text) : 0;
    while (start < text.length) {
      const end = this.#endOf(text, start, ended);
      if (end === null) break;
      const { at, broken, cut } = end;
      const last = text[at - 1] === RETURN ? at - 1 : at;
      const bytes = text.subarray(start, Math.min(last, start + KEPT_BYTES));
      if (bytes.length > 0) rows.push({ bytes, line: this.#line, broken });
      this.#passingOver = cut;
      if (!cut) this.#line += lineBreaks(text, start, at) + 1;
      start = at + 1;
    }
    this.#rest = text.subarray(start);
    return rows;
  }

  /** @returns where the next line begins */
  #passOver(text: Buffer): number {
    const newline = text.indexOf(NEWLINE);
    if (newline === -1) return text.length;
    this.#passingOver = false;
    this.#line++;
    return newline + 1;
  }

  /** Where the row that begins at `start` ends: at its line break, or at the end of the text. Null: not known yet. */
  #endOf(text: Buffer, start: number, ended: boolean): RowEnd | null {
    const found = text.indexOf(NEWLINE, start);
    const newline = found === -1 ? (ended ? text.length : null) : found;
    if (newline === null)
      return text.length - start < KEPT_BYTES ? null : { at: text.length, broken: false, cut: true };
    if (!text.subarray(start, newline).includes(QUOTE)) return { at: newline, broken: false, cut: false };
    const at = this.#endOfQuoted(text, start, ended);
    if (at === null) return null;
    return { at: at === "unclosed" ? newline : at, broken: at === "unclosed", cut: false };
  }

  #endOfQuoted(text: Buffer, start: number, ended: boolean): number | null | "unclosed" {
    const last = Math.min(text.length, start + MAX_ROW_BYTES);
    let quoted = false;
    let begins = true;
    for (let at = start; at < last; at++) {
      const byte = text[at];
      if (quoted) {
        if (byte !== QUOTE) continue;
        const next = text[at + 1];
        // A doubled quote belongs to the value. A quote inside of a value is the next row's: none closes this one.
        if (next === QUOTE) at++;
        else if (next === undefined || [COMMA, NEWLINE, RETURN].includes(next)) quoted = false;
        else return "unclosed";
      } else if (byte === NEWLINE) return at;
      else if (begins && byte === QUOTE) quoted = true;
      begins = !quoted && byte === COMMA;
    }
    if (last === start + MAX_ROW_BYTES) return "unclosed";
    if (!ended) return null;
    return quoted ? "unclosed" : text.length;
  }
}

function lineBreaks(text: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = text.indexOf(NEWLINE, start); at !== -1 && at < end; at = text.indexOf(NEWLINE, at + 1))
    count++;
  return count;
}

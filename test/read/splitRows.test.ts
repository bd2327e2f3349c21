import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { MAX_ROW_BYTES, type RawRow, RowSplitter } from "../../src/read/splitRows.ts";

/** Rows of a text that comes in stretches of `size` bytes. */
function split(text: string | Buffer, size = 1 << 20): RawRow[] {
  const splitter = new RowSplitter(",");
  const bytes = Buffer.from(text);
  const rows: RawRow[] = [];
  for (let at = 0; at < bytes.length; at += size) rows.push(...splitter.push(bytes.subarray(at, at + size)));
  return [...rows, ...splitter.finish()];
}

function lines(rows: readonly RawRow[]): [number, string][] {
  return rows.map(({ line, bytes }) => [line, bytes.toString()]);
}

test("a row may quote line breaks, delimiters and quotes; the next one stands at its own line", () => {
  expect(lines(split('a,"b\r\n""c"",\n",d\r\n\r\ne,f\n'))).toEqual([
    [1, 'a,"b\r\n""c"",\n",d'],
    [5, "e,f"],
  ]);
});

test("a quote that nobody closes costs its own line alone, whatever quotes come behind", () => {
  const rows = split('a,"b\nc,d\n"e","f"\ng,"h\n');

  expect(lines(rows)).toEqual([
    [1, 'a,"b'],
    [2, "c,d"],
    [3, '"e","f"'],
    [4, 'g,"h'],
  ]);
  expect(rows.map(({ broken }) => broken)).toEqual([true, false, false, true]);
});

test("inches and feet in the midst of a value are no quotes", () => {
  expect(lines(split('a,5" nail\nb,6"\n'))).toEqual([
    [1, 'a,5" nail'],
    [2, 'b,6"'],
  ]);
});

test("a line that does not end is one row, cut, and takes no memory; what follows keeps its line", () => {
  const rows = split(`a\n${"x".repeat(3_000_000)}\nb\n`, 65_536);

  expect(rows.map(({ line, bytes }) => [line, bytes.length])).toEqual([
    [1, 1],
    [2, MAX_ROW_BYTES + 2],
    [3, 1],
  ]);
});

test("however a text comes in, and cut again behind any row, its rows are the same", () => {
  const piece = fc.constantFrom('"', '""', ",", "\n", "\r\n", "a", "é", " ", '"x"', `${"y".repeat(9_000)}`);
  const texts = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 30 }), fc.nat(20), (text, size, after) => {
      const whole = split(text);

      expect(lines(split(text, size))).toEqual(lines(whole));
      // As a piece in the journal has them: rows with line breaks of our own, and a broken one is the last.
      const end = whole.findIndex(({ broken }, place) => broken || place === after);
      const taken = end === -1 ? whole : whole.slice(0, end + 1);
      const body = taken.flatMap(({ bytes }) => [bytes, Buffer.from("\n")]);
      const again = split(Buffer.concat(body)).map(({ bytes }) => bytes.toString());
      expect(again).toEqual(taken.map(({ bytes }) => bytes.toString()));
    }),
    { numRuns: 150 },
  );
});

import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { MAX_ROW_BYTES, type RawRow, RowSplitter } from "../../src/read/splitRows.ts";

/** Rows of a text that comes in stretches of `size` bytes. */
function split(text: string | Buffer, size = 1 << 20): RawRow[] {
  const splitter = new RowSplitter();
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

test("the first value of a row may be quoted, and be empty", () => {
  expect(lines(split('"a\nb",c\n"",d\n"e\nf"\r\ng\n'))).toEqual([
    [1, '"a\nb",c'],
    [3, '"",d'],
    [4, '"e\nf"'],
    [6, "g"],
  ]);
});

test("a row is given out when its line break is there, and no sooner, wherever the stretches of its text are cut", () => {
  const text = Buffer.from('a,"b\n""c""",d\n');

  for (let cut = 1; cut < text.length; cut++) {
    const splitter = new RowSplitter();
    expect(splitter.push(text.subarray(0, cut))).toEqual([]);
    expect(splitter.push(text.subarray(cut))).toEqual([
      { bytes: text.subarray(0, -1), line: 1, broken: false },
    ]);
    expect(splitter.finish()).toEqual([]);
  }
});

test("a text may end without a line break, in the midst of a quote as well", () => {
  expect(split('a,"b"')).toMatchObject([{ line: 1, broken: false }]);
  expect(split('a,b\nc,"d')).toMatchObject([
    { line: 1, broken: false },
    { line: 2, broken: true },
  ]);
});

test("a quote that is not closed within the longest row is none, which is known before the text ends", () => {
  const row = (bytes: number) => `a,"\n${"x".repeat(bytes - 5)}"`;
  const after = "c,d\n";

  const [longest, longer] = [MAX_ROW_BYTES - 1, MAX_ROW_BYTES].map((bytes) => {
    const rows = new RowSplitter().push(Buffer.from(`${row(bytes)}\n${after.repeat(10)}`));
    return rows.slice(0, 2).map(({ bytes: { length }, line, broken }) => ({ length, line, broken }));
  });

  expect(longest).toEqual([
    { length: MAX_ROW_BYTES - 1, line: 1, broken: false },
    { length: 3, line: 3, broken: false },
  ]);
  expect(longer).toEqual([
    { length: 3, line: 1, broken: true },
    { length: MAX_ROW_BYTES - 4, line: 2, broken: false },
  ]);
});

test("inches and feet in the midst of a value are no quotes", () => {
  expect(lines(split('a,5" nail\nb,6"\n'))).toEqual([
    [1, 'a,5" nail'],
    [2, 'b,6"'],
  ]);
});

test("a line that does not end is one row, cut, and takes no memory; what follows keeps its line", () => {
  const rows = split(`a\n${"x".repeat(3_000_000)}\nb\n`, 65_536);

  expect(rows.map(({ line, bytes, broken }) => [line, bytes.length, broken])).toEqual([
    [1, 1, false],
    [2, MAX_ROW_BYTES + 2, false],
    [3, 1, false],
  ]);
});

test("a line longer than any row is known as one before it ends, and is no broken quote", () => {
  const line = Buffer.from("x".repeat(20_000));
  const row = { bytes: line.subarray(0, MAX_ROW_BYTES + 2), line: 1, broken: false };

  expect(new RowSplitter().push(line)).toEqual([row]);
  expect(new RowSplitter().push(Buffer.concat([line, Buffer.from("\n")]))).toEqual([row]);
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

import { expect, test } from "@jest/globals";
import { copyLines, copyValues } from "../../src/export/parquetFile.ts";
import { createLineEnds } from "../../src/export/writeTable.ts";

/** A text in pieces of `size` bytes. */
async function* inPieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.each([1, 2, 3, 7, 1_000])("rows of COPY's text come whole out of pieces of %i bytes", async (size) => {
  const lines: string[] = [];

  for await (const block of copyLines(inPieces("AAPL\tÄpfel\n\\N\t€\n\t\n", size))) lines.push(...block);

  expect(lines.map(copyValues)).toEqual([
    ["AAPL", "Äpfel"],
    [null, "€"],
    ["", ""],
  ]);
});

test("what COPY escapes comes back, and \\N alone is NULL", () => {
  expect(copyValues("a\\tb\t\\\\N\tline\\nend\t\\N\tback\\\\slash")).toEqual([
    "a\tb",
    "\\N",
    "line\nend",
    null,
    "back\\slash",
  ]);
});

test.each([1, 2, 5, 1_000])(
  "CSV lines end with CR LF, line ends within quotes stay, in pieces of %i bytes",
  async (size) => {
    const toRfc4180 = createLineEnds();
    const written: Uint8Array[] = [];
    let ends = 0;

    for await (const piece of inPieces('a,b\n1,"two\n""lines"""\n,""\n', size)) {
      const { text, ends: more } = toRfc4180(piece);
      written.push(text);
      ends += more;
    }

    expect(Buffer.concat(written).toString()).toBe('a,b\r\n1,"two\n""lines"""\r\n,""\r\n');
    expect(ends).toBe(3);
  },
);

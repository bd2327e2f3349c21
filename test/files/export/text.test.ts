import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { copiedRows } from "../../../src/files/tables/copiedRows.ts";
import { createLineEnds } from "../../../src/files/tables/csvFile.ts";

/** Bytes in pieces of `size` bytes. */
async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const HEADING = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");

/** Rows as PostgreSQL sends them with COPY in its binary format. */
function asCopied(rows: readonly (string | null)[][]): Buffer {
  const number = (bytes: number, value: number): Buffer => {
    const buffer = Buffer.alloc(bytes);
    buffer.writeIntBE(value, 0, bytes);
    return buffer;
  };
  const value = (text: string | null): Buffer[] =>
    text === null ? [number(4, -1)] : [number(4, Buffer.byteLength(text)), Buffer.from(text)];
  const all = rows.flatMap((row) => [number(2, row.length), ...row.flatMap(value)]);
  return Buffer.concat([HEADING, ...all, number(2, -1)]);
}

test("rows of COPY come whole and in order, out of pieces of any length", async () => {
  const value = fc.option(fc.string({ maxLength: 30, unit: "grapheme" }));
  const table = fc
    .integer({ min: 1, max: 4 })
    .chain((width) => fc.array(fc.array(value, { minLength: width, maxLength: width }), { minLength: 1 }));

  await fc.assert(
    fc.asyncProperty(table, fc.integer({ min: 1, max: 200 }), async (rows, size) => {
      const width = rows[0]?.length ?? 0;
      const read: (string | null)[] = [];

      for await (const { view, places, count } of copiedRows(inPieces(asCopied(rows), size), width))
        for (const start of places.subarray(0, count * width)) {
          const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
          read.push(start < 0 ? null : bytes.toString("utf8", start, start + view.getInt32(start - 4)));
        }

      expect(read).toEqual(rows.flat());
    }),
  );
});

test.each([1, 2, 5, 1_000])(
  "CSV lines end with CR LF, line ends within quotes stay, in pieces of %i bytes",
  async (size) => {
    const toRfc4180 = createLineEnds();
    const written: Uint8Array[] = [];
    let ends = 0;

    for await (const piece of inPieces(Buffer.from('a,b\n1,"two\n""lines"""\n,""\n'), size)) {
      const { text, ends: more } = toRfc4180(piece);
      written.push(text);
      ends += more;
    }

    expect(Buffer.concat(written).toString()).toBe('a,b\r\n1,"two\n""lines"""\r\n,""\r\n');
    expect(ends).toBe(3);
  },
);

import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { copyInto, copyLine } from "../../src/archive/load/copyInto.ts";
import { anyCharacter } from "../support/anyCharacter.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";

const { pool } = await freshDatabase({ migrated: false });
await pool.query("create table texts (place integer, content text)");
await pool.query("create table numbers (number numeric)");

/** Copies over a connection of its own, which must be of use afterwards, whatever came of it. */
async function copied(sql: string, lines: Iterable<string>): Promise<number> {
  const client = await pool.connect();
  try {
    return await copyInto(client, sql, lines);
  } finally {
    expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    client.release();
  }
}

const intoNumbers = (lines: Iterable<string>) => copied("copy numbers (number) from stdin", lines);

test("COPY brings any text through as it is, and tells null from the text \\N", async () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom(..."\\\t\n\r\b\f\v\"'{},N.x é🙂") }),
    fc.string({ unit: anyCharacter }).map((any) => any.replaceAll("\u0000", "")),
    fc.constantFrom("\\N", "\\.", "NULL", "", "{}", '"'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text), { maxLength: 50 }), async (texts) => {
      await pool.query("truncate texts");
      const lines = texts.map((one, place) => copyLine([String(place), one]));

      expect(await copied("copy texts (place, content) from stdin", lines)).toBe(texts.length);

      const rows = await rowsOfQuery(pool, "select content from texts order by place");
      expect(rows.map(({ content }) => content)).toEqual(texts);
    }),
    { numRuns: 60 },
  );
});

test("COPY stores rows of more than one piece, and no rows at all", async () => {
  const numbers = Array.from({ length: 100_000 }, (_, n) => `${n}.25\n`);

  expect(await intoNumbers(numbers)).toBe(100_000);
  expect(await intoNumbers([])).toBe(0);
  expect(await rowsOfQuery(pool, "select count(*), sum(number) from numbers")).toEqual([
    { count: "100000", sum: "4999975000.00" },
  ]);
});

test.each([
  ["first", 0],
  ["in a later piece", 70_000],
  ["last", 99_999],
])(
  "COPY ends with the database's error when a bad row comes %s, and the connection lives on",
  async (_, bad) => {
    const numbers = Array.from({ length: 100_000 }, (_, n) => (n === bad ? "1..2\n" : "1\n"));

    await expect(intoNumbers(numbers)).rejects.toMatchObject({ code: "22P02" });
  },
);

test("COPY into a table that is not there is refused before a row is sent", async () => {
  await expect(copied("copy nothing from stdin", ["1\n"])).rejects.toMatchObject({
    code: "42P01",
  });
});

test("COPY stores nothing if its rows cannot be made", async () => {
  await pool.query("truncate numbers");
  const broken = function* () {
    for (let n = 0; n < 50_000; n++) yield "1.5\n";
    throw new Error("no more rows");
  };

  await expect(intoNumbers(broken())).rejects.toThrow("no more rows");

  expect(await rowsOfQuery(pool, "select count(*) from numbers")).toEqual([{ count: "0" }]);
});

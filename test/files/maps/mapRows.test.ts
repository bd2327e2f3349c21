/** Rows of a map: what they hold, in which order they come, and how they are numbered. */
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { ownDuck } from "../../../src/files/sql/duckdb.ts";
import { tempDir } from "../../support/tempDir.ts";
import { fileOf, mapped } from "./maps.ts";

// DuckDB is started for each statement, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** All columns, and what every map has to give. */
const ALL = "select *, 'A' as instrument, '2026-11-18T14:30:00Z' as observed_at from input";
test("lines that DuckDB cannot read are refused with their numbers, and the others are read", async () => {
  const lines = ["a,b", "1,2", "3", "4,5,6", "7,\xff", '8,"x ""y"""', '9,"z', "10,11", ""];

  const { rows, refused } = await mapped(ALL, [fileOf(Buffer.from(lines.join("\n"), "latin1"))]);

  expect(rows.map(({ row, a, b }) => [row, a, b])).toEqual([
    ["1", "1", "2"],
    ["2", "8", 'x "y"'],
  ]);
  expect(
    refused.map(([file, line, why, text]) => [file, line, why?.slice(0, 26), text?.slice(0, 5)]),
  ).toEqual([
    ["quotes.csv", "3", "Expected Number of Columns", "3"],
    ["quotes.csv", "4", "Expected Number of Columns", "4,5,6"],
    ["quotes.csv", "5", "Invalid unicode (byte sequ", "7,?"],
    ["quotes.csv", "7", "Value with unterminated qu", '9,"z\n'],
  ]);
});

test("characters reach the reader as they are: a zero, one of two halves, and what a spreadsheet would compute", async () => {
  const { rows } = await mapped(ALL, [fileOf("a,b\nx\0y,999😀z\n=1+1, 7 \n")]);

  expect(rows.map(({ a, b }) => [a, b])).toEqual([
    ["x\0y", "999😀z"],
    ["=1+1", " 7 "],
  ]);
});

test("columns of Parquet are their exact texts, and a column that is called as ours keeps a name", async () => {
  const path = join(tempDir(), "q.parquet");
  const duck = ownDuck();
  await duck.open(tempDir());
  await duck.run(`set TimeZone = 'UTC'; copy (select 1.50::decimal(38, 2) as d, timestamptz '2026-11-18 14:30:00.5Z' as t,
    timestamp '2026-11-18 14:30:00.123456' as local, 'x' as file, null as n, true as b) to '${path}'`);
  await duck.close();

  const { rows } = await mapped("select *, 'A' as instrument, utc(t) as observed_at from input", [path]);

  expect(rows).toEqual([
    {
      ...{
        d: "1.50",
        t: "2026-11-18 14:30:00.5+00",
        local: "2026-11-18 14:30:00.123456",
        file_1: "x",
        n: null,
      },
      ...{
        b: "true",
        file: "q.parquet",
        row: "1",
        instrument: "A",
        observed_at: "2026-11-18T14:30:00.500000Z",
      },
    },
  ]);
});

test("rows come in the order of files and rows, the same at each run, whatever the map does with them", async () => {
  const shuffled = Array.from({ length: 20_000 }, (_, at) => `S${(at * 7919) % 61},${(at * 104729) % 1000}`);
  const files = ["b.csv", "a.csv"].map((name) => fileOf(`s,n\n${shuffled.join("\n")}\n`, name));
  const windows = `select file, row, s as instrument, sum(n::int) over (partition by s order by n, file, row) as last,
    '' as observed_at from input`;
  const joined = `select i.file, i.row, i.s as instrument, '' as observed_at from input i join input j using (s, n, row) order by n`;

  for (const [map, count] of [
    [windows, 1],
    [joined, 2],
  ] as const) {
    const [first, again] = [await mapped(map, files), await mapped(map, files)];
    const places = first.rows.map(({ file, row }) => `${file} ${row?.padStart(5, "0")}`);

    expect(again).toEqual(first);
    expect(places).toEqual([...places].sort());
    expect(places).toHaveLength(40_000 * count);
  }
  const plain = await mapped("select file, row, s as instrument, n as observed_at from input", files);
  expect(plain.rows.map(({ file }) => file).indexOf("a.csv")).toBe(20_000);
});

test("rows are numbered anew in each file, past lines that are refused and columns that are called as DuckDB's own", async () => {
  const files = [
    fileOf("file_index,_nth\n1,a\n2\n3,b\n", "b.csv"),
    fileOf("file_index,_nth\n4,c\n5,d\n", "a.csv"),
  ];
  const map = "select file, row, file_index_1 as last, 'A' as instrument, '' as observed_at from input";

  const { rows, refused } = await mapped(map, files);

  expect(rows.map(({ file, row, last }) => [file, row, last])).toEqual([
    ["b.csv", "1", "1"],
    ["b.csv", "2", "3"],
    ["a.csv", "1", "4"],
    ["a.csv", "2", "5"],
  ]);
  expect(refused.map(([file, line]) => [file, line])).toEqual([["b.csv", "3"]]);
});

/** How the values of a row are found, by the map of its file. */
import { expect, test } from "@jest/globals";
import type { CsvCall, CsvField } from "../../src/read/csvCall.ts";
import { createRowReader, splitHeader } from "../../src/read/rowReader.ts";
import { MAP, TIME } from "./csvPiece.ts";

/** What a row says of a field, or why it is none. */
function textOf(
  field: CsvField,
  row: string | Buffer,
  {
    header = "Symbol,Time,Last",
    ...change
  }: Partial<Omit<CsvCall, "header">> & { header?: string | null } = {},
): string | null {
  const reader = createRowReader({ ...MAP, ...change }, header === null ? null : Buffer.from(header));
  const cells = reader.fieldsOf(Buffer.from(row));
  return cells.ok ? reader.textOf(cells.value)(field) : cells.problem;
}

const time = (change: Partial<CsvCall["time"]>): Pick<CsvCall, "time"> => ({
  time: { ...MAP.time, ...change },
});

test("a column is found by its name, whatever blanks, quotes and byte order mark the header has", () => {
  const header = "\u{feff}Symbol, Time , Last ";

  expect(textOf("last", `A,${TIME}, 1.5 `, { header })).toBe("1.5");
  expect(textOf("symbol", `A,${TIME},1`, { header: '"Symbol","Time","La\nst"' })).toBe("A");
  expect(textOf("symbol", `A,${TIME},1`, { header: "\u{feff}Symbol,Time,Last" })).toBe("A");
});

test("a column is found by its number, from 1 on, with a header and without", () => {
  const columns = { symbol: 1, last: 3 };

  expect(textOf("symbol", `A,${TIME},1`, { columns })).toBe("A");
  expect(textOf("last", `A,${TIME},1`, { ...time({ columns: [2] }), columns, header: null })).toBe("1");
});

test("a column is the first one of its name", () => {
  expect(textOf("last", `A,${TIME},1,2`, { header: "Symbol,Time,Last,Last" })).toBe("1");
});

test("a column that the header does not name says nothing", () => {
  expect(textOf("last", `A,${TIME},1`, { header: "Symbol,Time,Price" })).toBeNull();
  expect(textOf("bid", `A,${TIME},1`)).toBeNull();
});

test("a column stands between delimiters, which may be quoted", () => {
  expect(textOf("last", `A;${TIME};1,5`, { header: "Symbol;Time;Last", delimiter: ";" })).toBe("1,5");
  expect(textOf("last", `A;${TIME};"1;5"`, { header: "Symbol;Time;Last", delimiter: ";" })).toBe("1;5");
  expect(textOf("last", `"A",${TIME},"say ""1"""`)).toBe('say "1"');
});

test("a row needs as many columns as the header names, and may have more", () => {
  expect(textOf("last", `A,${TIME}`)).toBe("it has 2 columns, and 3 are expected");
  expect(textOf("last", `"A",${TIME}`)).toBe("it has 2 columns, and 3 are expected");
  expect(textOf("last", `A,${TIME},1,more,"and more"`)).toBe("1");
});

test("a row of a file without a header needs as many as the map names, those of the time among them", () => {
  const columns = { symbol: 1, last: 2 };
  const noHeader = { ...time({ columns: [4] }), columns, header: null };

  expect(textOf("last", "A,1,x", noHeader)).toBe("it has 3 columns, and 4 are expected");
  expect(textOf("last", `A,1,x,${TIME}`, noHeader)).toBe("1");
  expect(textOf("last", "A,1", { ...noHeader, ...time({ columns: [1] }) })).toBe("1");
});

test("a row has 16,384 bytes at most", () => {
  const row = (bytes: number) => `A,${TIME},1,`.padEnd(bytes, "x");

  expect(textOf("last", row(16_384))).toBe("1");
  expect(textOf("last", row(16_385))).toBe("it is no row: it is longer than 16384 bytes");
});

test("a row has to be CSV, and in the encoding that the map says", () => {
  const moet = Buffer.from(`Mo\u00ebt,${TIME},1`, "latin1");

  expect(textOf("symbol", moet)).toBe("it is not UTF-8; see `encoding` of the map");
  expect(textOf("symbol", moet, { encoding: "windows-1252" })).toBe("Moët");
  expect(textOf("symbol", `Moët,${TIME},1`)).toBe("Moët");
  expect(textOf("symbol", `"A,${TIME},1`)).toMatch(/^it is no row of CSV: Quote Not Closed/);
  expect(textOf("symbol", `"A"B,${TIME},1`)).toMatch(/^it is no row of CSV: /);
});

test("a value that is empty, or one of the texts that stand for none, is null", () => {
  expect(textOf("last", `A,${TIME}, `)).toBeNull();
  expect(textOf("last", `A,${TIME},-`)).toBe("-");
  expect(textOf("last", `A,${TIME},-`, { absent: ["-", "#N/A"] })).toBeNull();
  expect(textOf("last", `A,${TIME},#N/A`, { absent: ["-", "#N/A"] })).toBeNull();
});

test("a value is the constant of the map where it is empty, or has no column", () => {
  const constants = { last: "7", bid: "8", ask: "-" };

  expect(textOf("last", `A,${TIME},`, { constants })).toBe("7");
  expect(textOf("last", `A,${TIME},1`, { constants })).toBe("1");
  expect(textOf("bid", `A,${TIME},1`, { constants })).toBe("8");
  expect(textOf("ask", `A,${TIME},1`, { constants, absent: ["-"] })).toBeNull();
});

test("a value that an apostrophe keeps from being a formula is without it, unless the map says that it belongs there", () => {
  expect(textOf("symbol", `'=A,${TIME},1`)).toBe("=A");
  expect(textOf("symbol", `'A,${TIME},1`)).toBe("'A");
  expect(textOf("symbol", `'=A,${TIME},1`, { raw: true })).toBe("'=A");
});

test("a value that names a security loses the first prefix and the first suffix that fit", () => {
  const strip = { symbol: { prefix: ["XNYS:", "XN"], suffix: [".N", "Q.N"] } };

  expect(textOf("symbol", `XNYS:ABCQ.N,${TIME},1`, { strip })).toBe("ABCQ");
  expect(textOf("symbol", `XNAS:ABC,${TIME},1`, { strip })).toBe("AS:ABC");
  expect(textOf("symbol", `ABC.N,${TIME},1`, { strip })).toBe("ABC");
  expect(textOf("symbol", `AXN.NB,${TIME},1`, { strip })).toBe("AXN.NB");
  expect(textOf("occ", `XNYS:A,${TIME},1`, { strip, columns: { occ: "Symbol" } })).toBe("XNYS:A");
  expect(textOf("exchange", `XNYS:A,${TIME},1`, { strip, columns: { exchange: "Symbol" } })).toBe("XNYS:A");
});

test.each(["occ", "underlying"] as const)("a value that is the name of a field %s loses its own", (field) => {
  const strip = { [field]: { prefix: ["X:"], suffix: [] } };

  expect(textOf(field, `X:A,${TIME},1`, { strip, columns: { [field]: "Symbol" } })).toBe("A");
});

const HEADER = "Symbol,Date,Clock";
const reader = (change: Partial<CsvCall["time"]>) =>
  createRowReader({ ...MAP, ...time({ columns: ["Date", "Clock"], ...change }) }, Buffer.from(HEADER));
const timeOf = (fields: string[], change: Partial<CsvCall["time"]> = {}) => reader(change).timeOf(fields);

test("the time of a row is made of its columns, joined by a space", () => {
  expect(timeOf(["A", " 2026-11-18", "14:30 "])).toEqual({
    ok: true,
    value: "2026-11-18T14:30:00.000000Z",
  });
  expect(reader({}).timeTextOf(["A", "2026-11-18", ""])).toBe("2026-11-18");
  expect(reader({}).timeTextOf(["A", "", "14:30"])).toBe("14:30");
});

test("the time of a row has the map's time of day behind it, where there is a date", () => {
  const constant = "16:00";

  expect(timeOf(["A", "2026-11-18", ""], { constant })).toEqual({
    ok: true,
    value: "2026-11-18T16:00:00.000000Z",
  });
  expect(reader({ constant }).timeTextOf(["A", "", ""])).toBe("");
});

test("the time of a row is needed, and told by its columns when it is wrong", () => {
  expect(timeOf(["A", "", " "])).toEqual({
    ok: false,
    problem: "Date, Clock is empty, and each row needs its time",
  });
  expect(timeOf(["A", "never", "ever"])).toEqual({
    ok: false,
    problem: 'Date, Clock is "never ever": expected ISO 8601',
  });
});

test("the time of a row keeps microseconds, and says when there was more", () => {
  expect(timeOf(["A", "2026-11-18", "14:30:00.1234567"])).toEqual({
    ...{ ok: true, cut: 1 },
    value: "2026-11-18T14:30:00.123456Z",
  });
});

test("a header loses the byte order mark at its beginning alone, and names nothing when it cannot be read", () => {
  expect(splitHeader(Buffer.from([0xff, 0x41]), MAP)).toEqual([]);
  expect(splitHeader(Buffer.from('"Symbol,Time'), MAP)).toEqual([]);
  expect(splitHeader(Buffer.from('\u{feff}"Symbol","A\u{feff}B"'), MAP)).toEqual(["Symbol", "A\u{feff}B"]);
  expect(splitHeader(Buffer.from("A\u{feff}B,Time"), MAP)).toEqual(["A\u{feff}B", "Time"]);
  expect(splitHeader(Buffer.from(" Symbol ,Time"), MAP)).toEqual(["Symbol", "Time"]);
});

/** What the rows of a CSV file become, by its map. */
import { expect, test } from "@jest/globals";
import { type CsvCall, type CsvField, isCsvCall } from "../../src/read/csvCall.ts";
import { NO_QUOTE } from "../../src/quotes/document.ts";
import { at } from "../support/journal.ts";
import { problemsOf, readRow, rowsOfPiece, STORED_TIME, TIME } from "./csvPiece.ts";

/** A field's value as it is stored, or what is wrong with the text. */
function stored(field: CsvField, text: string, change: Partial<CsvCall> = {}): string | null | undefined {
  const { unit, problem } = readRow({ symbol: "A", low: "1", [field]: text }, change);
  const values: Record<string, unknown> = { ...unit?.quote.extended, ...unit?.quote };
  return problem?.replace(`${field} is ${JSON.stringify(text)}: `, "") ?? (values[field] as string | null);
}

test("a row becomes a quote of a security, with what it says and nothing else", () => {
  const rows = rowsOfPiece(`Symbol,Time,Last\nAAPL,${TIME},150.10\n`);

  const document = { id: null, error: null, hasQuotes: true, items: [] };
  expect(rows).toMatchObject({ answer: { outcome: "quotes", document }, matched: [], deadLetters: [] });
  expect(rows.cut).toEqual({ times: 0, fractions: 0 });
  expect(rows.units).toEqual([
    {
      observedAt: STORED_TIME,
      delayed: false,
      instrument: {
        ...{ securityType: "CS", assumedType: true, symbol: "AAPL", underlying: null },
        ...{ expiration: null, optionType: null, strike: null },
        ...{ exchange: null, description: null, contractSize: null },
      },
      quote: { ...NO_QUOTE, last: "150.10" },
      greeksDelta: null,
      fragment: "quotes.csv line 2",
    },
  ]);
});

test("a row has its prices, and its counts and ratios, where the service's quotes have them", () => {
  const { unit } = readRow({ symbol: "A", bid: "1", change: "-2", volume: "3", delta: "-0.4" });

  expect(unit?.quote).toEqual({
    ...{ ...NO_QUOTE, bid: "1", change: "-2" },
    extended: { ...NO_QUOTE.extended, volume: "3", delta: "-0.4" },
  });
});

test("a row that cannot be read is a dead letter with its name, its line and its bytes", () => {
  const rows = rowsOfPiece(`Symbol,Time,Last\nA,${TIME},x\nB,${TIME},1\nC,never,1\n`, { firstLine: 100 });

  expect(rows.units.map(({ fragment }) => fragment)).toEqual(["quotes.csv line 101"]);
  expect(rows.deadLetters).toEqual([
    {
      ...{ observedAt: at(0), ordinal: 0, instrument: "A", reason: "malformed", fragment: `A,${TIME},x` },
      detail: 'quotes.csv line 100: Last is "x": "x" is not a decimal number',
    },
    {
      ...{ observedAt: at(0), ordinal: 1, instrument: "C", reason: "malformed", fragment: "C,never,1" },
      detail: 'quotes.csv line 102: Time is "never": expected ISO 8601',
    },
  ]);
});

test("a broken row has no name; another bad row is named by the first column that names a security", () => {
  const names = (csv: string, columns: CsvCall["columns"]) =>
    rowsOfPiece(csv, { columns }).deadLetters.map(({ instrument }) => instrument);

  expect(names("Symbol,Time,Last\nA,B\n", { symbol: "Symbol", last: "Last" })).toEqual([null]);
  expect(names(`Occ,Time,Last\nA,${TIME},1\n`, { occ: "Occ", last: "Last" })).toEqual(["A"]);
  expect(names("Under,Time,Last\nA,never,1\n", { underlying: "Under", last: "Last" })).toEqual(["A"]);
});

test("a row stands at its own line where the file has no header, and where empty lines go before it", () => {
  const columns = { symbol: 1, last: 2 };
  const time = { columns: [3], format: "iso", timezone: "UTC", ambiguous: "earlier" } as const;

  const rows = rowsOfPiece(`\n\nA,1,${TIME}\n\nB,1,${TIME}\n`, {
    ...{ header: false, firstLine: 7, columns },
    time: { ...time, columns: [3] },
  });

  expect(rows.units.map(({ fragment }) => fragment)).toEqual(["quotes.csv line 7", "quotes.csv line 9"]);
});

test("a piece of a header alone, or of nothing, has no row", () => {
  expect(rowsOfPiece("Symbol,Time,Last\n")).toMatchObject({ units: [], deadLetters: [] });
  expect(rowsOfPiece("")).toMatchObject({ units: [], deadLetters: [] });
});

test("a map that nobody here can follow makes the whole piece one dead letter", () => {
  const time = { columns: ["Time"], timezone: "Mars/Olympus", format: "iso", ambiguous: "earlier" as const };

  const rows = rowsOfPiece(`Symbol,Time,Last\nA,${TIME},1\nB,${TIME},1\n`, { time });

  expect(rows.units).toEqual([]);
  expect(rows.deadLetters).toEqual([
    {
      ...{ observedAt: at(0), ordinal: 0, instrument: null, reason: "malformed", fragment: null },
      detail: "the map of the import: this machine knows no time zone Mars/Olympus",
    },
  ]);
});

test("two rows of one instrument and time with equal numbers are both kept; the archive passes over one", () => {
  expect(rowsOfPiece(`Symbol,Time,Last\nA,${TIME},1\nA,${TIME},1.0\n`).units).toHaveLength(2);
});

test("none of several rows of one instrument and time with different values is stored, and each says in what they differ", () => {
  const rows = rowsOfPiece(`Symbol,Time,Last\nA,${TIME},1\nB,${TIME},5\nA,${TIME},2\nA,${TIME},1.0\n`);

  expect(rows.units.map(({ instrument }) => instrument.symbol)).toEqual(["B"]);
  expect(rows.deadLetters).toMatchObject(
    [
      [2, "1"],
      [4, "2"],
      [5, "1.0"],
    ].map(([line, last], ordinal) => ({
      ...{ ordinal, instrument: "A", reason: "answered_twice", fragment: `A,${TIME},${last}` },
      detail: `quotes.csv line ${line}: rows with different values at ${STORED_TIME}: last 1 and 2`,
    })),
  );
});

test("rows of another time, another security or another contract are not taken for repetitions", () => {
  const csv = [
    "symbol,expiration,type,strike,last,Time",
    ...[`A,,,,1,${TIME}`, `A,,,,2,${TIME}.1`, `B,,,,3,${TIME}`],
    ...[`A,2026-12-18,C,5,4,${TIME}`, `A,2026-12-18,P,5,5,${TIME}`, `A,2026-12-18,C,6,6,${TIME}`],
    `A,2026-12-25,C,5,7,${TIME}`,
  ].join("\n");
  const columns = {
    expiration: "expiration",
    type: "type",
    strike: "strike",
    last: "last",
    symbol: "symbol",
  };

  expect(rowsOfPiece(csv, { columns }).units).toHaveLength(7);
});

test.each([
  ...["true", "T", "yes", "Y", "1"].map((text) => [text, true] as const),
  ...["false", "F", "no", "N", "0"].map((text) => [text, false] as const),
])("a row that says %s is delayed, whatever the map says: %p", (text, delayed) => {
  const { unit } = readRow({ symbol: "A", last: "1", delayed: text }, { delayed: !delayed });

  expect(unit?.delayed).toBe(delayed);
});

test("the map says whether rows are delayed that do not say it", () => {
  expect(readRow({ symbol: "A", last: "1", delayed: "" }, { delayed: true }).unit?.delayed).toBe(true);
  expect(readRow({ symbol: "A", last: "1" }, { delayed: true }).unit?.delayed).toBe(true);
});

test.each(["untrue", "trueish", "10", "nope", "1 0"])("%s does not say whether a row is delayed", (text) => {
  expect(readRow({ symbol: "A", last: "1", delayed: text }).problem).toBe(
    `delayed is "${text}": expected true or false`,
  );
});

test("a constant of the map that does not say whether rows are delayed is named by its field", () => {
  const constants = { delayed: "perhaps" };
  const columns = { symbol: "symbol", last: "last" };

  expect(readRow({ symbol: "A", last: "1" }, { columns, constants }).problem).toBe(
    'delayed is "perhaps": expected true or false',
  );
});

const columns = { symbol: "Symbol", bid: "Bid", last: "Last", bidSize: "Size" };
const piece = (...rows: string[]) =>
  rowsOfPiece(`Symbol,Time,Bid,Last,Size\n${rows.join("\n")}\n`, { columns });

test("a count that cannot be read, or a number that no column holds, is a dead letter, and its row is stored without it", () => {
  const rows = piece(`A,${TIME},1,2,9007199254740992.5`, `B,${TIME},4.9E-324,1.7976931348623157E308,3`);

  expect(rows.units.map(({ quote }) => [quote.bid, quote.last, quote.extended.bidSize])).toEqual([
    ["1", "2", null],
    [null, null, "3"],
  ]);
  expect(rows.deadLetters).toMatchObject([
    {
      ...{ ordinal: 0, instrument: "A", reason: "odd_field", fragment: `A,${TIME},1,2,9007199254740992.5` },
      detail: 'quotes.csv line 2: Size is "9007199254740992.5": "9007199254740992.5" is not a whole number',
    },
    { instrument: "B", reason: "odd_field", detail: expect.stringContaining("line 3: Bid is") },
    { instrument: "B", reason: "odd_field", detail: expect.stringContaining("more than 15 digits before") },
  ]);
});

test("a row that has only numbers that cannot be read is one dead letter, which names them all", () => {
  const rows = piece(`A,${TIME},1E300,,x`);

  expect(rows.units).toEqual([]);
  expect(rows.deadLetters).toMatchObject([
    { reason: "malformed", detail: expect.stringMatching(/Bid is "1E300": .*; Size is "x": "x" is not/) },
  ]);
});

test("a row with a cell too many and a number that cannot be read is a dead letter: the number may belong to another column", () => {
  const rows = piece(`A,${TIME},1,2,x`, `B,${TIME},1,2,x,5`, `C,${TIME},1,2,3,5`);

  expect(rows.units.map(({ instrument }) => instrument.symbol)).toEqual(["A", "C"]);
  expect(rows.deadLetters.map(({ instrument, reason }) => [instrument, reason])).toEqual([
    ["A", "odd_field"],
    ["B", "malformed"],
  ]);
});

test("a number that cannot be read does not contradict the number that a row of the same instrument and time has", () => {
  const rows = piece(`A,${TIME},1,2,x`, `A,${TIME},1,2,3`, `B,${TIME},1,2,x`, `B,${TIME},1,3,x`);

  expect(rows.units.map(({ instrument }) => instrument.symbol)).toEqual(["A", "A"]);
  expect(rows.deadLetters.map(({ reason }) => reason)).toEqual([
    ...["odd_field", "answered_twice", "answered_twice"],
  ]);
});

test("a row without values, or with the size of a contract alone, is refused", () => {
  expect(readRow({ symbol: "A", last: "", bid: "na" }).problem).toBe("it has no value");
  expect(readRow({ symbol: "A", contractSize: "100" }).problem).toBe("it has no value");
});

test("the values of a row may be constants of the map, for what is empty or has no column", () => {
  const constants = { bid: "1", ask: "2" };
  const columns = { symbol: "symbol", bid: "bid" };

  const given = readRow({ symbol: "A", bid: "3" }, { columns, constants });
  const empty = readRow({ symbol: "A", bid: "" }, { columns, constants });

  expect([given.unit?.quote.bid, given.unit?.quote.ask]).toEqual(["3", "2"]);
  expect(empty.unit?.quote.bid).toBe("1");
});

test("a row of a contract says its size", () => {
  const { unit } = readRow({ occ: "AAPL261218C00150000", last: "1", contractSize: "100" });

  expect(unit?.instrument).toMatchObject({ symbol: "AAPL", strike: "150", contractSize: "100" });
  expect(unit?.quote.extended.contractSize).toBe("100");
});

test.each(["change", "pctChange", "earningsPerShare", "peRatio", "delta"] as const)(
  "the values of a row may be below zero as %s",
  (field) => {
    expect(stored(field, "-1.5")).toBe("-1.5");
  },
);

test.each(["bid", "ask", "last", "open", "volume", "bidSize"] as const)(
  "the values of a row cannot be below zero as %s, except for a zero with a sign",
  (field) => {
    expect(stored(field, "-1")).toMatch(/^"-1" is below zero; list it under `absent`/);
    expect(stored(field, "-0")).toMatch(/^-?0$/);
  },
);

test.each([
  ["123456789012345", true],
  ["1234567890123456", false],
  ["123456789012345.678901", true],
  ["1E14", true],
  ["1E15", false],
  ["1e15", false],
  ["1E-20", true],
  ["0000000000000000001", true],
])("a number of a row, %s, has 15 digits before its point at most: %s", (text, fits) => {
  expect(stored("last", text)).toEqual(
    fits
      ? text
      : expect.stringContaining(
          `"${text}" has more than 15 digits before the point; list it under \`absent\``,
        ),
  );
});

test("a number of a row below zero has 15 digits before its point at most", () => {
  expect(stored("change", "-123456789012345")).toBe("-123456789012345");
  expect(stored("change", "-1E15")).toContain("more than 15 digits");
});

test.each([
  ["1.234,50", "1234.50"],
  ["1.234.567", "1234567"],
  ["21.261", "21261"],
  ["1.234,", "1234."],
  ["-1.234,5", "-1234.5"],
  ["\u22121.234,5", "-1234.5"],
  ["(1.234,5)", "-1234.5"],
  ["1.234,5 %", "1234.5"],
  ["0.125", null],
  ["+1.234,5", "+1234.5"],
  ["1.234,5%", "1234.5"],
  ["12,5", "12.5"],
  ["7", "7"],
  ["12.5", null],
  ["1.23,5", null],
  ["1234.567,5", null],
  ["1.234x", null],
])("with a decimal comma %s is %s", (text, expected) => {
  expect(stored("pctChange", text, { decimal: "," })).toBe(
    expected ?? "expected a number with a decimal comma",
  );
});

test("the values of a row are multiplied exactly by the factors of the map", () => {
  const scale = { last: "0.01", volume: "1000" };

  expect(stored("last", "12345.6", { scale })).toBe("123.456");
  expect(stored("volume", "1.5", { scale })).toBe("1500");
  expect(stored("volume", "0.0001", { scale })).toBe('"0.1" is not a whole number');
  expect(stored("bid", "7.50", { scale })).toBe("7.50");
  expect(stored("last", "na", { scale })).toBeNull();
  expect(stored("last", "1,5e3", { scale })).toContain("is not a decimal number");
});

test("counts of a row lose their fraction where the map says so, and the report counts them", () => {
  const cut = (volume: string, change: Partial<CsvCall> = {}) => {
    const read = readRow({ symbol: "A", volume }, { wholePart: ["volume"], ...change });
    return [read.unit?.quote.extended.volume, read.cut?.fractions];
  };

  expect(cut("12.75")).toEqual(["12", 1]);
  expect(cut("12.0")).toEqual(["12", 0]);
  expect(cut("12")).toEqual(["12", 0]);
  expect(cut("1.23456", { scale: { volume: "1000" } })).toEqual(["1234", 1]);
  expect(stored("bidSize", "12.75", { wholePart: ["volume"] })).toBe('"12.75" is not a whole number');
});

test("values of several rows of which something is cut are counted", () => {
  const rows = rowsOfPiece(`Symbol,Time,V\nA,${TIME}.0000009,1.5\nB,${TIME}.0000009,2\nC,${TIME},3.5\n`, {
    columns: { symbol: "Symbol", volume: "V" },
    wholePart: ["volume"],
  });

  expect(rows.cut).toEqual({ times: 2, fractions: 2 });
});

test("the values of a row that are wrong are named by their column, or by their field where a constant has them", () => {
  const columns = { symbol: "symbol" };

  expect(readRow({ symbol: "A" }, { columns, constants: { last: "x" } }).problem).toBe(
    'last is "x": "x" is not a decimal number',
  );
  expect(
    rowsOfPiece(`Symbol,Time,7\nA,${TIME},x\n`, { columns: { symbol: 1, last: 3 } }).deadLetters,
  ).toMatchObject([{ detail: expect.stringContaining('line 2: 3 is "x"') }]);
});

test("a line break may have more than one carriage return, with quotes in the row or without", () => {
  const rows = rowsOfPiece(`Symbol,Time,Last\r\r\nA,${TIME},1\r\r\nB,${TIME},"2"\r\r\r\n`);

  expect(rows.units.map(({ quote }) => quote.last)).toEqual(["1", "2"]);
});

test("a carriage return alone is no line break: nothing behind it is lost, with quotes in the row or without", () => {
  for (const symbol of ["A", '"A"']) {
    const rows = rowsOfPiece(`Symbol,Time,Last\n${symbol},${TIME},1\rB,${TIME},2\n`);

    expect(rows.units).toEqual([]);
    expect(problemsOf(rows)).toEqual(['quotes.csv line 2: Last is "1\\rB": "1\rB" is not a decimal number']);
  }
});

test("what a piece's rows are not is said of each of them", () => {
  const rows = rowsOfPiece(`Symbol,Time,Last\nA,${TIME},1\n"A,${TIME},1\n`);

  expect(rows.units).toHaveLength(1);
  expect(problemsOf(rows)).toEqual([
    expect.stringMatching(/^quotes\.csv line 3: it is no row of CSV: Quote Not Closed/),
  ]);
});

test("a piece of a CSV file is told from any other call by its form", () => {
  expect(isCsvCall({ form: "csv" })).toBe(true);
  for (const other of [{ form: "export" }, {}, null, undefined, "csv"]) expect(isCsvCall(other)).toBe(false);
});

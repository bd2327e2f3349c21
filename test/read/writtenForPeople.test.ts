/** Numbers, days and symbols as people, spreadsheets and vendors write them. */
import { expect, test } from "@jest/globals";
import { createTimeReader } from "../../src/read/cellTime.ts";
import type { SymbolNames } from "../../src/read/csvCall.ts";
import { createRowReader } from "../../src/read/rowReader.ts";
import { MAP, readRow } from "./csvPiece.ts";

test.each([
  ["$150.11", "150.11"],
  ["€ 1,150.25", "1150.25"],
  ["-$0.25", "-0.25"],
  ["$.5", ".5"],
  ["150.11", "150.11"],
  ["($0.25)", "-0.25"],
  ["\u2212$0.25", "-0.25"],
  ["(1.5K)", "-1.5E3"],
])("with numberSigns the number %s is %s", (written, value) => {
  expect(readRow({ change: written, symbol: "A" }, { numberSigns: true }).unit?.quote.change).toBe(value);
});

test.each([
  ["45.33M", "45330000"],
  ["1.2K", "1200"],
  ["3B", "3000000000"],
  ["2T", "2000000000000"],
  ["1,200", "1200"],
])("with numberSigns the count %s is %s", (written, value) => {
  const { unit } = readRow({ volume: written, symbol: "A" }, { numberSigns: true });
  expect(unit?.quote.extended.volume).toBe(value);
});

test.each(["$100", "$1.5M", "($100)"])(
  "the count %s has a currency's sign, which no count has, also with numberSigns",
  (written) => {
    const { unit, problem } = readRow({ volume: written, last: "1", symbol: "A" }, { numberSigns: true });
    expect([unit?.quote.extended.volume, problem]).toEqual([
      ...[null, expect.stringContaining("has a currency's sign, and the column holds none")],
    ]);
  },
);

test.each(["$5%", "5K%"])("the percentage %s has a sign too many, also with numberSigns", (written) => {
  const { problem } = readRow({ pctChange: written, symbol: "A" }, { numberSigns: true });
  expect(problem).toContain("is not a decimal number");
});

test.each(["45.33X", "M", "$", "$M", "12MM", "USD 5", "1.2.3M", "$(5)", "5-"])(
  "the number %s is none, also with numberSigns",
  (written) => {
    expect(readRow({ last: written, symbol: "A" }, { numberSigns: true }).problem).toContain(
      "is not a decimal number",
    );
  },
);

test("without numberSigns a sign of a currency is no part of a number", () => {
  expect(readRow({ last: "$150.11", symbol: "A" }).problem).toBe(
    'last is "$150.11": "$150.11" is not a decimal number',
  );
});

test.each([
  ["46344", "2026-11-18T05:00:00.000000Z"],
  ["46344.395833333336", "2026-11-18T14:30:00.000000Z"],
  ["46344,395833333336", "2026-11-18T14:30:00.000000Z"],
  ["46344.39584491", "2026-11-18T14:30:01.000000Z"],
  ["46344.999999999", "2026-11-19T05:00:00.000000Z"],
])("the day that a spreadsheet numbers %s is %s", (text, expected) => {
  const time = { ...MAP.time, format: "excel", timezone: "America/New_York" };

  expect(createTimeReader({ time })(text)).toEqual({ ok: true, value: expected });
});

test.each(["", "1", "60", "2026-11-18", "46344.", "4.6e4", "-46344"])(
  "%j numbers no day of a spreadsheet",
  (text) => {
    expect(createTimeReader({ time: { ...MAP.time, format: "excel" } })(text)).toEqual({
      ok: false,
      problem: "expected a spreadsheet's number of a day, such as 46344 or 46344.5",
    });
  },
);

test.each<[string, SymbolNames, string]>([
  ["BRK-B", { classMark: "-" }, "BRK.B"],
  ["brk-b", { upper: true, classMark: "-" }, "BRK.B"],
  ["brk-b", { classMark: "-" }, "brk.b"],
  ["BF/B", { classMark: "/" }, "BF.B"],
  ["BTC-USD", { classMark: "-" }, "BTC-USD"],
  ["BAC-PL", { classMark: "-" }, "BAC-PL"],
  ["-B", { classMark: "-" }, "-B"],
  ["FB", { rename: { FB: "META" } }, "META"],
  ["fb", { rename: { FB: "META" } }, "fb"],
  ["fb", { upper: true, rename: { FB: "META", META: "METV" } }, "META"],
  ["brk-b", { upper: true, classMark: "-", rename: { "BRK.B": "BRKB" } }, "BRKB"],
  ["aapl:2026-12-18:call:150", { upper: true, classMark: "-" }, "AAPL:2026-12-18:CALL:150"],
])("the symbol %s is renamed by %j to %s", (symbol, names, expected) => {
  const { textOf } = createRowReader({ ...MAP, columns: { symbol: 1 }, symbols: names }, null);

  expect(textOf([symbol])("symbol")).toBe(expected);
});

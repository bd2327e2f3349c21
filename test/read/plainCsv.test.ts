/** Pieces of CSV files become COPY's lines as `rowsOf` and the columns of the tables have them. */
import fc from "fast-check";
import { describe, expect, test } from "@jest/globals";
import type { CsvCall } from "../../src/read/csvCall.ts";
import { PlainReader } from "../../src/read/plainRows.ts";
import { expectTheTruth } from "../fuzz/plainRows.ts";
import { answerRecord, at } from "../support/journal.ts";
import { MAP } from "./csvPiece.ts";
import { runs } from "../support/runs.ts";

const FIELDS = ["symbol", "last", "change", "bidSize", "volume", "contractSize"] as const;
const NAMES = ["Time", ...FIELDS];

/** A map of all of them. */
const CALL: CsvCall = { ...MAP, columns: Object.fromEntries(FIELDS.map((field) => [field, field])) };

const TIMES = [
  ...[
    "2026-11-18T14:30:00",
    "2026-11-18T14:31:00.000001",
    "2026-11-18 14:30:00Z",
    "2026-11-18T09:32:00-05:00",
  ],
  ...[
    "2026-11-18T14:30:00.0000019",
    "20261118T143300",
    "2026-11-18T14:30:60Z",
    "2026-02-30T14:30:07.5Z",
    "1979-12-31T23:59:59.999999Z",
    "2026-03-08T02:30:01.5",
    "2026-11-01 01:30:59.123456",
    "2026-11-18T14:30:01.25 Z",
    "2026-11-18T14:30:01,25+0100",
    "2026-11-18T14:30:01.25+01:00",
    "18/11/2026",
    "1763476200",
    "",
  ],
];
const SYMBOLS = [
  "IBM",
  "GE",
  " GE ",
  "AAPL261218C00375000",
  "AAPL:2026-12-18:CALL:375",
  "AAPL_121826C375",
  "É",
  "",
];
const NUMBERS = [
  ...[
    "1",
    "0",
    "150.25",
    "-1.5",
    "-0.00",
    "-0",
    "+3",
    "007",
    "1.",
    ".5",
    ".",
    "-",
    "1e3",
    "1,234.5",
    "2.00%",
    "$1.5",
    "1.5K",
  ],
  ...[
    "1.5.2",
    "1234567890123456",
    "123456789012345",
    "12345678.1234567",
    "99999999999999999999",
    "na",
    "NaN",
    "abc",
    "",
  ],
];
/** Around any cell: what CSV, spreadsheets and people make of it. */
const ODD = ["'", '"', '""', "\r", "\t", "\0", "\u00a0", ";", ",", "=", "\\", "\\N", "\n", "\u{1f600}"];

function rarely<T>(usual: readonly T[], rare: readonly T[]): fc.Arbitrary<T> {
  const [first, ...others] = [usual, rare].map((some) => fc.constantFrom(...some));
  return fc.oneof({ weight: 12, arbitrary: first as fc.Arbitrary<T> }, ...others);
}

function cell(texts: readonly string[]): fc.Arbitrary<string> {
  const text = rarely(texts.slice(0, 3), texts);
  return fc.oneof(
    { weight: 30, arbitrary: text },
    { weight: 6, arbitrary: text.map((one) => `"${one}"`) },
    fc
      .tuple(text, fc.constantFrom(...ODD), fc.nat(8))
      .map(([one, odd, place]) => one.slice(0, place) + odd + one.slice(place)),
    text.map((one) => ` ${one} `),
  );
}

/** Times of their own as a rule: two rows of one are left to `rowsOf`. */
const time = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.nat(40_000_000).map((micros) => new Date(1_795_000_000_000 + micros).toISOString()),
  },
  cell(TIMES),
);

const row = fc
  .tuple(time, cell(SYMBOLS), ...FIELDS.slice(1).map(() => cell(NUMBERS)), fc.nat(30))
  .map((cells) => {
    const [count, values] = [cells.at(-1), cells.slice(0, -1)];
    // One row has too few cells, another too many.
    return (count === 0 ? values.slice(1) : count === 1 ? [...values, "more"] : values) as string[];
  });

const change = fc.constantFrom<Partial<CsvCall>>(
  ...[
    {},
    {},
    { delimiter: ";" },
    { delimiter: "\t" },
    { delimiter: " " },
    { encoding: "windows-1252" as const },
  ],
  ...[
    { decimal: "," as const },
    { raw: true as const },
    { absent: ["0", "150.25", "IBM", "-1.5"] },
    { delayed: true },
  ],
  { scale: { last: "0.001", volume: "100" } },
  { wholePart: ["volume" as const] },
  { constants: { volume: "5", symbol: "GE", delayed: "yes" } },
  { constants: { contractSize: "100", delayed: "perhaps" } },
  { columns: { ...CALL.columns, delayed: "bidSize" } },
  { columns: { symbol: 2, last: 3, bid: 40 } },
  { columns: { symbol: "symbol", last: "nowhere" } },
  { strip: { symbol: { prefix: ["I"], suffix: ["E"] } } },
  { time: { ...CALL.time, timezone: "America/New_York" } },
  { time: { ...CALL.time, timezone: null } },
  { time: { ...CALL.time, format: "ms" } },
  {
    time: {
      columns: ["Time", "bidSize"],
      format: "%d/%m/%Y %H",
      timezone: "UTC",
      ambiguous: "later" as const,
    },
  },
  { time: { ...CALL.time, columns: ["bidSize"], format: "s", constant: "1" } },
  { time: { ...CALL.time, timezone: "Nowhere/Land" } },
  { time: { ...CALL.time, knownAt: "time + 1m" } },
  { time: { ...CALL.time, knownAt: "close - 15m" } },
  { time: { ...CALL.time, columns: ["bidSize"], format: "excel" } },
  { symbols: { upper: true as const, classMark: "-", rename: { GE: "IBM" } } },
  { numberSigns: true as const },
  { volumeOf: "bar" as const },
);

const piece = (rows: readonly (readonly string[])[], changed: Partial<CsvCall> = {}) => {
  const call = { ...CALL, ...changed, rows: rows.length };
  const text = [NAMES, ...rows].map((cells) => cells.join(call.delimiter)).join("\n");
  return { ...answerRecord(at(0), ""), request: call, body: Buffer.from(`${text}\n`) };
};

test("what is read plainly of made pieces, by maps of every kind, is the truth", () => {
  const reader = new PlainReader();
  let plain = 0;

  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), change, (rows, changed) => {
      if (expectTheTruth(reader, piece(rows, changed))) plain += 1;
    }),
    { numRuns: runs(2_000) },
  );

  expect(plain).toBeGreaterThan(runs(650));
});

test("and of a piece of which a byte is changed, dropped or doubled", () => {
  const reader = new PlainReader();
  const whole = piece([
    [`2026-11-18T14:30:00`, `IBM`, `"150.25"`, `-1.5`, `7`, `12`, ``],
    [`2026-11-18T14:31:00`, `"GE"`, `1`, `0.0`, ``, ``, `100`],
  ]);
  let plain = 0;
  const compare = (...parts: Uint8Array[]): void => {
    if (expectTheTruth(reader, { ...whole, body: Buffer.concat(parts) })) plain += 1;
  };

  whole.body.forEach((_, place) => {
    const [before, byte, after] = [
      whole.body.subarray(0, place),
      whole.body.subarray(place, place + 1),
      whole.body.subarray(place + 1),
    ];
    compare(before);
    compare(before, after);
    compare(before, byte, byte, after);
    for (const other of ['"', ",", "7", " ", "'", "\n", "\u00ff"])
      compare(before, Buffer.from(other, "latin1"), after);
  });

  expect(plain).toBeGreaterThan(500);
});

describe("a piece is read plainly", () => {
  const isPlain = (rows: readonly string[], changed: Partial<CsvCall> = {}) =>
    expectTheTruth(
      new PlainReader(),
      piece(
        rows.map((text) => text.split(",")),
        changed,
      ),
    );

  test("with rows that are odd, of which each costs itself alone", () => {
    expect(isPlain(["2026-11-18T14:30:00,IBM,1,,,,", "never,IBM,x", "2026-11-18T14:31:00,É,1,,,,"])).toBe(
      true,
    );
  });

  test("in the order of time, and with the newest row first", () => {
    const rows = [0, 1, 2].map((minute) => `2026-11-18T14:3${minute}:00,IBM,1,,,,`);

    expect([isPlain(rows), isPlain(rows.toReversed())]).toEqual([true, true]);
  });

  test("but not where two rows may stand for one instrument and time, where volumes are added up, or by a map that nobody can follow", () => {
    const twice = ["2026-11-18T14:30:00,IBM,1,,,,", "2026-11-18T14:30:00Z, IBM,2,,,,"];

    expect(isPlain(twice)).toBe(false);
    expect(isPlain(twice.slice(0, 1), { time: { ...CALL.time, timezone: "Nowhere/Land" } })).toBe(false);
    expect(isPlain(twice.slice(0, 1), { volumeOf: "bar" })).toBe(false);
  });
});

import { expect, test } from "@jest/globals";
import { table } from "../../../src/cli/terminal/table.ts";
import { widthOf } from "../../../src/cli/terminal/width.ts";

const COLUMNS = [{ heading: "Instrument" }, { heading: "Last", right: true }];

test("numbers of a table stand with their points below each other, text to the left; an absent value leaves its place empty", () => {
  const text = table(
    COLUMNS,
    [
      ["AAPL", "230.15"],
      ["GE", "-9.5"],
      ["BRK.A", "700000"],
      ["SIRI", null],
    ],
    { stdout: { isTTY: false }, env: {} },
  );

  expect(text).toBe(
    [
      "Instrument       Last",
      "AAPL           230.15",
      "GE              -9.5",
      "BRK.A       700000",
      "SIRI",
      "",
    ].join("\n"),
  );
});

test("a column that holds more than numbers is left as it is", () => {
  const text = table(
    COLUMNS,
    [
      ["AAPL", "0.05 %"],
      ["GE", "9.5 %"],
    ],
    { stdout: { isTTY: false }, env: {} },
  );

  expect(text).toBe(["Instrument    Last", "AAPL        0.05 %", "GE           9.5 %", ""].join("\n"));
});

test("headings of a table are bold on a terminal alone, and not there if NO_COLOR is set", () => {
  const rows = [["AAPL", "230.15"]];

  expect(table(COLUMNS, rows, { stdout: { isTTY: true }, env: {} })).toContain("\u001b[1m");
  expect(table(COLUMNS, rows, { stdout: { isTTY: true }, env: { NO_COLOR: "1" } })).not.toContain("\u001b");
  expect(table(COLUMNS, rows, { stdout: { isTTY: false }, env: {} })).not.toContain("\u001b");
});

const WIDE = [
  { heading: "Instrument", wrap: ":" },
  ...["Last", "Change", "Bid", "Ask", "Volume"].map((heading) => ({ heading, right: true })),
  { heading: "Observed (UTC)" },
];
const FIGURES = ["1234.5678", "-1234.56", "1234.5678", "1234.5678", "1234567890", "22:50:00 delayed"];

function widest(text: string): number {
  return Math.max(...text.split("\n").map(widthOf));
}

test("a wide character moves no column of a table", () => {
  const lines = table(
    COLUMNS,
    [
      ["日本株", "230.15"],
      ["AAPL", "9.50"],
    ],
    { stdout: { isTTY: false }, env: {} },
  ).split("\n");

  expect(widthOf(lines[1] ?? "")).toBe(widthOf(lines[2] ?? ""));
});

test("a contract's name goes on in the next line where the table would be wider than 80 columns", () => {
  const rows = [
    ["BRK.B:2026-12-18:CALL:1500.5", ...FIGURES],
    ["日本株日本株日本株:2026-12-18:PUT:5", ...FIGURES],
  ];

  const text = table(WIDE, rows, { stdout: { isTTY: false, columns: 80 }, env: {} });

  expect(widest(text)).toBeLessThanOrEqual(80);
  for (const figure of FIGURES) expect(text.split(figure)).toHaveLength(figure === "1234.5678" ? 7 : 3);
});

test("a contract's name stays whole where smaller gaps make room for it", () => {
  const row = ["AAPL:2026-12-18:CALL:390", "388.79", "-3.62", "388.72", "388.80", "4617575", "07:33:19"];

  const text = table(WIDE, [row], { stdout: { isTTY: false, columns: 80 }, env: {} });

  expect(widest(text)).toBeLessThanOrEqual(80);
  expect(text).toContain("AAPL:2026-12-18:CALL:390 388.79");
});

test("where even a wrapped table is too wide, each row is a block, and no number is cut", () => {
  const text = table(WIDE, [["AAPL", ...FIGURES]], { stdout: { isTTY: false, columns: 40 }, env: {} });

  expect(widest(text)).toBeLessThanOrEqual(40);
  expect(text).toMatch(/^AAPL\n {2}Last +1234\.5678\n/);
});

test("a table without a text that can go on stays as wide as it is", () => {
  const text = table(COLUMNS, [["AAPL", "230.15"]], { stdout: { isTTY: false, columns: 5 }, env: {} });

  expect(text).toMatch(/^AAPL +230\.15$/m);
});

import { expect, test } from "@jest/globals";
import { table } from "../../../src/cli/parts/table.ts";

const COLUMNS = [{ heading: "Instrument" }, { heading: "Last", right: true }];

test("numbers stand to the right, text to the left, and an absent value leaves its place empty", () => {
  const text = table(
    COLUMNS,
    [
      ["AAPL", "230.15"],
      ["GE", "9.5"],
      ["SIRI", null],
    ],
    { isTTY: false },
    {},
  );

  expect(text).toBe(
    ["Instrument    Last", "AAPL        230.15", "GE             9.5", "SIRI", ""].join("\n"),
  );
});

test("headings are bold on a terminal alone, and not there either when NO_COLOR is set", () => {
  const rows = [["AAPL", "230.15"]];

  expect(table(COLUMNS, rows, { isTTY: true }, {})).toContain("\u001b[1m");
  expect(table(COLUMNS, rows, { isTTY: true }, { NO_COLOR: "1" })).not.toContain("\u001b");
  expect(table(COLUMNS, rows, { isTTY: false }, {})).not.toContain("\u001b");
});

/** Values of cells: what a problem shows of them, and text that spreadsheets would take for formulas. */
import { expect, test } from "@jest/globals";
import { shown } from "../../src/read/cell.ts";
import { exact, harmless, harmlessSql } from "../../src/read/formula.ts";

test("a problem shows a value in quotes, the first 60 characters of a long one", () => {
  expect(shown('a "b"\n')).toBe('"a \\"b\\"\\n"');
  expect(shown("x".repeat(60))).toBe(`"${"x".repeat(60)}"`);
  expect(shown("x".repeat(61))).toBe(`"${"x".repeat(60)}..."`);
});

test.each([
  ["=1+1", "'=1+1"],
  ["+1", "'+1"],
  ["-1", "'-1"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\t=1", "'\t=1"],
  ["\r1", "'\r1"],
  ["'=1", "''=1"],
  ["''@", "'''@"],
])("text that a spreadsheet would take for a formula, %j, is written %j", (text, written) => {
  expect(harmless(text)).toBe(written);
  expect(exact(written)).toBe(text);
});

test.each(["", "AAPL", "'A", "1=1", "A-B", "'", " =1"])(
  "text that a spreadsheet takes for no formula, %j, is written as it is",
  (text) => {
    expect(harmless(text)).toBe(text);
    expect(exact(text)).toBe(text);
  },
);

test("text that a spreadsheet would take for a formula is written so by SQL as well, with the same pattern", () => {
  expect(harmlessSql("i.symbol")).toBe(
    String.raw`regexp_replace((i.symbol)::text, '^(''*[=+@\t\r-])', '''\1')`,
  );
});

/** Values of cells: products, what a problem shows of them, and text that spreadsheets would take for formulas. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { scaledBy, shown } from "../../src/read/cell.ts";
import { exact, harmless, harmlessSql } from "../../src/read/formula.ts";

test.each([
  ["270000", "0.001", "270"],
  ["-1.5E-3", "100", "-0.15"],
  ["0.1", "0.1", "0.01"],
  ["123456789012345678901234567890.5", "2", "246913578024691357802469135781"],
  ["5", "0.0001", "0.0005"],
  ["-5", "0.5", "-2.5"],
  ["1E3", "1.5", "1500"],
  ["-0", "7", "0"],
  ["0.00", "0.1", "0"],
])("%s by %s is %s, exactly", (text, factor, product) => {
  expect(scaledBy(text, factor)).toBe(product);
});

test("a product of whole cents is what whole numbers make it", () => {
  const cents = fc.integer({ min: -1_000_000, max: 1_000_000 });

  fc.assert(
    fc.property(cents, cents, (a, b) => {
      const product = Number(scaledBy((a / 100).toFixed(2), (b / 100).toFixed(2)));
      expect(Math.round(product * 10_000) + 0).toBe(a * b + 0);
    }),
  );
});

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

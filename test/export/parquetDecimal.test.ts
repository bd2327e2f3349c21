import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { valueReader } from "../../src/export/copiedRows.ts";
import { COMMON_DECIMAL, digitsOf, scaledDecimal, widened } from "../../src/export/parquetDecimal.ts";
import { freshDatabase } from "../support/database.ts";

test.each([
  ["150.10", 15_010_000_000n],
  ["-3.00", -300_000_000n],
  ["-0.0000030", -300n],
  ["0", 0n],
  ["9999999999.99999999", 999_999_999_999_999_999n],
  ["0.123456780000", 12_345_678n],
])("%s keeps every digit as a whole number and a scale", (text, value) => {
  expect(scaledDecimal(text, COMMON_DECIMAL)).toBe(value);
});

test.each(["0.000000001", "10000000000", "-10000000000", "NaN", "Infinity", "-Infinity"])(
  "%s does not fit ten digits before and eight behind the point, and is not rounded",
  (text) => {
    expect(scaledDecimal(text, COMMON_DECIMAL)).toBeNull();
  },
);

test("a decimal of any digits is the whole number that its text says", () => {
  const decimals = fc
    .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }), fc.stringMatching(/^\d{0,18}$/))
    .map(([minus, whole, fraction]) => `${minus ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`);

  fc.assert(
    fc.property(decimals, (text) => {
      const value = scaledDecimal(text, { precision: 38, scale: 18 });

      expect(value).not.toBeNull();
      expect(Number.isNaN(Number(text))).toBe(false);
      const [, minus = "", whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
      expect(value).toBe(BigInt(`${minus}${whole}${fraction.padEnd(18, "0")}`));
    }),
  );
});

test("a type that is too narrow gets twenty digits before and eighteen behind the point where they are enough", () => {
  expect(widened(COMMON_DECIMAL, { whole: 1, fraction: 9 })).toEqual({ precision: 38, scale: 18 });
  expect(widened(COMMON_DECIMAL, { whole: 20, fraction: 0 })).toEqual({ precision: 38, scale: 18 });
});

test("a type loses digits that no value needs before the export fails", () => {
  expect(widened(COMMON_DECIMAL, { whole: 0, fraction: 30 })).toEqual({ precision: 38, scale: 30 });
  expect(widened(COMMON_DECIMAL, { whole: 25, fraction: 13 })).toEqual({ precision: 38, scale: 13 });
  expect(widened(COMMON_DECIMAL, { whole: 25, fraction: 14 })).toBeNull();
});

test("a widened type holds every value that it was widened for", () => {
  const digits = fc.integer({ min: 0, max: 38 });
  fc.assert(
    fc.property(digits, digits, (whole, fraction) => {
      fc.pre(whole + fraction <= 38 && whole + fraction > 0);

      const type = widened(COMMON_DECIMAL, { whole, fraction });

      const text = `${whole > 0 ? "9".repeat(whole) : "0"}${fraction > 0 ? `.${"9".repeat(fraction)}` : ""}`;
      expect(type).not.toBeNull();
      expect(type && scaledDecimal(text, type)).not.toBeNull();
    }),
  );
});

test("the digits of a decimal are counted without zeros that mean nothing", () => {
  expect(digitsOf("-0150.100")).toEqual({ whole: 3, fraction: 1 });
  expect(digitsOf("NaN")).toBeNull();
});

test("PostgreSQL's binary decimals are read as the numbers that its text says", async () => {
  const digits = fc.stringMatching(/^\d{1,24}$/);
  const decimals = fc.tuple(fc.boolean(), digits, fc.stringMatching(/^\d{0,20}$/));
  const sample = fc
    .sample(decimals, 3_000)
    .map(([minus, whole, part]) => `${minus ? "-" : ""}${whole}.${part}0`);
  const edges = [
    "0",
    "-0.00000001",
    "90071992.54740991",
    "90071992.54740992",
    "99999999.99999999",
    "0.000000001",
  ];
  const { pool } = await freshDatabase({ migrated: false });

  const { rows } = await pool.query<{ text: string; bytes: Buffer }>(
    "select n::text as text, numeric_send(n) as bytes from unnest($1::numeric[]) n",
    [[...sample, ...edges, "1e20", "1e-12", "NaN", "Infinity", "-Infinity"]],
  );

  const types = [COMMON_DECIMAL, { precision: 18, scale: 4 }, { precision: 38, scale: 18 }];
  for (const type of types) {
    const tooWide: string[] = [];
    const read = valueReader({ name: "bid", kind: "decimal" }, type, (text) => tooWide.push(text));
    const values = rows.map(({ bytes }) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      return read({ bytes, view, places: new Int32Array(0), count: 1 }, 0);
    });

    const expected = rows.map(({ text }) => scaledDecimal(text, type));
    expect(values).toEqual(expected);
    expect(values.filter((value) => value !== null).length).toBeGreaterThan(5);
    const wide = { precision: 60, scale: 30 };
    const same = (text: string): string => String(scaledDecimal(text, wide) ?? text);
    expect(tooWide.map(same)).toEqual(
      rows.flatMap(({ text }, place) => (expected[place] === null ? [same(text)] : [])),
    );
  }
});

import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  commonDecimal,
  COMMON_DECIMAL,
  digitsOf,
  numericText,
  scaledDecimal,
  widened,
} from "../../src/export/parquetDecimal.ts";
import { freshDatabase } from "../support/database.ts";

describe("a decimal as a whole number and a scale", () => {
  test.each([
    ["150.10", 15_010_000_000n],
    ["-3.00", -300_000_000n],
    ["-0.0000030", -300n],
    ["0", 0n],
    ["9999999999.99999999", 999_999_999_999_999_999n],
    ["0.123456780000", 12_345_678n],
  ])("%s keeps every digit", (text, value) => {
    expect(scaledDecimal(text, COMMON_DECIMAL)).toBe(value);
  });

  test.each(["0.000000001", "10000000000", "-10000000000", "NaN", "Infinity", "-Infinity"])(
    "%s does not fit ten digits before and eight behind the point, and is never rounded to",
    (text) => {
      expect(scaledDecimal(text, COMMON_DECIMAL)).toBeNull();
    },
  );

  test("comes back as the text it was made of, whatever the digits", () => {
    const decimals = fc
      .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }), fc.stringMatching(/^\d{0,18}$/))
      .map(
        ([minus, whole, fraction]) => `${minus ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`,
      );

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
});

describe("a type that is too narrow", () => {
  test("gets twenty digits before and eighteen behind the point, if that is enough", () => {
    expect(widened(COMMON_DECIMAL, { whole: 1, fraction: 9 })).toEqual({ precision: 38, scale: 18 });
    expect(widened(COMMON_DECIMAL, { whole: 20, fraction: 0 })).toEqual({ precision: 38, scale: 18 });
  });

  test("gives up room that no value needs before it gives up", () => {
    expect(widened(COMMON_DECIMAL, { whole: 0, fraction: 30 })).toEqual({ precision: 38, scale: 30 });
    expect(widened(COMMON_DECIMAL, { whole: 25, fraction: 13 })).toEqual({ precision: 38, scale: 13 });
    expect(widened(COMMON_DECIMAL, { whole: 25, fraction: 14 })).toBeNull();
  });

  test("always holds what it was widened for", () => {
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

  test("is measured without the zeros that mean nothing", () => {
    expect(digitsOf("-0150.100")).toEqual({ whole: 3, fraction: 1 });
    expect(digitsOf("NaN")).toBeNull();
  });
});

test("PostgreSQL's binary decimals are the numbers that its text says", async () => {
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

  const wrong = rows.filter(({ text, bytes }) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const wide = { precision: 60, scale: 30 };
    const common = commonDecimal(view, 0);
    const same = scaledDecimal(numericText(view, 0), wide) === scaledDecimal(text, wide);
    const quick = common === null || BigInt(common) === scaledDecimal(text, COMMON_DECIMAL);
    return !same || !quick || (scaledDecimal(text, wide) === null && numericText(view, 0) !== text);
  });
  expect(wrong).toEqual([]);
  expect(
    rows.filter(({ bytes }) => commonDecimal(new DataView(bytes.buffer, bytes.byteOffset), 0) !== null)
      .length,
  ).toBeGreaterThan(5);
});

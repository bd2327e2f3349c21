import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { canonicalDecimal, HELD_DIGITS, readDecimal, readInteger } from "../../src/quotes/decimal.ts";
import { decimal as otherDecimal } from "../support/secondOpinion.ts";

test.each([
  ["346.66", "346.66"],
  ["0.0450", "0.0450"],
  ["-4.0", "-4.0"],
  ["+1.5", "+1.5"],
  [".5", ".5"],
  [".55", ".55"],
  ["8.", "8."],
  ["007", "007"],
  ["-3.0E-6", "-3.0E-6"],
  ["2.68e0", "2.68e0"],
  ["  61.4 ", "61.4"],
  ["123456789012345.12345678901234567890123", "123456789012345.12345678901234567890123"],
  ["1.7976931348623157E14", "1.7976931348623157E14"],
  ["1.2345678901234567E-7", "1.2345678901234567E-7"],
  ["00000000000000000001.50000000000000000000000000", "00000000000000000001.50000000000000000000000000"],
])("a decimal is kept as the text the service wrote: %s", (text, kept) => {
  expect(readDecimal(text)).toEqual({ ok: true, value: kept });
});

test.each([
  ["21,261,045", "21261045"],
  ["-1,523.00", "-1523.00"],
])("a decimal loses its separators: %s", (text, kept) => {
  expect(readDecimal(text)).toEqual({ ok: true, value: kept });
});

test.each([
  ["3.4567890123456789E-30", "0"],
  ["-3.4567890123456789E-30", "0"],
  ["1E-400", "0"],
  ["1.2345678901234567e-15", "0.00000000000000123456789"],
  ["0.000000000000000000000005", "0.00000000000000000000001"],
  ["-0.000000000000000000000005", "-0.00000000000000000000001"],
  ["0.0000000000000000000000049", "0"],
  ["149.999999999999999999999999", "150"],
  ["0.123456789012345678901234", "0.12345678901234567890123"],
])("a decimal has 23 digits behind its point at most, rounded as PostgreSQL rounds: %s", (text, held) => {
  expect(readDecimal(text)).toEqual({ ok: true, value: held });
});

test.each([
  "1.7976931348623157E308",
  "1E15",
  "-1E15",
  "1234567890123456",
  "123456789012345678901234567890.12",
  "999999999999999.999999999999999999999999",
])("a decimal that is too large for a column is no price, but damage: %s", (text) => {
  expect(readDecimal(text)).toMatchObject({
    ...{ ok: false, problem: expect.stringContaining("has more than 15 digits before the point") },
  });
});

test.each(["4.9E-324", "4.9e-324", "49E-325", `0.${"0".repeat(323)}49`])(
  "a decimal that is the smallest double is no value: %s",
  (text) => {
    expect(readDecimal(text)).toMatchObject({
      ...{ ok: false, problem: expect.stringContaining("is the smallest double, which is no value") },
    });
  },
);

test.each(["", "  ", "na", "NA", "n/a", "null", "NULL", "NaN"])(
  "a decimal that is %p is absent, which is not 0",
  (text) => {
    expect(readDecimal(text)).toEqual({ ok: true, value: null });
  },
);

test.each([
  "61..4",
  "1,23",
  "1,2345",
  "0,123",
  "2.00%",
  "(5)",
  "\u22125",
  "x1,234",
  ".",
  "-",
  "12,345E3",
  "--1",
  "1e",
  "0x10",
  "Infinity",
  "$5",
  "1 2",
  "٣",
  "1_000",
])("a decimal is not read out of %p", (text) => {
  expect(readDecimal(text)).toMatchObject({ ok: false, problem: expect.stringContaining("not a decimal") });
});

test("a decimal with an exponent beyond 400, or of more than 400 characters, is damage", () => {
  expect(readDecimal("1E401")).toMatchObject({ ok: false, problem: expect.stringContaining("exponent") });
  expect(readDecimal("1E-400")).toMatchObject({ ok: true });
  expect(readDecimal("1".repeat(401))).toEqual({
    ok: false,
    problem: `"${"1".repeat(40)}..." has 401 characters`,
  });
});

test("a decimal that cannot be read is quoted by its first 40 characters only", () => {
  expect(readDecimal("x".repeat(400))).toEqual({
    ok: false,
    problem: `"${"x".repeat(40)}" is not a decimal number`,
  });
});

test.each([
  ["9440588", "9440588"],
  ["9440588.0", "9440588"],
  ["9440588.00", "9440588"],
  ["1.2E7", "12000000"],
  ["1200E-2", "12"],
  ["0.0", "0"],
  ["0E-3", "0"],
  ["007", "7"],
  ["-5", "-5"],
  ["-9223372036854775807", "-9223372036854775807"],
  ["9007199254740993", "9007199254740993"],
  ["9223372036854775807", "9223372036854775807"],
])("the count %s is %s", (text, value) => {
  expect(readInteger(text)).toEqual({ ok: true, value });
});

test.each(["", " ", "na", "null", "NaN"])("a count that is %p is absent, which is not 0", (text) => {
  expect(readInteger(text)).toEqual({ ok: true, value: null });
});

test("a count with a fraction is refused", () => {
  expect(readInteger("12.5")).toEqual({ ok: false, problem: '"12.5" is not a whole number' });
  expect(readInteger("1E-1")).toMatchObject({ ok: false });
});

test.each(["-", ".", "--", "1.2.3", "12 34"])("a count is not read out of %p", (text) => {
  expect(readInteger(text)).toMatchObject({ ok: false, problem: expect.stringContaining("not a decimal") });
});

test("a count beyond 64 bits is refused", () => {
  expect(readInteger("9223372036854775808")).toMatchObject({ ok: false });
  expect(readInteger("-9223372036854775808")).toMatchObject({ ok: false });
  expect(readInteger("1E400")).toMatchObject({ ok: false });
});

test("a number with an exponent is held as it is written while its digits fit, and is else the nearest number that does, or refused", () => {
  const text = fc.stringMatching(/^-?\d{1,17}(\.\d{1,25})?[eE][-+]?\d{1,2}$/);
  fc.assert(
    fc.property(text, (written) => {
      const read = readDecimal(written);

      // Reckoned in whole units of the last digit held, without the reader's own words.
      const [, sign = "", whole = "", fraction = "", exponent = ""] =
        /^(-?)(\d+)(?:\.(\d+))?[eE](.*)$/.exec(written) ?? [];
      const shift = HELD_DIGITS.fraction - fraction.length + Number(exponent);
      const digits = BigInt(whole + fraction);
      const power = 10n ** BigInt(Math.abs(shift));
      const units = shift >= 0 ? digits * power : (2n * digits + power) / (2n * power);
      const isHeld = units < 10n ** BigInt(HELD_DIGITS.whole + HELD_DIGITS.fraction);
      const [held = "", behind = ""] = read.ok
        ? canonicalDecimal(read.value ?? "")
            .replace("-", "")
            .split(".")
        : [];
      expect(read.ok).toBe(isHeld);
      if (!read.ok) return;
      expect(BigInt(held + behind.padEnd(HELD_DIGITS.fraction, "0"))).toBe(units);
      expect(read.value?.startsWith("-") === (sign === "-") || units === 0n).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("digits in any number, with a point or a sign anywhere, are the number they say or none", () => {
  const text = fc.stringMatching(/^[-+]?\d{0,22}[-.+]?\d{0,3}$/);

  fc.assert(
    fc.property(text, (written) => {
      const isNumber = /^[-+]?(\d+\.?\d*|\.\d+)$/.test(written);
      const value = written === "" ? null : written;
      const isHeld = written.replace(/^[-+]?0*|\..*/g, "").length <= 15;
      expect(readDecimal(written)).toEqual(
        (isNumber && isHeld) || value === null ? { ok: true, value } : expect.objectContaining({ ok: false }),
      );
      const isCount = /^[-+]?\d+$/.test(written) && BigInt.asIntN(64, BigInt(written)) === BigInt(written);
      if (isCount) expect(readInteger(written)).toEqual({ ok: true, value: BigInt(written).toString() });
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["285", "285"],
  ["285.0", "285"],
  ["0285.00", "285"],
  ["00285", "285"],
  [" 285 ", "285"],
  ["2.85E2", "285"],
  ["1E10", "10000000000"],
  ["2.85E+1", "28.5"],
  ["-3.0E-6", "-0.000003"],
  [".5", "0.5"],
  ["-0.0", "0"],
  ["120.50", "120.5"],
  ["not a number", "not a number"],
  ["x285", "x285"],
  ["285x", "285x"],
  ["", ""],
  ["-.", "-."],
])("the canonical text of a number of %s is %s", (text, canonical) => {
  expect(canonicalDecimal(text)).toBe(canonical);
});

test("the canonical text of a number is the same for equal numbers however they are written", () => {
  const number = fc
    .tuple(
      fc.boolean(),
      fc.stringMatching(/^\d{1,12}$/),
      fc.stringMatching(/^\d{0,12}$/),
      fc.integer({ min: -30, max: 30 }),
    )
    .map(([minus, whole, fraction, power]) => `${minus ? "-" : ""}${whole}.${fraction}E${power}`);

  fc.assert(
    fc.property(number, (text) => {
      expect(otherDecimal(canonicalDecimal(text))).toBe(otherDecimal(text));
      expect(canonicalDecimal(canonicalDecimal(text))).toBe(canonicalDecimal(text));
    }),
  );
});

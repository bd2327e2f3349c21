import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { optionValue } from "../../../src/serve/simulated/blackScholes.ts";
import { centsText, decimalText } from "../../../src/serve/simulated/decimalText.ts";
import { chance, noise, seedOf } from "../../../src/serve/simulated/hash.ts";

test.each([
  [34_666, "346.66"],
  [31_900, "319.0"],
  [3_070, "30.7"],
  [-400, "-4.0"],
  [-5, "-0.05"],
  [0, "0.0"],
  [73_000_000, "730000.0"],
])("%d cents are written %s", (cents, text) => {
  expect(centsText(cents)).toBe(text);
});

test.each([
  [-0.000003, "-3.0E-6"],
  [0.0001234, "1.23E-4"],
  [0.001, "0.001"],
  [0.9999964, "0.999996"],
  [-0.0000001, "0.0"],
  [12_345_678, "1.2345678E7"],
])("the number %d is written %s to six decimals, as Java writes a double", (value, text) => {
  expect(decimalText(value, 6)).toBe(text);
});

test("the text of cents gives the same cents", () => {
  fc.assert(
    fc.property(fc.integer({ min: -99_999_999, max: 99_999_999 }), (cents) => {
      expect(Math.round(Number(centsText(cents)) * 100)).toBe(cents);
    }),
  );
});

const terms = {
  optionType: "CALL",
  spot: 100,
  strike: 100,
  years: 1,
  volatility: 0.2,
  rate: 0.05,
} as const;

test("a textbook option has its textbook value", () => {
  expect(optionValue(terms).value).toBeCloseTo(10.450584, 6);
  expect(optionValue(terms).delta).toBeCloseTo(0.636831, 6);
  expect(optionValue({ ...terms, optionType: "PUT" }).value).toBeCloseTo(5.573526, 6);
});

test("the normal distribution function has its tabled values, also far out", () => {
  // The delta of a call is the share of the normal distribution below d1, which is x here.
  const below = (x: number): number =>
    optionValue({ ...terms, rate: 0, spot: 100 * Math.exp(0.2 * x - 0.02) }).delta;

  expect(below(0)).toBeCloseTo(0.5, 14);
  expect(below(1.96)).toBeCloseTo(0.9750021048517795, 13);
  expect(below(-8) / 6.220960574271785e-16).toBeCloseTo(1, 6);
  expect([below(-40), below(40)]).toEqual([0, 1]);
});

test("a call rises with the spot and falls with the strike, never below its intrinsic value", () => {
  const spot = fc.double({ min: 1, max: 1000, noNaN: true });
  fc.assert(
    fc.property(spot, spot, spot, fc.double({ min: 0.0001, max: 5, noNaN: true }), (a, b, strike, years) => {
      const value = (at: number) => optionValue({ ...terms, spot: at, strike, years }).value;

      expect(value(Math.max(a, b))).toBeGreaterThanOrEqual(value(Math.min(a, b)) - 1e-9);
      expect(value(a)).toBeGreaterThanOrEqual(a - strike - 1e-9);
    }),
  );
});

test("an option is worth its intrinsic value at the moment of expiration", () => {
  expect(optionValue({ ...terms, spot: 110, years: 0 }).value).toBeCloseTo(10, 4);
  expect(optionValue({ ...terms, spot: 90, years: -1 }).value).toBeCloseTo(0, 6);
});

test("chance is the same for the same seed and index, and evenly spread", () => {
  const seed = seedOf("AAPL");
  const draws = Array.from({ length: 10_000 }, (_, i) => chance(seed, i));

  expect(chance(seed, 7)).toBe(draws[7]);
  expect(draws.every((draw) => draw >= 0 && draw < 1)).toBe(true);
  for (let tenth = 0; tenth < 10; tenth++) {
    const count = draws.filter((draw) => Math.floor(draw * 10) === tenth).length;
    expect(Math.abs(count - 1_000)).toBeLessThan(150);
  }
});

test("noise stays within -1 and 1 and has no jumps", () => {
  fc.assert(
    fc.property(fc.integer(), fc.double({ min: -1e5, max: 1e5, noNaN: true }), (seed, x) => {
      expect(Math.abs(noise(seed, x))).toBeLessThanOrEqual(1);
      expect(Math.abs(noise(seed, x + 1e-4) - noise(seed, x))).toBeLessThan(1e-3);
    }),
  );
});

import { expect, test } from "@jest/globals";
import {
  aligned,
  bytes,
  counted,
  direction,
  percent,
  placesOf,
  price,
  pricePlaces,
  signed,
  thousands,
} from "../../src/ground/figures.ts";

test("a figure has commas between thousands and a true minus; an absent value is a dash, never 0", () => {
  expect(["1234567", 1_234, "123", "-0.47", "-1234.5", "-0.00", null].map(thousands)).toEqual([
    ...["1,234,567", "1,234", "123", "\u22120.47", "\u22121,234.5", "0.00", "–"],
  ]);
  expect(["4.9E-324", "NaN", ""].map(thousands)).toEqual(["4.9E-324", "NaN", ""]);
});

test("a price is shown with two decimals, or with as many as its instrument has, and no digit is cut", () => {
  const places = pricePlaces(["0.305", "0.3", null]);

  expect(["382.2", "382", "1062.9", "2489.3751", null].map((text) => price(text))).toEqual([
    ...["382.20", "382.00", "1,062.90", "2,489.3751", "–"],
  ]);
  expect(["0.305", "0.3", "1", "0.12345"].map((text) => price(text, places))).toEqual([
    ...["0.305", "0.300", "1.000", "0.12345"],
  ]);
});

test("a change is shown with its sign and a tone; percent stands behind a blank", () => {
  expect(["2.6", "-0.3", "0", "0.00"].map((text) => signed(price(text)))).toEqual([
    ...["+2.60", "\u22120.30", "0.00", "0.00"],
  ]);
  expect([signed(percent(0.5)), signed(percent("-0.47")), percent(99.94, 1), percent(-0.001)]).toEqual([
    ...["+0.50 %", "\u22120.47 %", "99.9 %", "0.00 %"],
  ]);
  expect(["0.01", "-0.01", "0.00", null].map(direction)).toEqual(["up", "down", "", ""]);
});

test("the figures of a column stand with their points below one another", () => {
  const texts = ["1.50", "22.2503", "–", "3.00"];

  expect(texts.map((text) => aligned(text, placesOf(texts)))).toEqual([
    ...["1.50\u2007\u2007", "22.2503", "–", "3.00\u2007\u2007"],
  ]);
});

test("a count says what it counts, one or many", () => {
  expect([counted(1, "instrument"), counted(1_440, "poll"), counted(0, "miss", "misses")]).toEqual([
    ...["1 instrument", "1,440 polls", "0 misses"],
  ]);
});

test("a size is shown with its unit", () => {
  expect([999, 1_500, 2_500_000, 3_210_000_000, 2_000_000_000_000].map(bytes)).toEqual([
    ...["999 B", "1.5 kB", "2.5 MB", "3.2 GB", "2,000.0 GB"],
  ]);
});

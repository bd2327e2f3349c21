import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { COLUMNS, columnsOf } from "../../src/web/app/lib/chainColumns.ts";
import { linearAxis } from "../../src/web/app/lib/axes.ts";
import { smileCurves, termCurve, usualBand } from "../../src/web/app/lib/curves.ts";
import { windowOf } from "../../src/web/app/lib/rowWindow.ts";
import { contract } from "./contract.ts";

const CONTRACTS = [
  contract("110", "CALL", { ivMid: 0.3, ivBid: 0.28, ivAsk: 0.32, moneyness: 0.9 }),
  contract("95", "CALL", { ivMid: 0.35, ivAsk: 0.4, moneyness: 1.05 }),
  contract("100", "CALL", { ivAsk: 0.4, moneyness: 1 }),
  contract("95", "PUT", { ivMid: 0.36, ivBid: 0.35, ivAsk: 0.37, moneyness: 1.05 }),
];

test("a smile has the volatilities of calls and puts in percent, by strike; contracts without one are no points", () => {
  expect(smileCurves(CONTRACTS, "strike")).toEqual([
    {
      name: "Calls",
      tone: "call",
      points: [
        { x: 95, y: 35, bid: null, ask: 40 },
        { x: 110, y: 30, bid: 28.000000000000004, ask: 32 },
      ],
    },
    { name: "Puts", tone: "put", points: [{ x: 95, y: 36, bid: 35, ask: 37 }] },
  ]);
});

test("a smile against moneyness begins with the calls that are far out of the money", () => {
  expect(smileCurves(CONTRACTS, "moneyness")[0]?.points.map(({ x }) => x)).toEqual([0.9, 1.05]);
});

test("the term structure is drawn against the days that are left, or the hours", () => {
  const point = { expiration: "2026-12-18", strike: "100", years: 0.2, ivBid: null, ivMid: 0.25, ivAsk: 0.3 };

  expect(termCurve([point], 365).points).toEqual([{ x: 73, y: 25, bid: null, ask: 30 }]);
  expect(termCurve([point], 365 * 24).points[0]?.x).toBe(1_752);
});

test("a band is usually as wide as the median of its known sides", () => {
  const point = { x: 1, y: 30 };

  expect(
    usualBand([
      { ...point, bid: 29, ask: 33 },
      { ...point, bid: null, ask: 90 },
    ]),
  ).toBe(3);
  expect(usualBand([{ ...point, bid: null, ask: null }])).toBe(0);
});

test("a picture of curves has a linear axis: values lie where they belong, within a thousandth of its width, inside both ends", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.01, max: 99_999, noNaN: true }), { minLength: 1, maxLength: 50 }),
      (values) => {
        const { places, placeOf } = linearAxis(values);
        const [first = 0, second = 0, last = 0] = [places[0], places[1], places.at(-1)];
        const width = last - first;
        const bent = places.map((place, at) => Math.abs(place - first - at * (second - first)) / width);
        const away = values.map((value) => Math.abs(placeOf(value) - value) / width);
        expect(places.length).toBeLessThanOrEqual(4_003);
        expect(Math.max(...bent)).toBeLessThan(1e-6);
        expect(Math.max(...away)).toBeLessThan(1e-3);
        expect(values.map(placeOf).every((place) => places.slice(1, -1).includes(place))).toBe(true);
      },
    ),
    { examples: [[[0.01, 0.010000000000000002]]] },
  );
});

test("strikes with few decimals have their exact places", () => {
  const strikes = [360, 392.5, 391.3, 420];

  expect(strikes.map(linearAxis(strikes).placeOf)).toEqual(strikes);
});

test("columns of a chain stand in one order, whatever order the address has; unknown ones are passed over", () => {
  expect(columnsOf("ask,nonsense,iv", "wide").map(({ key }) => key)).toEqual(["iv", "ask"]);
  expect(columnsOf("nonsense", "narrow").map(({ key }) => key)).toEqual(["iv", "delta", "bid", "ask"]);
  expect(columnsOf("", "wide")).toHaveLength(7);
});

test("columns of a chain show theta by day and vega by point, and the service's delta as it came", () => {
  const of = contract("100", "CALL", { theta: -36.5, vega: 12.34, serviceDelta: "0.5", ivMid: 0.31419 });
  const text = (key: string): string | undefined => COLUMNS.find((each) => each.key === key)?.text(of);

  expect(["theta", "vega", "service-delta", "iv", "delta"].map(text)).toEqual([
    "−0.100",
    "0.123",
    "0.500",
    "31.42",
    "–",
  ]);
});

test("of many rows, those that are seen are drawn, and a few around them", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5_000 }),
      fc.integer({ min: 28, max: 900 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (count, height, share) => {
        const top = Math.floor(share * Math.max(0, count * 28 - height));
        const { from, to } = windowOf({ top, bottom: top + height, height: 28 }, count);
        const seen = { first: Math.floor(top / 28), end: Math.min(count, Math.ceil((top + height) / 28)) };

        expect(from).toBeLessThanOrEqual(seen.first);
        expect(to).toBeGreaterThanOrEqual(seen.end);
        expect(from).toBeGreaterThanOrEqual(0);
        expect(to - from).toBeLessThanOrEqual(Math.ceil(height / 28) + 18);
      },
    ),
  );
});

import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Contract } from "../../src/web/api/types.ts";
import { COLUMNS, columnsOf } from "../../src/web/app/lib/chainColumns.ts";
import {
  bandPath,
  linePath,
  MARGIN,
  nearest,
  scaleOf,
  scalesOf,
  ticksOf,
} from "../../src/web/app/lib/plot.ts";
import { smileLines, termLine } from "../../src/web/app/lib/smile.ts";
import { windowOf } from "../../src/web/app/lib/rowWindow.ts";

const contract = (strike: string, optionType: "CALL" | "PUT", fields: Partial<Contract> = {}): Contract => ({
  ...{ instrument: "", strike, optionType, observedAt: "", bid: null, ask: null, mid: null, last: null },
  ...{ volume: null, spot: null, moneyness: null, ivBid: null, ivMid: null, ivAsk: null },
  ...{ delta: null, gamma: null, vega: null, theta: null, serviceDelta: null },
  ...fields,
});

describe("a smile", () => {
  const contracts = [
    contract("110", "CALL", { ivMid: 0.3, ivBid: 0.28, ivAsk: 0.32, moneyness: 0.9 }),
    contract("95", "CALL", { ivMid: 0.35, ivAsk: 0.4, moneyness: 1.05 }),
    contract("100", "CALL", { ivAsk: 0.4, moneyness: 1 }),
    contract("95", "PUT", { ivMid: 0.36, ivBid: 0.35, ivAsk: 0.37, moneyness: 1.05 }),
  ];

  test("has the volatilities of calls and puts in percent, by strike; contracts without one are no points", () => {
    expect(smileLines(contracts, "strike")).toEqual([
      {
        ...{ name: "Calls", tone: "call" },
        points: [
          { x: 95, y: 35, low: null, high: 40 },
          { x: 110, y: 30, low: 28.000000000000004, high: 32 },
        ],
      },
      { name: "Puts", tone: "put", points: [{ x: 95, y: 36, low: 35, high: 37 }] },
    ]);
  });

  test("against moneyness begins with what is far out of the money for calls", () => {
    expect(smileLines(contracts, "moneyness")[0]?.points.map(({ x }) => x)).toEqual([0.9, 1.05]);
  });
});

test("the term structure is drawn against days", () => {
  const point = { expiration: "2026-12-18", strike: "100", ivBid: null, ivMid: 0.25, ivAsk: 0.3 };

  expect(termLine([{ ...point, years: 0.2 }]).points).toEqual([{ x: 73, y: 25, low: null, high: 30 }]);
});

describe("a picture", () => {
  const line = (...points: [number, number][]) => ({
    ...{ name: "Calls", tone: "call" as const },
    points: points.map(([x, y]) => ({ x, y, low: y - 1, high: y + 1 })),
  });

  test("has all points within its margins, greater values further right and further up", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 9_999 }), fc.integer({ min: 1, max: 400 })), {
          minLength: 1,
        }),
        (points) => {
          const { x, y } = scalesOf([line(...points)], { width: 500, height: 200 });
          for (const [a, b] of points) {
            expect(x.at(a)).toBeGreaterThanOrEqual(MARGIN.left);
            expect(x.at(a)).toBeLessThanOrEqual(500 - MARGIN.right);
            expect(y.at(b)).toBeGreaterThanOrEqual(MARGIN.top);
            expect(y.at(b)).toBeLessThanOrEqual(200 - MARGIN.bottom);
          }
          expect(x.at(2)).toBeGreaterThan(x.at(1));
          expect(y.at(2)).toBeLessThan(y.at(1));
        },
      ),
    );
  });

  test("has round ticks on its scale, no more than fit", () => {
    const ticks = (values: number[], most: number): number[] => ticksOf(scaleOf(values, [0, 100], 0), most);

    expect(ticks([380, 412], 8)).toEqual([380, 385, 390, 395, 400, 405, 410]);
    expect(ticks([0.9, 1.1], 5)).toEqual([0.9, 0.95, 1, 1.05, 1.1]);
    expect(ticks([28.1, 31.9], 3)).toEqual([30]);
  });

  test("goes from point to point, and its band around those of which both sides are known", () => {
    const scale = { from: 0, to: 10, at: (value: number) => value };
    const scales = { x: scale, y: scale };
    const points = [
      { x: 1, y: 5, low: 4, high: 6 },
      { x: 2, y: 5, low: 3, high: 7 },
      { x: 3, y: 5, low: null, high: 7 },
      { x: 4, y: 5, low: 4, high: 6 },
    ];

    expect(linePath(points, scales)).toBe("M1.0,5.0L2.0,5.0L3.0,5.0L4.0,5.0");
    expect(bandPath(points, scales)).toBe("M1.0,6.0L2.0,7.0L2.0,3.0L1.0,4.0Z");
  });

  test("knows which point is nearest to the pointer", () => {
    const scale = { from: 0, to: 10, at: (value: number) => value * 10 };

    expect(nearest([line([1, 1], [5, 1]), line([3, 1])], scale, 38)).toBe(3);
    expect(nearest([], scale, 38)).toBeNull();
  });
});

describe("columns of a chain", () => {
  test("stand in one order, whatever order the address has; unknown ones are passed over", () => {
    expect(columnsOf("ask,nonsense,iv", "wide").map(({ key }) => key)).toEqual(["iv", "ask"]);
    expect(columnsOf("nonsense", "narrow").map(({ key }) => key)).toEqual(["iv", "delta", "bid", "ask"]);
    expect(columnsOf("", "wide")).toHaveLength(7);
  });

  test("show theta by day and vega by point, and the service's delta as it came", () => {
    const of = contract("100", "CALL", { theta: -36.5, vega: 12.34, serviceDelta: "0.5", ivMid: 0.31419 });
    const text = (key: string): string | undefined => COLUMNS.find((each) => each.key === key)?.text(of);

    expect(["theta", "vega", "service-delta", "iv", "delta"].map(text)).toEqual([
      ...["−0.100", "0.123", "0.500", "31.42", "–"],
    ]);
  });
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

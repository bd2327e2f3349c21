/** What the chain's view makes of a chain: rows around the money, stops of its slider, columns, and pictures. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  atTheMoney,
  columnsOf,
  nearTheMoney,
  stopAt,
  stopsOf,
  strikeRows,
} from "../../src/web/app/lib/chainColumns.ts";
import { axisOf, isVague, smileCurves, termCurve, usualBand } from "../../src/web/app/lib/curves.ts";
import { contract } from "./contract.ts";

test("a chain has calls and puts of a strike side by side, by the number and not by the text", () => {
  const rows = strikeRows([contract("100", "CALL"), contract("95", "PUT"), contract("95", "CALL")]);

  expect(rows.map(({ strike, call, put }) => [strike, call !== null, put !== null])).toEqual([
    ["95", true, true],
    ["100", true, false],
  ]);
  expect(atTheMoney(rows, "97.6")).toBe("100");
  expect(atTheMoney(rows, null)).toBeNull();
});

test("a chain shows 12 strikes on each side of the money, fewer at its ends, and all where the money is not known", () => {
  const rows = strikeRows(Array.from({ length: 40 }, (_, place) => contract(String(100 + place), "CALL")));
  const shown = (money: string | null): (string | number | undefined)[] => {
    const near = nearTheMoney(rows, money);
    return [near[0]?.strike, near.at(-1)?.strike, near.length];
  };

  expect(shown("120")).toEqual(["108", "132", 25]);
  expect(shown("103")).toEqual(["100", "115", 16]);
  expect(shown("139")).toEqual(["127", "139", 13]);
  expect(shown(null)).toEqual(["100", "139", 40]);
});

test("a chain has a slider with a stop for each minute that was observed, the last one being now", () => {
  const stops = stopsOf([
    { date: "2026-11-19", from: "2026-11-19T15:00:00Z", to: "2026-11-19T15:01:30Z" },
    { date: "2026-11-20", from: "2026-11-20T15:00:00Z", to: "2026-11-20T15:03:00Z" },
  ]);

  expect(stops.map((ms) => new Date(ms).toISOString())).toEqual([
    "2026-11-19T15:01:00.000Z",
    "2026-11-19T15:01:30.001Z",
    "2026-11-20T15:01:00.000Z",
    "2026-11-20T15:02:00.000Z",
    "2026-11-20T15:03:00.000Z",
  ]);
  for (const [stop, ms] of stops.entries()) expect(stopAt(stops, ms)).toBe(stop);
  const at = ["2026-11-01T00:00:00Z", "2026-11-19T23:00:00Z", "2026-12-01T00:00:00Z"];
  expect(at.map((each) => stopAt(stops, Date.parse(each)))).toEqual([0, 1, 4]);
});

const VAGUE = { ivMid: 2.7, ivBid: null, ivAsk: 3.1, ivDifference: 2.39, serviceIvMid: "0.31" };
const CLEAR = { ivMid: 0.31419, ivBid: 0.3, ivAsk: 0.33, ivDifference: 0.00419, serviceIvMid: "0.31" };

test("a volatility is vague where its band is wider than itself, or has no end", () => {
  const band = (ivBid: number | null, ivAsk: number | null): boolean => isVague({ ivBid, ivMid: 0.3, ivAsk });

  expect([band(0.2, 0.5), band(0.15, 0.46), band(null, 0.31), band(0.29, null)]).toEqual([
    false,
    true,
    true,
    true,
  ]);
  expect(isVague({ ivBid: null, ivMid: null, ivAsk: 0.4 })).toBe(false);
});

test("the difference from the service's volatility is left out where ours is vague", () => {
  const [vague, clear] = [contract("100", "CALL", VAGUE), contract("100", "PUT", CLEAR)];
  const column = columnsOf("compare", "few", [vague, clear]).find(({ key }) => key === "iv-difference");

  expect([vague, clear].map((one) => column?.text(one))).toEqual(["–", "0.42"]);
});

test("the sets of a chain's columns have fewer columns where there is less room, and those of the service where it says something", () => {
  const said = { ...CLEAR, openInterest: "20417", serviceDelta: "0.5", serviceGamma: "0.0123" };
  const keys = (
    ...[set, room]: Parameters<typeof columnsOf> extends [infer S, infer R, unknown] ? [S, R] : never
  ): string =>
    [[contract("100", "CALL"), contract("105", "CALL", said)], [contract("100", "CALL")]]
      .map((shown) =>
        columnsOf(set, room, shown)
          .map(({ key }) => key)
          .join(" "),
      )
      .join(" | ");

  expect(keys("prices", "many")).toBe(
    "volume oi last iv delta bid mid ask | volume last iv delta bid mid ask",
  );
  expect(keys("prices", "few")).toBe("iv delta bid mid ask | iv delta bid mid ask");
  expect(keys("greeks", "few")).toBe("iv delta gamma vega theta | iv delta gamma vega theta");
  expect(keys("compare", "many")).toBe(
    "iv service-iv iv-difference delta service-delta service-gamma | iv delta",
  );
});

test("columns of a chain show percent with two decimals, delta with three, theta by day and vega by point", () => {
  const greeks = { delta: 0.512741, gamma: 0.01234, theta: -36.5, vega: 12.34 };
  const of = contract("100", "CALL", { ...CLEAR, ...greeks, serviceDelta: "0.5", mid: "19.77" });
  const shown = (["greeks", "compare"] as const).flatMap((set) =>
    columnsOf(set, "many", [of]).map(({ key, text }) => `${key} ${text(of)}`),
  );

  expect(shown).toEqual([
    ...["iv-bid 30.00", "iv 31.42", "iv-ask 33.00", "delta 0.513", "gamma 0.0123", "vega 0.123"],
    ...["theta −0.100", "mid 19.77", "iv 31.42", "service-iv 31.00", "iv-difference 0.42", "delta 0.513"],
    "service-delta 0.500",
  ]);
});

test("a smile has the volatilities of calls and puts in percent, by strike; contracts whose volatility is vague, or not known, are no points", () => {
  const curves = smileCurves([
    contract("110", "CALL", { ivMid: 0.25, ivBid: 0.2, ivAsk: 0.3 }),
    contract("95", "CALL", { ivMid: 0.5, ivBid: 0.4, ivAsk: 0.6 }),
    contract("100", "CALL", { ivAsk: 0.4 }),
    contract("50", "CALL", VAGUE),
    contract("95", "PUT", { ivMid: 0.375, ivBid: 0.25, ivAsk: 0.5 }),
  ]);

  expect(curves).toEqual([
    {
      name: "Calls",
      tone: "call",
      points: [
        { x: 95, y: 50, bid: 40, ask: 60 },
        { x: 110, y: 25, bid: 20, ask: 30 },
      ],
    },
    { name: "Puts", tone: "put", points: [{ x: 95, y: 37.5, bid: 25, ask: 50 }] },
  ]);
});

test("the term structure is drawn against the days that are left, or the hours", () => {
  const of = { expiration: "2026-12-18", strike: "100", straddle: null, move: null };
  const point = { ...of, years: 0.2, ivBid: null, ivMid: 0.25, ivAsk: 0.3 };

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

test("an axis is linear, has room at both ends, and names a few round values within them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.01, max: 99_999, noNaN: true }), { minLength: 1, maxLength: 50 }),
      (values) => {
        const { placeOf, named } = axisOf(values, 8);
        const [first = 0, second = 0] = [placeOf(0), placeOf(1)];

        for (const value of values) {
          expect(placeOf(value)).toBeGreaterThan(0);
          expect(placeOf(value)).toBeLessThan(100);
          expect(Math.abs(placeOf(value) - first - value * (second - first))).toBeLessThan(
            1e-3 * Math.max(1, Math.abs(first)),
          );
        }
        for (const place of named.map(placeOf)) expect(Math.abs(place - 50)).toBeLessThan(50.001);
        expect(named.length).toBeLessThanOrEqual(9);
      },
    ),
    { examples: [[[0.01, 0.010000000000000002]]] },
  );
  expect(axisOf([360, 420], 8).named).toEqual([360, 370, 380, 390, 400, 410, 420]);
  expect(axisOf([0.3], 5).named).toEqual([0.295, 0.3, 0.305]);
});

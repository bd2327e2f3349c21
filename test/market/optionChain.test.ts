import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { alwaysOpen, createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { chainSchema, expandChain } from "../../src/market/optionChain.ts";
import { strikesAround } from "../../src/market/strikesAround.ts";
import { contractDate, expiresAt, monthlyExpiration, nextExpirations } from "../../src/market/expirations.ts";

const nyse = createCalendar();

test("a third Friday is from the 15th to the 21st", () => {
  expect(nextExpirations({ kind: "monthly", next: 8 }, "2026-05-01", nyse)).toEqual([
    ...["2026-05-15", "2026-06-18", "2026-07-17", "2026-08-21", "2026-09-18", "2026-10-16"],
    ...["2026-11-20", "2026-12-18"],
  ]);
});

test.each([
  ["at 16:00 on an ordinary day", "2026-12-18", "2026-12-18T21:00:00.000Z"],
  ["at 13:00 on a half day", "2026-11-27", "2026-11-27T18:00:00.000Z"],
  ["when the session ended for trouble", "2005-06-01", "2005-06-01T19:56:00.000Z"],
  ["at 16:00 on a Saturday", "2014-12-20", "2014-12-20T21:00:00.000Z"],
  ["at 16:00 before the calendar begins", "1989-12-15", "1989-12-15T21:00:00.000Z"],
])("a contract is over at the close of its expiration date in New York: %s", (_, date, closesAt) => {
  const after = new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10);

  expect(contractDate(new Date(Date.parse(closesAt) - 1), nyse)).toBe(date);
  expect(contractDate(new Date(closesAt), nyse)).toBe(after);
  expect(contractDate(new Date(`${after}T04:00:00.000Z`), nyse)).toBe(after);
  expect(contractDate(new Date(`${after}T05:00:00.000Z`), nyse)).toBe(after);
});

test("a contract is over at the close that the operator's calendar says", () => {
  const mine = createCalendar([{ date: "2026-12-18", kind: "early", close: "14:15" }]);

  expect(contractDate(new Date("2026-12-18T19:14:59.999Z"), mine)).toBe("2026-12-18");
  expect(contractDate(new Date("2026-12-18T19:15:00.000Z"), mine)).toBe("2026-12-19");
});

test("an expiration today is still the next one", () => {
  expect(nextExpirations({ kind: "monthly", next: 1 }, "2026-12-18", nyse)).toEqual(["2026-12-18"]);
  expect(nextExpirations({ kind: "monthly", next: 1 }, "2026-12-19", nyse)).toEqual(["2027-01-15"]);
});

const chainOf = (underlying: string, more: object = {}): string[] => {
  const { today = "2026-12-18", listed = null, ...chain } = more as { today?: string; listed?: string[] };
  const options = { underlying, expirations: { next: 2 }, strikes: ["100"], types: ["CALL"], ...chain };
  const facts = { last: null, listed, today, calendar: nyse };
  return expandChain(chainSchema.parse(options), facts).map(({ expiration }) => expiration);
};

test("contracts that the open of their date settles are over with the session before, the others with their own", () => {
  const [morning, evening] = [
    ["2027-01-15", "2027-02-19"],
    ["2026-12-18", "2027-01-15"],
  ];

  for (const underlying of ["SPX", "NDX", "RUT", "DJX", "VIX", "^SPX"])
    expect(chainOf(underlying)).toEqual(morning);
  for (const underlying of ["XSP", "OEX", "AAPL", "SPXL"]) expect(chainOf(underlying)).toEqual(evening);
  expect(chainOf("SPX", { today: "2026-12-17" })).toEqual(evening);
  // A whole expiration has SPXW as well, and Wednesdays have no others but in VIX.
  expect(chainOf("SPX", { strikes: "all", types: undefined })).toEqual(evening);
  for (const expirations of [["2026-12-16", "2026-12-18"], "listed"]) {
    const more = { expirations, listed: ["2026-12-16", "2026-12-18"], today: "2026-12-16" };
    expect(chainOf("SPX", more)).toEqual(["2026-12-16", "2026-12-18"]);
    expect(chainOf("VIX", more)).toEqual(["2026-12-18"]);
  }
});

test.each([
  [{ underlying: "SPX", expiration: "2026-12-18" }, "2026-12-18T14:30:00.000Z"],
  [{ underlying: "SPX", root: "SPXW", expiration: "2026-12-18" }, "2026-12-18T21:00:00.000Z"],
  // Juneteenth is a third Friday, and Good Friday 2025; Saturdays until January 2015.
  [{ underlying: "SPX", expiration: "2026-06-18" }, "2026-06-18T13:30:00.000Z"],
  [{ underlying: "NDX", expiration: "2025-04-17" }, "2025-04-17T13:30:00.000Z"],
  [{ underlying: "RUT", expiration: "2014-12-20" }, "2014-12-19T14:30:00.000Z"],
  [{ underlying: "AAPL", expiration: "2014-12-20" }, "2014-12-20T21:00:00.000Z"],
  [{ underlying: "SPX", expiration: "1989-12-15" }, "1989-12-15T21:00:00.000Z"],
])("%j ends at %s", (contract, at) => {
  expect(expiresAt(contract, nyse).toISOString()).toBe(at);
});

test("a third Friday that is Good Friday moves to the Thursday", () => {
  expect(monthlyExpiration(2019, 4, nyse)).toBe("2019-04-18");
  expect(monthlyExpiration(2022, 4, nyse)).toBe("2022-04-14");
  expect(monthlyExpiration(2025, 4, nyse)).toBe("2025-04-17");
  expect(monthlyExpiration(2025, 4, alwaysOpen)).toBe("2025-04-18");
});

test("monthly options expire on the Saturday after the third Friday until January 2015, from February 2015 on the Friday", () => {
  expect(monthlyExpiration(2012, 7, nyse)).toBe("2012-07-21");
  expect(monthlyExpiration(2014, 4, nyse)).toBe("2014-04-19");
  expect(monthlyExpiration(2015, 1, nyse)).toBe("2015-01-17");
  expect(monthlyExpiration(2015, 2, nyse)).toBe("2015-02-20");
});

test("weekly options expire every Friday, or the session before", () => {
  expect(nextExpirations({ kind: "weekly", next: 4 }, "2026-03-21", nyse)).toEqual([
    "2026-03-27",
    "2026-04-02",
    "2026-04-10",
    "2026-04-17",
  ]);
  expect(nextExpirations({ kind: "weekly", next: 1 }, "2026-06-19", nyse)).toEqual(["2026-06-26"]);
  expect(nextExpirations({ kind: "weekly", next: 1 }, "2026-06-18", nyse)).toEqual(["2026-06-18"]);
});

test("expirations ascend, each is a session, and none is before today", () => {
  const days = fc
    .date({ min: new Date("2015-02-01"), max: new Date("2040-01-01"), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10));

  fc.assert(
    fc.property(days, fc.constantFrom("monthly" as const, "weekly" as const), (today, kind) => {
      const found = nextExpirations({ kind, next: 5 }, today, nyse);
      expect([...new Set(found)].sort()).toEqual(found);
      expect(found.every((date) => date >= today && nyse.session(date) !== null)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("strikes are the multiples of the step within the percentage, bounds included", () => {
  expect(strikesAround("150", { percent: "10", step: "5" }, 100)).toEqual([
    "135",
    "140",
    "145",
    "150",
    "155",
    "160",
    "165",
  ]);
  expect(strikesAround("152.37", { percent: "2", step: "2.5" }, 100)).toEqual(["150", "152.5", "155"]);
});

test("strikes are exact where floats are not", () => {
  expect(strikesAround("0.3", { percent: "100", step: "0.1" }, 100)).toEqual([
    "0.1",
    "0.2",
    "0.3",
    "0.4",
    "0.5",
    "0.6",
  ]);
  expect(strikesAround("2.68E0", { percent: "1", step: "0.01" }, 100)).toEqual([
    "2.66",
    "2.67",
    "2.68",
    "2.69",
    "2.7",
  ]);
});

test("strikes are those of a last price, a percentage and a step however they are written", () => {
  const strikes = ["90", "100", "110"];

  for (const last of ["100", "100.", "1E2", "1E+2", "10e1", "1000E-1", "1000000000000E-10"])
    expect(strikesAround(last, { percent: "10.00", step: "10" }, 100)).toEqual(strikes);
  expect(strikesAround("1E2", { percent: "1E1", step: "1E1" }, 100)).toEqual(strikes);
  expect(strikesAround("100", { percent: "2.5", step: "1.25" }, 100)).toEqual([
    ...["97.5", "98.75", "100", "101.25", "102.5"],
  ]);
});

test("strikes of a tiny step stop at one more than the allowed number", () => {
  const strikes = strikesAround("100", { percent: "100", step: "0.000001" }, 10);

  expect(strikes).toHaveLength(11);
});

test("a last price of 0 has no strikes, and 0 is never a strike", () => {
  expect(strikesAround("0.00", { percent: "10", step: "1" }, 100)).toEqual([]);
  expect(strikesAround("5", { percent: "100", step: "5" }, 100)).toEqual(["5", "10"]);
});

test("a last price that is no decimal, or a step of 0, is refused by name", () => {
  const refused = expect.objectContaining({ code: "CHAIN_INVALID" });

  for (const last of ["NaN", "-1", "", "1,5", "null", "1E100", "x1", "1x"])
    expect(() => strikesAround(last, { percent: "10", step: "1" }, 10)).toThrow(refused);
  expect(() => strikesAround("1", { percent: "10", step: "0.0" }, 10)).toThrow(refused);
});

test("every strike lies within the bounds, and one step further lies outside of them", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 900_000 }),
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 25, max: 5_000 }),
      (cents, percent, stepCents) => {
        const text = (value: number) => (value / 100).toFixed(2);
        const strikes = strikesAround(
          text(cents),
          { percent: String(percent), step: text(stepCents) },
          100_000,
        );
        const inCents = strikes.map((strike) => Math.round(Number(strike) * 100));
        const within = (value: number) => Math.abs(value - cents) * 100 <= percent * cents;
        expect(inCents.every((value) => value % stepCents === 0 && within(value))).toBe(true);
        const [first, last] = [inCents[0], inCents.at(-1)];
        if (first !== undefined && first > stepCents) expect(within(first - stepCents)).toBe(false);
        if (last !== undefined) expect(within(last + stepCents)).toBe(false);
      },
    ),
  );
});

const FACTS = { last: null, listed: null, today: "2026-11-21", calendar: nyse };

const readme = {
  underlying: "AAPL",
  expirations: { next: 3, kind: "monthly" },
  strikes: { around: "last", percent: 10, step: 5 },
  types: ["CALL", "PUT"],
};

test("a chain expands by expiration, strike and type", () => {
  const contracts = expandChain(chainSchema.parse(readme), { ...FACTS, last: "150.00" });

  expect(contracts).toHaveLength(3 * 7 * 2);
  expect(contracts.slice(0, 3)).toEqual([
    { underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL", strike: "135" },
    { underlying: "AAPL", expiration: "2026-12-18", optionType: "PUT", strike: "135" },
    { underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL", strike: "140" },
  ]);
});

test("a chain with explicit dates and strikes drops the expired ones and needs no price", () => {
  const chain = chainSchema.parse({
    underlying: "AAPL",
    expirations: ["2026-12-18", "2026-11-20"],
    strikes: [155, "150.50"],
    types: ["PUT"],
  });

  expect(expandChain(chain, FACTS)).toEqual([
    { underlying: "AAPL", expiration: "2026-12-18", optionType: "PUT", strike: "150.5" },
    { underlying: "AAPL", expiration: "2026-12-18", optionType: "PUT", strike: "155" },
  ]);
});

test("of all strikes an expiration is one thing to ask for, by whatever dates, and one that is over is none", () => {
  const asked = (expirations: unknown) =>
    expandChain(chainSchema.parse({ underlying: "SPX", expirations, strikes: "all" }), {
      ...FACTS,
      listed: ["2026-12-04", "2026-11-20", "2026-11-21", "2026-12-04"],
    });

  expect(asked("listed")).toEqual([
    { underlying: "SPX", expiration: "2026-11-21", strikes: "all" },
    { underlying: "SPX", expiration: "2026-12-04", strikes: "all" },
  ]);
  expect(asked({ next: 1 })).toEqual([{ underlying: "SPX", expiration: "2026-12-18", strikes: "all" }]);
  expect(asked(["2027-01-15"])).toEqual([{ underlying: "SPX", expiration: "2027-01-15", strikes: "all" }]);
});

test("listed expirations go with strikes around the last price", () => {
  const chain = chainSchema.parse({ ...readme, expirations: "listed", types: ["CALL"] });

  const contracts = expandChain(chain, { ...FACTS, last: "150.00", listed: ["2026-12-04"] });

  expect(contracts).toHaveLength(7);
  expect(contracts[0]).toEqual({
    underlying: "AAPL",
    expiration: "2026-12-04",
    optionType: "CALL",
    strike: "135",
  });
});

test("a chain is ordered by date, strike and type, each once, in whatever order and digits they are given", () => {
  const chain = chainSchema.parse({
    underlying: "AAPL",
    expirations: ["2027-01-15", "2026-12-18", "2027-01-15"],
    strikes: ["150.50", 1000, "9.5", 10, "150.5", "0150.500"],
    types: ["PUT", "PUT"],
  });

  const contracts = expandChain(chain, { ...FACTS, today: "2026-12-18" });

  expect(contracts.map((one) => `${one.expiration} ${"strike" in one ? one.strike : ""}`)).toEqual([
    ...["2026-12-18 9.5", "2026-12-18 10", "2026-12-18 150.5", "2026-12-18 1000"],
    ...["2027-01-15 9.5", "2027-01-15 10", "2027-01-15 150.5", "2027-01-15 1000"],
  ]);
});

test("a chain has calls and puts of monthly expirations unless it says otherwise", () => {
  const chain = chainSchema.parse({ ...readme, types: undefined, expirations: { next: 1 } });

  expect(chain.types).toEqual(["CALL", "PUT"]);
  expect(chain.expirations).toEqual({ next: 1, kind: "monthly" });
});

test.each([
  { expirations: { next: 0, kind: "monthly" } },
  { expirations: { next: 1, kind: "quarterly" } },
  { expirations: ["2026-02-30"] },
  { expirations: [] },
  { strikes: { around: "last", percent: 101, step: 5 } },
  { strikes: { around: "last", percent: 10, step: 0 } },
  { strikes: { around: "bid", percent: 10, step: 5 } },
  { strikes: [] },
  { strikes: [-5] },
  { strikes: ["5x"] },
  { strikes: ["0.0000001"] },
  { strikes: ["1234567890"] },
  { expirations: { next: 61 } },
  { underlying: "A".repeat(33) },
  { types: ["call"] },
  { types: [] },
  { underlying: "" },
  { until: "2027-01-01" },
])("a chain with %j is refused", (change) => {
  expect(chainSchema.safeParse({ ...readme, ...change }).success).toBe(false);
});

test.each([
  [{ expirations: { next: 1.5 } }, "expected a whole number"],
  [{ expirations: "monthly" }, "expected listed, { next, kind } or a list of dates"],
  [{ strikes: "every" }, "expected all, { around: last, percent, step } or a list of strikes"],
  [{ strikes: { around: "last", percent: true, step: 5 } }, "expected all, { around: last, percent, step }"],
  [{ strikes: [true] }, "expected all, { around: last, percent, step } or a list of strikes"],
  [{ strikes: "all", types: ["PUT"] }, "expected calls and puts beside strikes: all"],
  [{ strikes: [true] }, "expected a decimal number"],
  [{ strikes: ["0"] }, "expected a decimal above 0"],
  [{ expirations: ["2026-02-30"] }, "expected a date that exists"],
])("a chain with %j is refused, and the message says what is expected", (change, message) => {
  const { error } = chainSchema.safeParse({ ...readme, ...change });

  expect(JSON.stringify(error?.issues)).toContain(message);
});

test("a huge count of expirations is refused as too large, not as no whole number", () => {
  const { error } = chainSchema.safeParse({ ...readme, expirations: { next: 2 ** 60 } });

  expect(error).toBeDefined();
  expect(JSON.stringify(error?.issues)).not.toContain("expected a whole number");
});

test.each([
  [1, ["CALL", "PUT"], 1_000],
  [2, ["CALL", "PUT"], 500],
  [2, ["PUT"], 1_000],
  [3, ["PUT"], 666],
])("a chain of %d expirations and the types %j has %d strikes at most", (next, types, most) => {
  const expand = (count: number) =>
    expandChain(
      chainSchema.parse({
        ...{ ...readme, types, expirations: { next } },
        strikes: Array.from({ length: count }, (_, place) => place + 1),
      }),
      { ...FACTS, last: "150" },
    );

  expect(expand(most)).toHaveLength(next * types.length * most);
  expect(() => expand(most + 1)).toThrow(/AAPL stands for more than 2000 contracts/);
});

import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { option, security, type OptionContract, type OptionType } from "../../../src/market/instrument.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { RATE } from "../../../src/serve/simulated/option.ts";

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
const market = createSimulatedMarket({ seed: 42 });
const cents = (text: string | null) => Math.round(Number(text) * 100);

/** Strikes that exist for each underlying, around its base price. */
const STRIKES = {
  AAPL: [30, 150, 227.5, 235, 400, 2_000],
  F: [1.5, 10, 11.5, 30],
  "BRK.B": [100, 490, 900],
} as const;

const contracts = fc.constantFrom("AAPL" as const, "F" as const, "BRK.B" as const).chain((underlying) =>
  fc.record({
    underlying: fc.constant<string>(underlying),
    expiration: fc.constantFrom("2026-12-18", "2026-04-02", "2026-03-13", "2028-01-21"),
    optionType: fc.constantFrom<OptionType>("CALL", "PUT"),
    strike: fc.constantFrom(...STRIKES[underlying]).map(String),
  }),
);
const march = fc.integer({ min: Date.parse("2026-03-01"), max: Date.parse("2026-03-13T19:59:59Z") });

const item = (contract: OptionContract, atMs: number) => {
  const answer = market.quote(option(contract), new Date(atMs));
  if (answer.unknownSymbol) throw new Error(`${JSON.stringify(contract)} is unknown`);
  return answer;
};

test("bid is below ask and no less than 0, low <= open, last <= high, and the contract's range holds the session's", () => {
  fc.assert(
    fc.property(contracts, march, (contract, at) => {
      const { quote } = item(contract, at);
      const { low, high, open, contractHigh, contractLow } = quote.extended;

      expect(cents(quote.bid)).toBeGreaterThanOrEqual(0);
      expect(cents(quote.bid)).toBeLessThan(cents(quote.ask));
      for (const price of [cents(quote.last), cents(open)]) {
        expect(price).toBeGreaterThanOrEqual(cents(low));
        expect(price).toBeLessThanOrEqual(cents(high));
      }
      expect(cents(contractLow)).toBeLessThanOrEqual(cents(low));
      expect(cents(contractHigh)).toBeGreaterThanOrEqual(cents(high));
    }),
  );
});

test("change is last less previous close, to the cent", () => {
  fc.assert(
    fc.property(contracts, march, (contract, at) => {
      const { quote } = item(contract, at);

      expect(cents(quote.change)).toBe(cents(quote.last) - cents(quote.extended.previousClose));
    }),
  );
});

test("call, put, underlying and discounted strike are in parity, within the two spreads", () => {
  fc.assert(
    fc.property(contracts, march, (contract, at) => {
      const call = item({ ...contract, optionType: "CALL" }, at);
      const put = item({ ...contract, optionType: "PUT" }, at);
      const years = (Date.parse(`${contract.expiration}T20:00:00Z`) - at) / YEAR;
      const forward = Number(call.underlyingQuote?.last) - Number(contract.strike) * Math.exp(-RATE * years);

      // One of them is as likely priced an hour off (the clocks change), which is less than a cent of interest.
      expect(forward).toBeLessThanOrEqual(Number(call.quote.ask) - Number(put.quote.bid) + 0.01);
      expect(forward).toBeGreaterThanOrEqual(Number(call.quote.bid) - Number(put.quote.ask) - 0.01);
    }),
  );
});

test("delta is positive for a call, negative for a put, at most 1, and the same in both places", () => {
  fc.assert(
    fc.property(contracts, march, (contract, at) => {
      const { quote, greeksDelta } = item(contract, at);
      const delta = Number(greeksDelta) * (contract.optionType === "CALL" ? 1 : -1);

      expect(greeksDelta).toMatch(/^-?\d+\.\d+(E-\d)?$/);
      expect(delta).toBeGreaterThan(0);
      expect(delta).toBeLessThanOrEqual(1);
      expect(quote.extended.delta).toBe(greeksDelta);
    }),
  );
});

test("a tiny delta is written with an exponent, as the service does", () => {
  const far = item(
    { underlying: "AAPL", expiration: "2026-03-13", optionType: "CALL", strike: "2000" },
    Date.parse("2026-03-12T15:00:00Z"),
  );

  expect(far.greeksDelta).toBe("1.0E-6");
  expect([far.quote.bid, far.quote.last]).toEqual(["0.0", "0.01"]);
});

test("underlying and its quote are those of the equity at the same instant", () => {
  fc.assert(
    fc.property(contracts, march, (contract, at) => {
      const equity = market.quote(security(contract.underlying), new Date(at));
      const { underlying, underlyingQuote } = item(contract, at);

      expect(underlyingQuote).toEqual(equity.quote);
      expect(equity.instrument).toMatchObject(underlying ?? {});
    }),
  );
});

test("the quote of an option has a description, and the contract that was asked for", () => {
  const { instrument, quote } = item(
    { underlying: "AAPL", expiration: "2026-12-18", optionType: "PUT", strike: "227.50" },
    Date.parse("2026-03-11T15:00:00Z"),
  );

  expect(instrument).toEqual({
    description: "AAPL Dec 18 2026 227.50 Put",
    exchange: "CMP",
    securityType: "OPT",
    symbol: "AAPL",
    expiration: "2026-12-18",
    optionType: "PUT",
    strike: "227.5",
  });
  expect(quote.extended.contractSize).toBe("100");
});

const AT_THE_MONEY = {
  underlying: "F",
  expiration: "2026-03-13",
  optionType: "CALL",
  strike: "11.5",
} as const;
const midnight = (date: string, offset: string) => Date.parse(`${date}T00:00:00${offset}`);

test.each(["CALL", "PUT"] as const)(
  "the last %s of a session is the previous close of the next, also over a clock change",
  (optionType) => {
    for (const start of [
      midnight("2026-03-08", "-05:00"),
      midnight("2026-03-09", "-04:00"),
      midnight("2026-03-10", "-04:00"),
    ]) {
      const before = item({ ...AT_THE_MONEY, optionType }, start - 1);
      const after = item({ ...AT_THE_MONEY, optionType }, start);

      expect(after.quote.extended.previousClose).toBe(before.quote.last);
    }
  },
);

test("the contract's range never narrows", () => {
  for (const optionType of ["CALL", "PUT"] as const) {
    let [high, low] = [0, Number.POSITIVE_INFINITY];
    for (
      let at = Date.parse("2026-03-05T00:00:00Z");
      at < Date.parse("2026-03-13T20:00:00Z");
      at += 0.7 * HOUR
    ) {
      const { extended } = item({ ...AT_THE_MONEY, optionType }, at).quote;
      expect(cents(extended.contractHigh)).toBeGreaterThanOrEqual(high);
      expect(cents(extended.contractLow)).toBeLessThanOrEqual(low);
      [high, low] = [cents(extended.contractHigh), cents(extended.contractLow)];
    }
  }
});

test("volume never falls within a session, and begins anew with the next", () => {
  const start = midnight("2026-03-10", "-04:00");
  const volumes = Array.from(
    { length: 96 },
    (_, i) => item(AT_THE_MONEY, start + i * 900_000).quote.extended.volume,
  );

  expect(volumes).toEqual([...volumes].sort((a, b) => Number(a) - Number(b)));
  expect(Number(item(AT_THE_MONEY, start + 24 * HOUR).quote.extended.volume)).toBeLessThan(
    Number(volumes.at(-1)),
  );
});

test.each([
  ["2026-03-13", "2026-03-13T16:00:00-04:00"],
  ["2026-11-27", "2026-11-27T13:00:00-05:00"],
])(
  "a contract is worth its intrinsic value just before it expires, and is unknown from the close on: %s",
  (expiration, close) => {
    const contract = { ...AT_THE_MONEY, underlying: "AAPL", strike: "30", expiration };
    const end = Date.parse(close);
    const { quote, underlyingQuote } = item(contract, end - 1);

    const intrinsic = Number(underlyingQuote?.last) - 30;
    expect(Number(quote.bid)).toBeLessThanOrEqual(intrinsic);
    expect(Number(quote.ask)).toBeGreaterThanOrEqual(intrinsic);
    expect(market.quote(option(contract), new Date(end)).unknownSymbol).toBe(true);
  },
);

const at = new Date("2026-03-11T15:00:00Z");
const isListed = (expiration: string, strike = "200", when = at) =>
  !market.quote(option({ underlying: "AAPL", expiration, optionType: "CALL", strike }), when).unknownSymbol;

test("contracts expire on every Friday for three years, and on the third Friday of January for five", () => {
  expect(
    ["2026-03-13", "2026-03-20", "2028-12-15", "2029-01-19", "2030-01-18", "2031-01-17"].map((date) =>
      isListed(date),
    ),
  ).toEqual(Array(6).fill(true));
  expect(["2029-03-16", "2030-01-25", "2032-01-16"].map((date) => isListed(date))).toEqual([
    false,
    false,
    false,
  ]);
});

test("contracts expire on the Thursday before a Friday on which the exchange is closed", () => {
  // Good Friday 2026 is April 3; on July 3 2026 Independence Day is observed.
  expect([isListed("2026-04-02"), isListed("2026-04-03")]).toEqual([true, false]);
  expect([isListed("2026-07-02"), isListed("2026-07-03")]).toEqual([true, false]);
});

test("contracts expired on the Saturday after the third Friday until January 2015", () => {
  const when = new Date("2011-06-01T15:00:00Z");

  expect([isListed("2011-07-16", "200", when), isListed("2011-07-15", "200", when)]).toEqual([true, false]);
  expect(isListed("2011-07-22", "200", when)).toBe(true);
});

test("no contract expires on another weekday, on a past date or on a text that is no date", () => {
  for (const date of [
    "2026-03-12",
    "2026-03-14",
    "2026-03-06",
    "2026-02-30",
    "1980-01-04",
    "soon",
    "__proto__",
  ]) {
    expect(isListed(date)).toBe(false);
  }
});

test("strikes are multiples of 0.5, from a tenth to ten times the base price", () => {
  expect(["23", "23.5", "150.00", "0150", "2300"].map((strike) => isListed("2026-12-18", strike))).toEqual(
    Array(5).fill(true),
  );
  for (const strike of ["22.5", "2300.5", "150.25", "0", "-150", "1e2", "NaN", ""]) {
    expect(isListed("2026-12-18", strike)).toBe(false);
  }
});

test("an unknown underlying has no options; the answer still names the contract", () => {
  const contract = {
    underlying: "ZZZZ",
    expiration: "2026-12-18",
    optionType: "PUT",
    strike: "150.0",
  } as const;

  expect(market.quote(option(contract), at)).toMatchObject({
    unknownSymbol: true,
    instrument: { symbol: "ZZZZ", expiration: "2026-12-18", optionType: "PUT", strike: "150" },
    underlyingQuote: null,
  });
});

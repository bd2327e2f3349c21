import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { option, security } from "../../../src/market/instrument.ts";
import { LISTED_SYMBOLS } from "../../../src/serve/simulated/companies.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { runs } from "../../support/runs.ts";

const HOUR = 3_600_000;
const market = createSimulatedMarket({ seed: 42 });
const cents = (text: string | null) => Math.round(Number(text) * 100);

const quote = (symbol: string, atMs: number, from = market) => {
  const item = from.quote(security(symbol), new Date(atMs));
  if (item.unknownSymbol) throw new Error(`${symbol} is unknown`);
  return item.quote;
};

const symbols = fc.oneof(
  fc.constantFrom(...LISTED_SYMBOLS),
  fc.integer({ min: 0, max: 9_999 }).map((number) => `SIM${String(number).padStart(4, "0")}`),
);
const instants = fc.integer({ min: Date.parse("1990-01-01"), max: Date.parse("2060-01-01") });

/** Midnights in New York that begin an ordinary session, one with 23 hours and one with 25. */
const MIDNIGHTS = ["2026-01-15T05:00:00Z", "2026-03-08T05:00:00Z", "2026-11-01T04:00:00Z"].map(Date.parse);

test("bid is below ask, prices are whole cents above 0, and sizes are positive", () => {
  fc.assert(
    fc.property(symbols, instants, (symbol, at) => {
      const { bid, ask, last, extended } = quote(symbol, at);

      expect(cents(bid)).toBeLessThan(cents(ask));
      for (const text of [bid, ask, last]) expect(text).toMatch(/^\d+\.\d\d?$/);
      expect(Math.min(cents(bid), cents(last))).toBeGreaterThan(0);
      expect(Math.min(Number(extended.bidSize), Number(extended.askSize))).toBeGreaterThan(0);
    }),
  );
});

test("low <= open, last <= high, and the 52-week range holds the range of the session", () => {
  fc.assert(
    fc.property(symbols, instants, (symbol, at) => {
      const { last, extended } = quote(symbol, at);
      const [low, high] = [cents(extended.low), cents(extended.high)];

      for (const price of [cents(extended.open), cents(last)]) {
        expect(price).toBeGreaterThanOrEqual(low);
        expect(price).toBeLessThanOrEqual(high);
      }
      expect(cents(extended.low52Week)).toBeLessThanOrEqual(low);
      expect(cents(extended.high52Week)).toBeGreaterThanOrEqual(high);
    }),
  );
});

test("change is last less previous close, to the cent, and the percentage is that change", () => {
  fc.assert(
    fc.property(symbols, instants, (symbol, at) => {
      const { last, change, pctChange, extended } = quote(symbol, at);

      expect(cents(change)).toBe(cents(last) - cents(extended.previousClose));
      expect(Number(pctChange)).toBeCloseTo((100 * cents(change)) / cents(extended.previousClose), 1);
    }),
  );
});

test("the price to earnings ratio is last over earnings, and 0.0 for a loss", () => {
  fc.assert(
    fc.property(symbols, instants, (symbol, at) => {
      const { last, extended } = quote(symbol, at);
      const earnings = Number(extended.earningsPerShare);

      if (earnings > 0) expect(Number(extended.peRatio)).toBeCloseTo(Number(last) / earnings, 1);
      else expect(extended.peRatio).toBe("0.0");
    }),
  );
});

test("bid <= last <= ask nearly always, but not always", () => {
  const start = Date.parse("2026-03-11T15:00:00Z");
  const inside = Array.from({ length: 2_000 }, (_, i) => quote("AAPL", start + i * 61_000)).filter(
    ({ bid, last, ask }) => cents(bid) <= cents(last) && cents(last) <= cents(ask),
  );

  expect(inside.length).toBeGreaterThan(1_850);
  expect(inside.length).toBeLessThan(2_000);
});

test("the same seed, symbol and instant always give the same quote, in whatever order they are asked", () => {
  fc.assert(
    fc.property(symbols, instants, fc.integer(), (symbol, at, seed) => {
      const fresh = createSimulatedMarket({ seed });
      const used = createSimulatedMarket({ seed });
      used.quote(security(symbol), new Date(at + 40 * 24 * HOUR));
      used.quote(security("AAPL"), new Date(at));

      expect(used.quote(security(symbol), new Date(at))).toEqual(fresh.quote(security(symbol), new Date(at)));
    }),
    { numRuns: runs(15) },
  );
});

test("another seed is another course of prices", () => {
  const at = Date.parse("2026-03-11T15:00:00Z");
  const lasts = [1, 2, 3, 4].map((seed) => quote("AAPL", at, createSimulatedMarket({ seed })).last);

  expect(new Set(lasts).size).toBe(4);
});

test("through a session high never falls, low never rises, volume never falls, and open stays", () => {
  fc.assert(
    fc.property(
      symbols,
      fc.constantFrom(...MIDNIGHTS),
      fc.integer({ min: 0, max: 600_000 }),
      (symbol, midnight, from) => {
        let before = quote(symbol, midnight);
        for (let at = midnight + from; at < midnight + 23 * HOUR; at += 523_000) {
          const { last, extended } = quote(symbol, at);
          expect(cents(extended.high)).toBeGreaterThanOrEqual(
            Math.max(cents(before.extended.high), cents(last)),
          );
          expect(cents(extended.low)).toBeLessThanOrEqual(Math.min(cents(before.extended.low), cents(last)));
          expect(Number(extended.volume)).toBeGreaterThanOrEqual(Number(before.extended.volume));
          expect(Number(extended.sessionVolume)).toBeLessThanOrEqual(Number(extended.volume));
          expect(extended.open).toBe(before.extended.open);
          before = { ...quote(symbol, at) };
        }
      },
    ),
    { numRuns: 10 },
  );
});

test("high and low are the highest and lowest price the session has shown", () => {
  const midnight = Date.parse("2026-01-15T05:00:00Z");
  const seen = Array.from({ length: (3 * HOUR) / 5_000 }, (_, i) => quote("SIRI", midnight + i * 5_000));
  const lasts = seen.map(({ last }) => cents(last));
  const end = seen.at(-1)?.extended;

  expect(cents(end?.high ?? null)).toBe(Math.max(...lasts));
  expect(cents(end?.low ?? null)).toBe(Math.min(...lasts));
});

test("at midnight in New York the last price becomes the previous close, and the volume begins at 0", () => {
  fc.assert(
    fc.property(
      symbols,
      fc.constantFrom(...MIDNIGHTS),
      fc.integer({ min: 0, max: 300 }),
      (symbol, midnight, days) => {
        // Sessions are found by noon of the day, for midnight itself moves with the clocks.
        const noon = midnight + 12 * HOUR + days * 24 * HOUR;
        const start = startOfSession(noon);
        const before = quote(symbol, start - 1);
        const after = quote(symbol, start);

        expect(after.extended.previousClose).toBe(before.last);
        if (Number(before.extended.volume) > 100) {
          expect(Number(after.extended.volume)).toBeLessThan(Number(before.extended.volume) / 100);
        }
      },
    ),
    { numRuns: runs(20) },
  );
});

test("a session of 23 hours and one of 25 both run from their open to their close", () => {
  for (const [start, hours] of [
    ["2026-03-08T05:00:00Z", 23],
    ["2026-11-01T04:00:00Z", 25],
  ] as const) {
    const [first, end] = [Date.parse(start), Date.parse(start) + hours * HOUR];
    expect(quote("AAPL", first).last).toBe(quote("AAPL", first).extended.open);
    expect(quote("AAPL", end - 1).extended.open).toBe(quote("AAPL", first).extended.open);
    expect(quote("AAPL", end).extended.previousClose).toBe(quote("AAPL", end - 1).last);
  }
});

test("simulated prices move from minute to minute, and by a few percent from day to day", () => {
  const start = Date.parse("2026-02-03T15:00:00Z");
  const minutes = Array.from({ length: 60 }, (_, i) => quote("AAPL", start + i * 60_000).last);
  const moves = minutes.filter((last, i) => i > 0 && last !== minutes[i - 1]);
  const days = Array.from({ length: 200 }, (_, i) =>
    Math.abs(Number(quote("AAPL", start + i * 24 * HOUR).pctChange)),
  );

  expect(moves.length).toBeGreaterThan(40);
  expect(Math.max(...days)).toBeLessThan(15);
  expect(days.reduce((sum, move) => sum + move, 0) / days.length).toBeGreaterThan(0.3);
});

/** The midnight in New York before an instant, searched hour by hour with the market's own session change. */
function startOfSession(at: number): number {
  const hour = Math.floor(at / HOUR) * HOUR;
  for (let start = hour; ; start -= HOUR) {
    const inNewYork = new Date(start).toLocaleTimeString("en-US", {
      timeZone: "America/New_York",
      hour12: false,
    });
    if (/^(00|24):00:00/.test(inNewYork)) return start;
  }
}

test("well-known symbols, ten thousand made-up ones and symbols that look like numbers are known, with their texts", () => {
  const item = (symbol: string) => market.quote(security(symbol), new Date(MIDNIGHTS[0] ?? 0));

  expect(LISTED_SYMBOLS.length).toBeGreaterThanOrEqual(60);
  for (const symbol of [...LISTED_SYMBOLS, "SIM0000", "SIM9999"]) {
    expect(item(symbol)).toMatchObject({
      unknownSymbol: false,
      instrument: { symbol, securityType: "CS" },
    });
  }
  expect(["NAN", "TRUE", "1E5", "007"].every((symbol) => LISTED_SYMBOLS.includes(symbol))).toBe(true);
  expect(item("AAPL").instrument).toMatchObject({ description: "APPLE INC", exchange: "NSD" });
  expect(item("T").instrument).toMatchObject({ description: "AT&T INC", exchange: "NYE" });
});

test.each(["ZZZZ", "SIM10000", "SIM1", "", "toString", "__proto__", "7"])(
  "the symbol %p is unknown",
  (symbol) => {
    expect(market.quote(security(symbol), new Date(0)).unknownSymbol).toBe(true);
  },
);

test("a symbol in small letters is that in capitals, and is answered in capitals, as an underlying too", () => {
  const at = new Date(MIDNIGHTS[0] ?? 0);
  const contract = { expiration: "2026-12-18", optionType: "CALL", strike: "230" } as const;

  expect(market.quote(security("aapl"), at)).toEqual(market.quote(security("AAPL"), at));
  expect(market.quote(option({ ...contract, underlying: "aapl" }), at)).toEqual(
    market.quote(option({ ...contract, underlying: "AAPL" }), at),
  );
  expect(market.quote(security("aapl"), at).instrument.symbol).toBe("AAPL");
});

test("watchlists hold known symbols; other ids name no watchlist", () => {
  expect(market.watchlist("DEFAULT")).toContain("AAPL");
  expect(market.watchlist("toString")).toBeNull();
  for (const id of ["DEFAULT", "my_watchlist", "watchlist-18516"]) {
    for (const symbol of market.watchlist(id) ?? []) expect(LISTED_SYMBOLS).toContain(symbol);
  }
});

const dividend = (symbol: string, date: string) =>
  quote(symbol, Date.parse(`${date}T17:00:00Z`)).extended.dividend;

test("a company that pays none has the amount 0.0, an ex-date years past and the smallest double as its yield", () => {
  const { exDate, ...rest } = dividend("TSLA", "2026-03-11") ?? { exDate: null };

  expect(rest).toEqual({ amount: "0.0", yield: "4.9E-324" });
  expect(exDate).toMatch(/^200[1-6]-/);
});

test("a company that pays goes ex four times a year on a weekday, and the last date is shown", () => {
  const days = Array.from({ length: 365 }, (_, i) => new Date(Date.parse("2026-01-01") + i * 24 * HOUR));
  const shown = days
    .map((day) => day.toISOString().slice(0, 10))
    .map((date) => ({ date, exDate: dividend("KO", date)?.exDate }));

  expect(new Set(shown.map(({ exDate }) => exDate)).size).toBe(5);
  for (const { date, exDate = "" } of shown) {
    expect((exDate ?? "") <= date).toBe(true);
    expect([0, 6]).not.toContain(new Date(exDate ?? "").getUTCDay());
  }
});

test("the yield is that of four dividends on the previous close, so it changes once a session", () => {
  const { extended } = quote("KO", Date.parse("2026-03-11T15:00:00Z"));
  const expected = (400 * Number(extended.dividend?.amount)) / Number(extended.previousClose);

  expect(Number(extended.dividend?.yield)).toBeCloseTo(expected, 1);
  expect(quote("KO", Date.parse("2026-03-11T20:00:00Z")).extended.dividend).toEqual(extended.dividend);
});

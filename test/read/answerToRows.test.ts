import { expect, test } from "@jest/globals";
import { dividendOf, headerColumns, rowsOf, unitName } from "../../src/read/answerToRows.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { answerRecord, at, symbolsCall, WATCHLIST_CALL } from "../support/journal.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

const position = { segment: "s", offset: 0 };
const rowsFor = (request: QuoteCall, ...items: string[]) =>
  rowsOf(answerRecord(at(0), answerXml(...items), { request }), position);

test("an answer becomes one row for each instrument, all at the instant the answer arrived", () => {
  const rows = rowsFor(symbolsCall("A", "B"), equityXml("B"), equityXml("A"));

  expect(rows.units.map(unitName)).toEqual(["A", "B"]);
  expect(rows.units.map(({ observedAt }) => observedAt)).toEqual([at(0), at(0)]);
  expect(rows.deadLetters).toEqual([]);
});

test("an option's quote brings its underlying's, at the same instant", () => {
  const rows = rowsFor(WATCHLIST_CALL, optionXml({}, { underlyingQuote: { lastprice: "124.55" } }));

  expect(rows.units.map(unitName)).toEqual(["MRDN:2027-01-15:CALL:120", "MRDN"]);
  expect(rows.units[0]?.instrument).toMatchObject({
    securityType: "OPT",
    strike: "120",
    underlying: "MRDN",
    assumedType: false,
    contractSize: "100",
  });
  expect(rows.units[0]).toMatchObject({ greeksDelta: "0.61", fragment: null, delayed: false });
  expect(rows.units[1]).toMatchObject({
    ...{ observedAt: at(0), delayed: false, greeksDelta: null, fragment: null },
    quote: { last: "124.55" },
  });
  expect(rows.units[1]?.instrument).toEqual({
    ...{ securityType: "CS", symbol: "MRDN", description: "MRDN INC", exchange: "NSD", assumedType: true },
    ...{ expiration: null, optionType: null, strike: null, contractSize: null, underlying: null },
  });
});

test("an equity's has no underlying, and the type that the answer says", () => {
  expect(rowsFor(symbolsCall("A"), equityXml("A")).units[0]?.instrument).toEqual({
    ...{ securityType: "CS", symbol: "A", description: "A INC", exchange: "NYE", assumedType: false },
    ...{ expiration: null, optionType: null, strike: null, contractSize: null, underlying: null },
  });
});

test("an option of which the answer has no underlying is one of its own symbol, and brings nothing along", () => {
  const bare = optionXml({}).replace(/<underlying>.*<\/undlyquote>/su, "");
  const unquoted = optionXml({}).replace(/<undlyquote>.*<\/undlyquote>/su, "");

  for (const xml of [bare, unquoted]) {
    const { units } = rowsFor(WATCHLIST_CALL, xml);
    expect(units.map(unitName)).toEqual(["MRDN:2027-01-15:CALL:120"]);
    expect(units[0]?.instrument.underlying).toBe("MRDN");
  }
});

test("delayed quotes are those of a call for delayed quotes", () => {
  const rows = rowsFor({ ...WATCHLIST_CALL, delayed: true }, optionXml({}));

  expect(rows.units.map(({ delayed }) => delayed)).toEqual([true, true]);
});

test("of quotes of one underlying that came along, the first whole one is its row", () => {
  const lastOf = (...lasts: string[]) => {
    const items = lasts.map((last, place) =>
      optionXml({ strike: `${place + 1}` }, { underlyingQuote: { lastprice: last, bidprice: `${place}` } }),
    );
    const { units } = rowsFor(WATCHLIST_CALL, ...items);
    return units.find((unit) => unitName(unit) === "MRDN")?.quote.bid;
  };

  expect(lastOf("1", "2", "3")).toBe("0");
  expect(lastOf("x", "2", "3")).toBe("1");
  expect(lastOf("x", "x", "3")).toBe("2");
  expect(lastOf("1", "x", "x")).toBe("0");
  expect(lastOf("x", "x", "x")).toBe("0");
});

test("a field of an option that cannot be read takes nothing away from its underlying", () => {
  const odd = optionXml({ strike: "1" }, { quote: { lastprice: "x" }, underlyingQuote: { bidprice: "7" } });

  const { units } = rowsFor(WATCHLIST_CALL, odd, optionXml({ strike: "2" }));

  expect(units.find((unit) => unitName(unit) === "MRDN")?.quote.bid).toBe("7");
});

test("of a quote asked for and one that came along, the one asked for is the row, odd fields or not", () => {
  const option = optionXml({}, { quote: { lastprice: "x" }, underlyingQuote: { bidprice: "7" } });
  const equity = equityXml("MRDN", { quote: { bidprice: "8", lastprice: "x" } });

  for (const items of [
    [option, equity],
    [equity, option],
  ]) {
    const { units } = rowsFor(WATCHLIST_CALL, ...items);
    expect(units.find((unit) => unitName(unit) === "MRDN")?.quote.bid).toBe("8");
  }
});

test("strikes are one text however they are written", () => {
  const strikes = ["120", "120.0", "1.2E2"].map(
    (strike) => rowsFor(WATCHLIST_CALL, optionXml({ strike })).units[0]?.instrument.strike,
  );

  expect(strikes).toEqual(["120", "120", "120"]);
});

test("an equity without a security type is of a type of which nothing is known", () => {
  const rows = rowsFor(WATCHLIST_CALL, equityXml("A", { instrument: { sectyp: "" } }));

  expect(rows.units[0]?.instrument.securityType).toBe("UNKNOWN");
});

test("an unknown symbol is no dead letter, its fate is kept", () => {
  const rows = rowsFor(symbolsCall("NOSUCH"), equityXml("NOSUCH", { unknown: "true" }));

  expect(rows).toMatchObject({
    units: [],
    deadLetters: [],
    matched: [{ fate: "unknown", name: "NOSUCH" }],
  });
});

test("a malformed instrument is a dead letter with its own text", () => {
  const bad = equityXml("B").replace("<sectyp>", "<exch/><sectyp>");

  const rows = rowsFor(symbolsCall("A", "B"), equityXml("A"), bad);

  expect(rows.deadLetters).toEqual([
    {
      observedAt: at(0),
      ordinal: 0,
      instrument: "B",
      reason: "malformed",
      detail: "instrument/exch stands there twice",
      fragment: bad,
    },
  ]);
});

test("a field that cannot be read is a dead letter, and its row has none of it", () => {
  const long = "x".repeat(20_000);
  const rows = rowsFor(
    symbolsCall("A", "B"),
    equityXml("A", { quote: { lastprice: "12x" } }),
    equityXml("B", { extended: { volume: long } }),
  );

  expect(rows.units.map(({ quote }) => [quote.last, quote.extended.volume])).toEqual([
    [null, "1000"],
    ["20.35", null],
  ]);
  const odd = { observedAt: at(0), reason: "odd_field", detail: expect.any(String) };
  expect(rows.deadLetters).toEqual([
    { ...odd, ordinal: 0, instrument: "A", fragment: "12x" },
    { ...odd, ordinal: 1, instrument: "B", fragment: "x".repeat(16_384) },
  ]);
});

test("a field of an underlying that cannot be read is the underlying's dead letter, one of its option the option's", () => {
  const prices = { quote: { lastprice: "o" }, underlyingQuote: { lastprice: "u" } };

  const { deadLetters } = rowsFor(WATCHLIST_CALL, optionXml({}, prices));

  expect(deadLetters.map(({ instrument, fragment }) => [instrument, fragment])).toEqual([
    ["MRDN:2027-01-15:CALL:120", "o"],
    ["MRDN", "u"],
  ]);
});

test("an answer that is no quotes document is one dead letter with its beginning", () => {
  const rows = rowsOf(answerRecord(at(0), "<html>".padEnd(100_000, "x")), position);

  expect(rows.units).toEqual([]);
  expect(rows.deadLetters).toMatchObject([{ reason: "malformed", instrument: null }]);
  expect(rows.deadLetters[0]?.fragment).toHaveLength(16_384);
});

test.each([401, 414, 429, 500])("an answer with status %d is no dead letter at all", (status) => {
  const rows = rowsOf(answerRecord(at(0), answerXml(equityXml("A")), { status }), position);

  expect(rows).toMatchObject({ units: [], deadLetters: [], matched: [] });
});

const dividend = (texts: Record<string, string>) => {
  const [unit] = rowsFor(WATCHLIST_CALL, equityXml("A", { dividend: texts })).units;
  return unit ? dividendOf(unit.quote) : undefined;
};

test("a dividend keeps its amount, its date and its yield", () => {
  expect(dividend({ amt: "0.0450", exdate: "2026-11-12T00:00:00-05:00", yield: "2.68E0" })).toEqual({
    amount: "0.0450",
    exDate: "2026-11-12",
    yield: "2.68E0",
  });
});

test.each([
  [{ amt: "0.0450" }, { amount: "0.0450", exDate: null, yield: null }],
  [{ exdate: "2026-11-12T00:00:00-05:00" }, { amount: null, exDate: "2026-11-12", yield: null }],
  [{ yield: "2.68" }, { amount: null, exDate: null, yield: "2.68" }],
  [{ yield: "1E2" }, { amount: null, exDate: null, yield: "1E2" }],
  [
    { amt: "1", yield: "2.680000000" },
    { amount: "1", exDate: null, yield: "2.680000000" },
  ],
])("a dividend that says only %j keeps that", (said, kept) => {
  expect(dividend(said)).toEqual(kept);
});

test.each(["4.9E-324", "4.9e-324", "49E-325", `0.${"0".repeat(323)}49`])(
  "a dividend with a yield of %s has none",
  (text) => {
    expect(dividend({ amt: "0.0", exdate: "2003-03-12T00:00:00-05:00", yield: text })).toEqual({
      amount: "0.0",
      exDate: "2003-03-12",
      yield: null,
    });
  },
);

test("a dividend that says nothing is not stored", () => {
  expect(dividend({})).toBeNull();
  expect(dividend({ amt: "na", exdate: "", yield: "4.9E-324" })).toBeNull();
});

const columns = (headers: Record<string, string>) => headerColumns(answerRecord(at(0), "", { headers }));

test("the columns from headers are the four of the rate limit, and the service's date", () => {
  expect(
    columns({
      date: "Wed, 16 Mar 2011 14:51:44 GMT",
      "x-ratelimit-used": "8",
      "x-ratelimit-remaining": "52",
      "x-ratelimit-limit": "60",
      "x-ratelimit-expire": "1461721950.38133",
    }),
  ).toEqual({
    serverDate: "2011-03-16T14:51:44.000Z",
    rateLimitUsed: 8,
    rateLimitRemaining: 52,
    rateLimitLimit: 60,
    rateLimitExpire: "1461721950.38133",
  });
});

test("the columns from headers hold whole numbers of 32 bits, and an expiry as it is written, without blanks", () => {
  expect(
    columns({
      "x-ratelimit-used": "2147483647",
      "x-ratelimit-remaining": "2147483648",
      "x-ratelimit-limit": "60.5",
      "x-ratelimit-expire": " 1461721950 ",
    }),
  ).toMatchObject({
    rateLimitUsed: 2_147_483_647,
    rateLimitRemaining: null,
    rateLimitLimit: 60,
    rateLimitExpire: "1461721950",
  });
});

test.each(["", "soon", "-1e9", "NaN", "9".repeat(40)])(
  "the columns from headers are null where a header says %p",
  (text) => {
    const limits = ["used", "remaining", "limit", "expire"].map((name) => [`x-ratelimit-${name}`, text]);

    expect(Object.values(columns({ date: text, ...Object.fromEntries(limits) }))).toEqual(
      Array(5).fill(null),
    );
  },
);

test("the columns from headers never hold a date that a timestamp cannot", () => {
  for (const date of ["Sat, 13 Sep 275760 00:00:00 GMT", "-000001-01-01T00:00:00Z", "0000-01-01T00:00:00Z"])
    expect(columns({ date }).serverDate).toBeNull();
});

test("of an answer about something else five instruments have a dead letter each, and the rest have one together", () => {
  const strangers = Array.from({ length: 300 }, (_, place) => equityXml(`X${place}`));

  const { deadLetters } = rowsFor(symbolsCall("A"), ...strangers);

  expect(deadLetters.map(({ instrument }) => instrument)).toEqual(["X0", "X1", "X2", "X3", "X4", null]);
  expect(deadLetters[5]).toMatchObject({
    reason: "not_asked",
    detail: "295 more instruments that the call did not ask for",
    fragment: "X5, X6, X7, X8, X9 and 290 more",
  });
});

import { describe, expect, test } from "@jest/globals";
import { dividendOf, headerColumns, rowsOf, unitName } from "../../src/read/answerToRows.ts";
import type { QuoteCall } from "../../src/quotes-api/request.ts";
import { answerRecord, at, symbolsCall, WATCHLIST_CALL } from "../support/journal.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

const position = { segment: "s", offset: 0 };
const rowsFor = (request: QuoteCall, ...items: string[]) =>
  rowsOf(answerRecord(at(0), answerXml(...items), { request }), position);

describe("an answer becomes rows", () => {
  test("one for each instrument, all at the instant the answer arrived", () => {
    const rows = rowsFor(symbolsCall("A", "B"), equityXml("B"), equityXml("A"));

    expect(rows.units.map(unitName)).toEqual(["A", "B"]);
    expect(rows.units.map(({ observedAt }) => observedAt)).toEqual([at(0), at(0)]);
    expect(rows.deadLetters).toEqual([]);
  });

  test("an option's brings its underlying's, at the same instant", () => {
    const rows = rowsFor(WATCHLIST_CALL, optionXml({}, { underlyingQuote: { lastprice: "124.55" } }));

    expect(rows.units.map(unitName)).toEqual(["MRDN:2027-01-15:CALL:120", "MRDN"]);
    expect(rows.units[0]?.instrument).toMatchObject({
      securityType: "OPT",
      strike: "120",
      underlying: "MRDN",
    });
    expect(rows.units[1]).toMatchObject({
      observedAt: at(0),
      quote: { last: "124.55" },
      instrument: { securityType: "CS", symbol: "MRDN", description: "MRDN INC", exchange: "NSD" },
    });
  });

  test("an underlying of several options is one row, and the quote asked for goes before it", () => {
    const rows = rowsFor(
      WATCHLIST_CALL,
      optionXml({ strike: "115.0" }, { underlyingQuote: { lastprice: "1" } }),
      optionXml({ strike: "120.0" }, { underlyingQuote: { lastprice: "2" } }),
      equityXml("MRDN", { quote: { lastprice: "3" } }),
    );

    expect(rows.units.map(unitName).sort()).toEqual([
      "MRDN",
      "MRDN:2027-01-15:CALL:115",
      "MRDN:2027-01-15:CALL:120",
    ]);
    expect(rows.units.find((unit) => unitName(unit) === "MRDN")?.quote.last).toBe("3");
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

  test("the same ones each time", () => {
    const build = () =>
      rowsFor(WATCHLIST_CALL, optionXml({}), equityXml("A"), equityXml("B", { instrument: { sym: "" } }));

    expect(build()).toEqual(build());
  });
});

describe("what becomes no row", () => {
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

  test("an answer that is no quotes document is one dead letter with its beginning", () => {
    const rows = rowsOf(answerRecord(at(0), "<html>".padEnd(100_000, "x")), position);

    expect(rows.units).toEqual([]);
    expect(rows.deadLetters).toMatchObject([{ reason: "malformed", instrument: null }]);
    expect(rows.deadLetters[0]?.fragment).toHaveLength(16_384);
  });

  test.each([401, 414, 429, 500])("an answer with status %d is none at all", (status) => {
    const rows = rowsOf(answerRecord(at(0), answerXml(equityXml("A")), { status }), position);

    expect(rows).toMatchObject({ units: [], deadLetters: [] });
  });
});

describe("a dividend", () => {
  const dividend = (texts: Record<string, string>) => {
    const [unit] = rowsFor(WATCHLIST_CALL, equityXml("A", { dividend: texts })).units;
    return unit ? dividendOf(unit.quote) : undefined;
  };

  test("keeps its amount, its date and its yield", () => {
    expect(dividend({ amt: "0.0450", exdate: "2026-11-12T00:00:00-05:00", yield: "2.68E0" })).toEqual({
      amount: "0.0450",
      exDate: "2026-11-12",
      yield: "2.68E0",
    });
  });

  test.each(["4.9E-324", "4.9e-324", "49E-325"])("with a yield of %s has none", (text) => {
    expect(dividend({ amt: "0.0", exdate: "2003-03-12T00:00:00-05:00", yield: text })).toEqual({
      amount: "0.0",
      exDate: "2003-03-12",
      yield: null,
    });
  });

  test("of which nothing is said is none", () => {
    expect(dividend({})).toBeNull();
    expect(dividend({ amt: "na", exdate: "", yield: "4.9E-324" })).toBeNull();
  });
});

describe("the columns from headers", () => {
  const columns = (headers: Record<string, string>) => headerColumns(answerRecord(at(0), "", { headers }));

  test("are the four of the rate limit, and the service's date", () => {
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

  test.each(["", "soon", "-1e9", "NaN", "9".repeat(40)])("are null where a header says %p", (text) => {
    const headers = [
      "date",
      "x-ratelimit-used",
      "x-ratelimit-remaining",
      "x-ratelimit-limit",
      "x-ratelimit-expire",
    ];

    expect(columns(Object.fromEntries(headers.map((name) => [name, text])))).toEqual({
      serverDate: null,
      rateLimitUsed: null,
      rateLimitRemaining: null,
      rateLimitLimit: null,
      rateLimitExpire: null,
    });
  });

  test("never hold a date that a timestamp cannot", () => {
    for (const date of ["Sat, 13 Sep 275760 00:00:00 GMT", "-000001-01-01T00:00:00Z", "0000-01-01T00:00:00Z"])
      expect(columns({ date }).serverDate).toBeNull();
  });
});

/** The rows of Quotes: their order, which a search finds, their columns, and which are drawn. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { QuoteRow } from "../../src/archive/ask/dashboardTypes.ts";
import { isMixed } from "../../src/web/api/quoteTable.ts";
import { windowOf } from "../../src/web/app/lib/rowWindow.ts";
import { ASKED, columnsOf, matching, ordered, sortText } from "../../src/web/app/lib/watchColumns.ts";

const symbol = fc.stringMatching(/^[A-Z0-9]{1,4}$/);
const contract = fc
  .tuple(symbol, fc.constantFrom("2026-09-18", "2026-12-18", "2027-01-15"), fc.constantFrom("CALL", "PUT"))
  .chain(([of, expiration, type]) =>
    fc
      .constantFrom("7", "50", "52.5", "52.25", "100", "1000.5")
      .map((strike) => [of, expiration, type, strike].join(":")),
  );
const instrument = fc.oneof(symbol, contract);

const row = (name: string, more: Partial<QuoteRow> = {}): QuoteRow =>
  ({
    ...{ instrument: name, description: null, source: "account" },
    ...{ optionType: name.includes(":") ? "CALL" : null, ...more },
  }) as QuoteRow;
const names = (rows: readonly QuoteRow[]): string[] => rows.map((each) => each.instrument);

test("names sort as people sort them: numbers by value, whatever the capitals", () => {
  const people = new Intl.Collator("en", { numeric: true });
  const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  fc.assert(
    fc.property(instrument, instrument, (a, b) => {
      expect([a, b, compared(sortText(a), sortText(b))]).toEqual([a, b, Math.sign(people.compare(a, b))]);
      expect(sortText(a.toLowerCase())).toBe(sortText(a));
    }),
    { numRuns: 2_000 },
  );
});

test("rows are ordered by the value of a column, up and down, and those without one come last", () => {
  const rows = [row("B", { last: "9.5" }), row("A", { last: null }), row("C", { last: "10" })];

  expect(names(ordered(rows, "last"))).toEqual(["B", "C", "A"]);
  expect(names(ordered(rows, "-last"))).toEqual(["C", "B", "A"]);
  expect(names(ordered(rows, "instrument"))).toEqual(["A", "B", "C"]);
  expect(names(ordered(rows, "nonsense"))).toEqual(["B", "A", "C"]);
});

test("a search of Quotes finds rows that have each of its words in symbol, description or source", () => {
  const rows = [
    row("AAPL", { description: "APPLE INC" }),
    row("AAPL:2026-12-18:CALL:150"),
    row("APLE", { description: "Apple Hospitality", source: "import" }),
  ];
  const found = (search: string, kind = ""): string[] => names(matching(rows, search, kind));

  expect(found("  apple ")).toEqual(["AAPL", "APLE"]);
  expect(found("apple import")).toEqual(["APLE"]);
  expect(found("aapl")).toEqual(["AAPL", "AAPL:2026-12-18:CALL:150"]);
  expect(found("aapl", "options")).toEqual(["AAPL:2026-12-18:CALL:150"]);
  expect(found("", "securities")).toEqual(["AAPL", "APLE"]);
  expect(found("")).toHaveLength(3);
});

test("Quotes has sizes, open interest and delta where options alone are shown, and sources where they are mixed", () => {
  const keys = (kind: string, areMixed: boolean): string[] => columnsOf(kind, areMixed).map(({ key }) => key);
  const prices = ["instrument", "last", "change", "pctChange", "bid", "ask"];

  expect(keys("", false)).toEqual([...prices, "spread", "volume", "age", "description"]);
  expect(keys("securities", true)).toEqual([...keys("", false), "source"]);
  expect(keys("options", false)).toEqual([
    ...[...prices, "bidSize", "askSize", "spread", "volume", "openInterest", "delta", "age"],
  ]);
  expect(ASKED).toEqual(expect.arrayContaining(["bidSize", "openInterest", "delta", "quotedAt"]));
});

test("rows say where they come from where those that are shown are of several sources", () => {
  expect(
    [[], ["simulated"], ["simulated", "simulated"], [2, 2, 1], ["account", "simulated"]].map(isMixed),
  ).toEqual([false, false, false, true, true]);
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

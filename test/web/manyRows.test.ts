/** What keeps thousands of rows quick gives what the plain way gives. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { QuoteRow } from "../../src/archive/ask/dashboardTypes.ts";
import { isMixed } from "../../src/web/api/quoteTable.ts";
import { pieces, slotOf, windowOf } from "../../src/web/app/lib/rowWindow.ts";
import { type Search, searchOn, sortText } from "../../src/web/app/lib/watchColumns.ts";

const symbol = fc.stringMatching(/^[A-Z0-9]{1,4}$/);
const contract = fc
  .tuple(symbol, fc.constantFrom("2026-09-18", "2026-12-18", "2027-01-15"), fc.constantFrom("CALL", "PUT"))
  .chain(([of, expiration, type]) =>
    fc
      .constantFrom("7", "50", "52.5", "52.25", "100", "1000.5")
      .map((strike) => [of, expiration, type, strike].join(":")),
  );
const instrument = fc.oneof(symbol, contract);

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

test("a search that goes on letter by letter finds what it finds at once", () => {
  const rowOf = (name: string): QuoteRow =>
    ({
      instrument: name,
      description: null,
      source: "account",
      optionType: name.includes(":") ? "CALL" : null,
    }) as QuoteRow;
  const kinds = fc.constantFrom("", "options", "securities");
  const typed = fc.array(fc.tuple(fc.stringMatching(/^[a1:2 ]{0,4}$/), kinds), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(fc.array(instrument, { maxLength: 30 }), typed, (names, steps) => {
      const rows = names.map(rowOf);
      let before: Search | null = null;
      for (const [search, kind] of steps)
        for (let letters = 0; letters <= search.length; letters++) {
          const asked = { rows, search: search.slice(0, letters), kind };
          before = searchOn(before, asked);
          const words = asked.search.split(" ").filter((word) => word !== "");
          const plain = names.filter(
            (name) =>
              words.every((word) => `${name.toLowerCase()}  account`.includes(word)) &&
              (kind === "" || name.includes(":") === (kind === "options")),
          );
          expect(before.found.map((row) => row.instrument)).toEqual(plain);
        }
    }),
  );
});

test("rows that are drawn at once have different slots, and a row that scrolls on keeps its own", () => {
  fc.assert(
    fc.property(fc.nat(90_000), fc.integer({ min: 100, max: 3_000 }), fc.nat(4_000), (top, room, count) => {
      const window = windowOf({ top, bottom: top + room, height: 30 }, count);
      const next = windowOf({ top: top + 30, bottom: top + 30 + room, height: 30 }, count);
      const drawn = pieces(count, window, null).flatMap((piece) => ("row" in piece ? [piece.row] : []));

      expect(new Set(drawn.map((row) => slotOf(row, window))).size).toBe(drawn.length);
      if (window.to - window.from === next.to - next.from)
        expect(drawn.map((row) => slotOf(row, next))).toEqual(drawn.map((row) => slotOf(row, window)));
    }),
  );
});

test("rows say where they come from where those that are shown are of several sources", () => {
  expect(
    [[], ["simulated"], ["simulated", "simulated"], [2, 2, 1], ["account", "simulated"]].map(isMixed),
  ).toEqual([false, false, false, true, true]);
});

import { describe, expect, test } from "@jest/globals";
import type { PointInTimeRow } from "../../src/archive/pointInTime.ts";
import { instrumentName, type InstrumentKey, option, security } from "../../src/market/instrument.ts";
import { type Moment, type ReadRows, type Rows, sharedLookups } from "../../src/serve/archive/lookups.ts";
import { rememberedQuotes } from "../../src/serve/archive/archiveSource.ts";

const at = (second: number): Moment => ({
  realTimeAt: `2026-03-11T15:00:0${second}.000000Z`,
  delayedAt: null,
});
const CONTRACT = { underlying: "A", expiration: "2026-12-18", optionType: "CALL", strike: "150" } as const;

const rowOf = (key: InstrumentKey, place: number, last = "1.5") =>
  ({ place, symbol: instrumentName(key), q_last: last, option_type: null }) as PointInTimeRow;

/** Lookups in a table that knows all but `X`; what was read of it, in order. */
function lookups(refuses: (keys: readonly InstrumentKey[]) => boolean = () => false) {
  const reads: string[][] = [];
  const read: ReadRows = (keys) => {
    reads.push(keys.map(instrumentName));
    if (refuses(keys)) return Promise.reject(new Error("refused"));
    const rows = keys.map((key, index) => rowOf(key, index + 1));
    // The order of rows says nothing.
    return Promise.resolve(rows.filter(({ symbol }) => symbol !== "X").reverse());
  };
  return { reads, lookUp: sharedLookups({ read, atOnce: 2, isOfOneCall: () => true }) };
}

const symbolsOf = (rows: Rows) => rows.map((row) => row?.symbol ?? null);

describe("calls that come together", () => {
  test("share one statement in which each instrument stands once, and each gets its own in its own order", async () => {
    const { reads, lookUp } = lookups();

    const found = await Promise.all([
      lookUp([security("A"), security("B")], at(0)),
      lookUp([security("X"), security("B"), security("C")], at(0)),
    ]);

    expect(reads).toEqual([["A", "B", "X", "C"]]);
    expect(found.map(symbolsOf)).toEqual([
      ["A", "B"],
      [null, "B", "C"],
    ]);
  });

  test("are looked up apart when they want another moment", async () => {
    const { reads, lookUp } = lookups();

    await Promise.all([lookUp([security("A")], at(0)), lookUp([security("A")], at(1))]);

    expect(reads).toEqual([["A"], ["A"]]);
  });

  test("do not mistake an option for a security that is called like it", async () => {
    const { reads, lookUp } = lookups();
    const contract = option(CONTRACT);

    await Promise.all([lookUp([contract], at(0)), lookUp([security(instrumentName(contract))], at(0))]);

    expect(reads[0]).toHaveLength(2);
  });

  test("do not fail with one among them that the database cannot take", async () => {
    const { lookUp } = lookups((keys) => keys.some((key) => instrumentName(key) === "BAD"));

    const [good, bad] = await Promise.allSettled([
      lookUp([security("A")], at(0)),
      lookUp([security("BAD")], at(0)),
    ]);

    expect(good).toMatchObject({ status: "fulfilled" });
    expect(bad).toMatchObject({ status: "rejected" });
  });

  test("do not make a statement without bounds", async () => {
    const { reads, lookUp } = lookups();
    const listOf = (call: number) => Array.from({ length: 300 }, (_, place) => security(`S${call}-${place}`));

    await Promise.all([0, 1, 2, 3].map((call) => lookUp(listOf(call), at(0))));

    expect(reads.map(({ length }) => length)).toEqual([900, 300]);
  });
});

describe("a row that is read again", () => {
  test("gives the quote it gave before, wherever it stood, and another one when anything of it changed", () => {
    const quoteOf = rememberedQuotes();
    const first = quoteOf("A", rowOf(security("A"), 1));

    const again = quoteOf("A", rowOf(security("A"), 2));
    const later = quoteOf("A", rowOf(security("A"), 1, "1.6"));

    expect(again).toBe(first);
    expect([first.quote.last, later.quote.last]).toEqual(["1.5", "1.6"]);
  });
});

/** What the table of dividends becomes, with a table in memory. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  dividendChanges,
  type DividendWord,
  type KeptDividend,
  sameText,
} from "../../src/archive/load/dividendChanges.ts";
import type { DividendData } from "../../src/quotes/document.ts";
import { at } from "../support/journal.ts";

/** A dividend, others that differ from it in one thing each, and the same in other digits. */
const FIRST: DividendData = { amount: "0.24", exDate: "2026-08-12", yield: "2.02" };
const OTHERS: readonly DividendData[] = [
  { ...FIRST, amount: "0.25" },
  { ...FIRST, amount: null },
  { ...FIRST, exDate: "2026-11-12" },
  { ...FIRST, exDate: null },
  { ...FIRST, yield: "2.03" },
];
const SAME_NUMBERS: DividendData = { ...FIRST, amount: "0.2400", yield: "2.02E0" };

const paying = (amount: string): DividendData => ({ ...FIRST, amount });
const row = (second: number, dividend: DividendData): KeptDividend => ({ observedAt: at(second), dividend });

/** A quote that is new to the archive, and the second of the one behind it. */
const added = (second: number, dividend: DividendData | null, next: number | null = null): DividendWord => ({
  ...{ observedAt: at(second), dividend, isNew: true },
  next: next === null ? null : at(next),
});

const NOTHING = { put: [], drop: [] };

test("a new quote gets a row if it is the first to say something", () => {
  expect(dividendChanges([added(1, FIRST)], [])).toEqual({ put: [row(1, FIRST)], drop: [] });
  expect(dividendChanges([added(1, null)], [])).toEqual(NOTHING);
});

test.each(OTHERS)("a new quote gets a row if it says %j, unlike the row before it", (changed) => {
  expect(dividendChanges([added(2, changed)], [row(1, FIRST)])).toEqual({
    put: [row(2, changed)],
    drop: [],
  });
  expect(dividendChanges([added(2, FIRST)], [row(1, changed)])).toEqual({ put: [row(2, FIRST)], drop: [] });
});

test("a new quote gets no row if it says the same numbers, or nothing", () => {
  expect(dividendChanges([added(2, SAME_NUMBERS)], [row(1, FIRST)])).toEqual(NOTHING);
  expect(dividendChanges([added(2, null)], [row(1, FIRST)])).toEqual(NOTHING);
});

test("a new quote gives no row to a later quote that said nothing", () => {
  expect(dividendChanges([added(1, FIRST, 3)], [])).toEqual({ put: [row(1, FIRST)], drop: [] });
});

describe("a quote that is in the archive already", () => {
  const known = (second: number, dividend: DividendData | null, next: number | null = null) => ({
    ...added(second, dividend, next),
    isNew: false,
  });

  test("a known quote changes nothing if it says again what the table has", () => {
    expect(dividendChanges([known(1, FIRST, 2)], [row(1, FIRST), row(2, paying("2"))])).toEqual(NOTHING);
  });

  test.each([...OTHERS, SAME_NUMBERS])("a known quote that now says %j gets its row rewritten", (changed) => {
    expect(dividendChanges([known(1, changed)], [row(1, FIRST)])).toEqual({
      put: [row(1, changed)],
      drop: [],
    });
  });

  test("a known quote that now says nothing, or what was said before, loses its row", () => {
    const kept = [row(1, FIRST), row(2, paying("2"))];

    expect(dividendChanges([known(2, null)], kept)).toEqual({ put: [], drop: [at(2)] });
    expect(dividendChanges([known(2, FIRST)], kept)).toEqual({ put: [], drop: [at(2)] });
  });

  test("a known quote that now says something else gives no later quote a row of what the table had", () => {
    const words = [known(1, paying("2"), 5), added(4, paying("3"), 5)];

    expect(dividendChanges(words, [row(1, FIRST)])).toEqual({
      put: [row(1, paying("2")), row(4, paying("3"))],
      drop: [],
    });
  });
});

test("whatever is loaded, in whatever pieces, however often: a row where a quote says something else than the one before", () => {
  const second = fc.nat({ max: 30 });
  const words = fc.constantFrom(FIRST, ...OTHERS);
  const said = fc.array(words, { minLength: 31, maxLength: 31 });
  const loads = fc.array(fc.uniqueArray(second, { minLength: 1, maxLength: 8 }), { maxLength: 10 });

  fc.assert(
    fc.property(said, loads, (dividends, batches) => {
      const stored = new Set<number>();
      const table = new Map<string, DividendData>();
      for (const batch of batches) {
        loadInto(table, stored, { batch, said: dividends });
        batch.forEach((one) => stored.add(one));
      }

      expect(inOrder(table)).toEqual(changesAmong(stored, dividends));
    }),
  );
});

/** Rows for all that is stored, as one pass over it in the order of time makes them. */
function changesAmong(stored: ReadonlySet<number>, said: readonly DividendData[]): KeptDividend[] {
  const rows: KeptDividend[] = [];
  for (const second of [...stored].sort((a, b) => a - b)) {
    const dividend = said[second] ?? FIRST;
    if (dividend !== rows.at(-1)?.dividend) rows.push(row(second, dividend));
  }
  return rows;
}

function inOrder(table: ReadonlyMap<string, DividendData>): KeptDividend[] {
  const rows = [...table].map(([observedAt, dividend]) => ({ observedAt, dividend }));
  return rows.sort((a, b) => (a.observedAt < b.observedAt ? -1 : 1));
}

/** Loads a batch as the archive does, with a table and the times of quotes in memory. */
function loadInto(
  table: Map<string, DividendData>,
  stored: ReadonlySet<number>,
  { batch, said }: { batch: readonly number[]; said: readonly DividendData[] },
): void {
  const words = batch
    .toSorted((a, b) => a - b)
    .map((one) => {
      const next = [...stored].sort((a, b) => a - b).find((other) => other > one) ?? null;
      return { ...added(one, said[one] ?? null, next), isNew: !stored.has(one) };
    });
  const first = words[0]?.observedAt ?? "";
  const rows = inOrder(table);
  const before = rows.filter(({ observedAt }) => observedAt < first).slice(-1);
  const behind = rows.filter(({ observedAt }) => observedAt >= first);
  const { put, drop } = dividendChanges(words, [...before, ...behind]);
  for (const time of drop) table.delete(time);
  for (const { observedAt, dividend } of put) table.set(observedAt, dividend);
}

test("texts of dividends are the same to the letter, not by their numbers", () => {
  expect(sameText(FIRST, { ...FIRST })).toBe(true);
  for (const other of [...OTHERS, SAME_NUMBERS]) expect(sameText(FIRST, other)).toBe(false);
});

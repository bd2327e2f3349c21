/**
 * What the table of dividends becomes when quotes are added to a series, an instrument from a source, in whatever order
 * they come: a row where a quote says something else than the quote before it. Pure.
 */
import type { Instant } from "../../clock.ts";
import { canonicalDecimal } from "../../quotes/decimal.ts";
import type { DividendData } from "../../quotes/document.ts";

/** What one quote says. */
export type DividendWord = {
  observedAt: Instant;
  /** Null: nothing, and what the quote before it says holds on. */
  dividend: DividendData | null;
  /** The next quote of the series in the archive, be it of this list or not; null: none. */
  next: Instant | null;
  /** False: the quote is in the archive already, and what came of it then stands behind it. */
  isNew: boolean;
};

/** A row of the table. */
export type KeptDividend = { observedAt: Instant; dividend: DividendData };

/** What to do to the table: rows to write, whether there is one at that time or not, and times whose rows go. */
type DividendChanges = { put: KeptDividend[]; drop: Instant[] };

/**
 * A quote that is in the archive said what the table has at its time. When a quote comes before it that says something
 * else, it needs a row to say so: a change back would be hidden otherwise. Not so when the table had it from a quote that
 * turns out to say something else: who followed that one follows it still.
 *
 * @param words ascending, each time once
 * @param kept ascending: the last row before the first word, and all rows from there on
 */
export function dividendChanges(
  words: readonly DividendWord[],
  kept: readonly KeptDividend[],
): DividendChanges {
  const changes: DividendChanges = { put: [], drop: [] };
  const rows = new Map(kept.map((row) => [row.observedAt, row.dividend]));
  const said = new Map(words.map((word) => [word.observedAt, word.dividend]));
  const isCorrected = ({ observedAt, dividend }: KeptDividend): boolean => {
    const word = said.get(observedAt) ?? null;
    return word !== null && !sameDividend(word, dividend);
  };
  const holdingAt = lastOf(kept);
  const settle = (at: Instant, says: DividendData | null, before: DividendData | null): void => {
    const row = rows.get(at);
    if (says === null || sameDividend(says, before)) {
      if (row !== undefined) changes.drop.push(at);
    } else if (row === undefined || !sameText(row, says))
      changes.put.push({ observedAt: at, dividend: says });
  };
  let before: DividendData | null = null;
  let between: Instant | null = null;
  words.forEach(({ observedAt, dividend, next, isNew }, place) => {
    if (place === 0 || between !== null) before = holdingAt((at) => at < observedAt)?.dividend ?? before;
    settle(observedAt, dividend, before);
    before = dividend ?? before;
    const following = words[place + 1]?.observedAt;
    between = next !== null && (following === undefined || next < following) ? next : null;
    if (between === null || !isNew) return;
    const after = between;
    const row = holdingAt((at) => at <= after);
    if (row !== null && !isCorrected(row)) settle(after, row.dividend, before);
  });
  return changes;
}

/** Finds the last row for which something holds that holds for all rows before it; asked for later and later ones. */
function lastOf(kept: readonly KeptDividend[]): (holds: (at: Instant) => boolean) => KeptDividend | null {
  let passed = 0;
  return (holds) => {
    for (let row = kept[passed]; row !== undefined && holds(row.observedAt); row = kept[passed]) passed += 1;
    return kept[passed - 1] ?? null;
  };
}

/** Whether two dividends are the same, by their numbers: `0.24` is `0.2400`. */
function sameDividend(a: DividendData, b: DividendData | null): boolean {
  if (b === null) return false;
  return a.exDate === b.exDate && sameNumber(a.amount, b.amount) && sameNumber(a.yield, b.yield);
}

function sameNumber(a: string | null, b: string | null): boolean {
  return a === b || (a !== null && b !== null && canonicalDecimal(a) === canonicalDecimal(b));
}

/** Whether two dividends are the same to the letter. */
export function sameText(a: DividendData, b: DividendData): boolean {
  return a.amount === b.amount && a.exDate === b.exDate && a.yield === b.yield;
}

/** Dead letters, counted by why. Pure. */
import { z } from "zod";
import type { DeadLetter } from "../../read/rowTypes.ts";
import { cutText } from "../../ground/outsideText.ts";

export const letterCounts = z.array(
  z.strictObject({
    reason: z.string(),
    count: z.int().nonnegative(),
    example: z.string(),
  }),
);

export type LetterCount = z.infer<typeof letterCounts>[number];

/** Most characters of an example; `dead_letters` has all of it. */
const EXAMPLE_CHARS = 160;

/** @returns an entry for each reason, in the order in which they come */
export function countLetters(
  letters: readonly Pick<DeadLetter, "instrument" | "reason" | "detail">[],
): LetterCount[] {
  const counts = letters.map(({ instrument, reason, detail }): LetterCount => {
    const text = instrument === null ? detail : `${instrument}: ${detail}`;
    return { reason, count: 1, example: cutText(text, EXAMPLE_CHARS) };
  });
  return addLetterCounts([], counts);
}

/** Whether the letter stands for a lost quote: a field that could not be read costs itself, and its quote is stored. */
export function isOfQuote({ reason }: Pick<DeadLetter, "reason">): boolean {
  return reason !== "odd_field";
}

/** Two lists as one; an earlier example stays. */
export function addLetterCounts(a: readonly LetterCount[], b: readonly LetterCount[]): LetterCount[] {
  if (b.length === 0) return [...a];
  const byReason = new Map(a.map((one) => [one.reason, one]));
  for (const one of b) {
    const known = byReason.get(one.reason);
    byReason.set(one.reason, known ? { ...known, count: known.count + one.count } : one);
  }
  return [...byReason.values()];
}

/** Two reports of the same kind as one: numbers are summed, and dead letters counted together. */
export function addCounts<Report extends Readonly<Record<string, number | LetterCount[]>>>(
  a: Report,
  b: Report,
): Report {
  const sums = Object.entries(a).map(([key, value]) => {
    const other = b[key];
    return [
      key,
      typeof value === "number" ? value + Number(other) : addLetterCounts(value, other as LetterCount[]),
    ];
  });
  return Object.fromEntries(sums) as Report;
}

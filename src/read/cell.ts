/** What a cell of a row may turn out to be. Pure. */
import { quotedText } from "../ground/outsideText.ts";

/**
 * A value, or what is wrong: the column, what it holds, and why that will not do. `cut` counts what the text says beyond
 * the value: digits of a time beyond microseconds.
 */
export type Cell<T> = { ok: true; value: T; cut?: number } | { ok: false; problem: string };

/** Longest value that a problem shows, in characters. */
const SHOWN_LENGTH = 60;

export function shown(text: string): string {
  return quotedText(text, SHOWN_LENGTH);
}

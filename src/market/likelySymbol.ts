/** Guesses which symbol an unknown one was meant to be, for messages. Nothing is asked or stored because of it. */
import { distance } from "fastest-levenshtein";
import { inCapitals } from "./instrument.ts";

/** Shorter symbols are one letter away from too many others. */
const SHORTEST = 3;

/**
 * The known symbol that is the same in capitals, or else the only one that is a letter away or has two letters
 * exchanged.
 *
 * @returns null when none is near, or several are
 */
export function likelySymbol(symbol: string, known: Iterable<string>): string | null {
  const typed = inCapitals(symbol);
  const near = new Set<string>();
  for (const one of known) {
    if (one === symbol) continue;
    if (one === typed) return one;
    if (typed.length >= SHORTEST && one.length >= SHORTEST && isNear(typed, one)) near.add(one);
  }
  const [only] = near;
  return near.size === 1 && only !== undefined ? only : null;
}

function isNear(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false;
  const away = distance(one, other);
  return away === 1 || (away === 2 && sorted(one) === sorted(other));
}

function sorted(text: string): string {
  return [...text].sort().join("");
}

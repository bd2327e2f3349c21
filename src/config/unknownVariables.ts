/** Variables that look like settings of this program and are none: somebody misspelt one, and it would be ignored silently. */
import { closest, distance } from "fastest-levenshtein";
import { metaOf, VARIABLE_NAMES } from "./environment.ts";

/** A variable that is set and unknown, and the known one it is nearest to; null when none is near. */
export type UnknownVariable = { name: string; meant: string | null };

/** Every name that means something, with those that name a secret's file. */
const KNOWN: readonly string[] = VARIABLE_NAMES.flatMap((name) =>
  metaOf(name).secret === true ? [name, `${name}_FILE`] : [name],
);

/** Names of ours begin so; DATABASE_URL is everybody's. */
const OURS = /^QUOTE(S|KEEPER)_/i;

/** Letters that may differ before another name is meant, when ours is not begun with. */
const NEAR = 2;

/** Letters that may differ in a name that is meant to be ours: it is shown as a guess, not as a correction. */
const GUESSED = 8;

/** @param names of the variables that are set, in any order */
export function unknownVariables(names: readonly string[]): UnknownVariable[] {
  return names.flatMap((name) => {
    if (KNOWN.includes(name)) return [];
    const nearest = closest(name.toUpperCase(), KNOWN);
    const far = distance(name.toUpperCase(), nearest);
    if (!OURS.test(name) && far > NEAR) return [];
    return [{ name, meant: far <= GUESSED ? nearest : null }];
  });
}

/** A sentence for people. */
export function describeUnknown({ name, meant }: UnknownVariable): string {
  const remedy = meant === null ? "docs/configuration.md lists them all." : `Did you mean ${meant}?`;
  return `${name} is not a setting of quotekeeper and is ignored. ${remedy}`;
}

/** Variables that look like settings of this program and are none: a misspelt setting would be ignored silently. */
import { closest, distance } from "fastest-levenshtein";
import { metaOf, VARIABLE_NAMES } from "./environment.ts";

/** `meant`: the nearest known name; null when none is near. */
export type UnknownVariable = { name: string; meant: string | null };

/** Every name with a meaning, and those that name a secret's file. */
const KNOWN: readonly string[] = VARIABLE_NAMES.flatMap((name) =>
  metaOf(name).secret === true ? [name, `${name}_FILE`] : [name],
);

/** Our names begin so; other programs read DATABASE_URL too. */
const OURS = /^QUOTE(S|KEEPER)_/i;

/** Letters that may differ in a name without our prefix. */
const NEAR = 2;

/** Letters that may differ in a name with our prefix: the known name is shown as a guess, not as a correction. */
const GUESSED = 8;

export function unknownVariables(names: readonly string[]): UnknownVariable[] {
  return names.flatMap((name) => {
    if (KNOWN.includes(name)) return [];
    const nearest = closest(name.toUpperCase(), KNOWN);
    const far = distance(name.toUpperCase(), nearest);
    if (!OURS.test(name) && far > NEAR) return [];
    return [{ name, meant: far <= GUESSED ? nearest : null }];
  });
}

export function describeUnknown({ name, meant }: UnknownVariable): string {
  const remedy = meant === null ? "docs/configuration.md lists them all." : `Did you mean ${meant}?`;
  return `${name} is not a setting of quotekeeper and is ignored. ${remedy}`;
}

/** Compares what an earlier release promised with what there is today. */
import type { Promised } from "./lists.ts";

/**
 * @param kind what the names are of: `metric`
 * @param release whose record it is: `1.0`
 * @returns a sentence for each promise that is broken; what is new breaks none
 */
export function brokenPromises(
  { kind, release }: { kind: string; release: string },
  recorded: Promised,
  today: Promised,
): string[] {
  return Object.entries(recorded).flatMap(([name, facts]) => {
    const now = today[name];
    if (now === undefined) return [`${release} promised the ${kind} \`${name}\`, which is gone.`];
    return Object.entries(facts)
      .filter(([fact, value]) => now[fact] !== value)
      .map(
        ([fact, value]) =>
          `${release} promised of the ${kind} \`${name}\` (${fact}): ${value}. Today it is ${now[fact] ?? "not there"}.`,
      );
  });
}

/** What a sweep says to people. Pure. */
import { describeCall, type QuoteCall } from "../../quotes/call.ts";
import type { SweepFate, SweepPlan } from "./sweepPlan.ts";
import { counted, someNames } from "../../figures.ts";

/** Names that are listed; more are counted. */
const MOST_NAMES = 12;

/** Calls that are listed for people; more are counted. */
const MOST_CALLS = 12;

const FATES: readonly [SweepFate, string][] = [
  ["unknown", "the service does not know"],
  ["absent", "not in their answers:"],
  ["dead", "could not be stored, see dead_letters:"],
  ["failed", "refused by the service, each asked alone:"],
  ["expired", "expired, and not asked:"],
];

/** What became of the instruments that have no quote, a line for each fate. */
export function fateLines(plan: SweepPlan): string[] {
  const lines = FATES.flatMap(([fate, words]) => {
    const names = plan.namesOf(fate);
    return names.length === 0 ? [] : [`Without a quote: ${words} ${someNames(names, MOST_NAMES)}`];
  });
  return [...lines, ...plan.problems.map((problem) => `Without a quote: ${problem}`)];
}

/** What is left for the next run. */
export function leftLine({ left }: SweepPlan): string[] {
  if (left.length === 0) return [];
  const names = someNames(
    left.map(({ name }) => name),
    MOST_NAMES,
  );
  return [`Not polled: ${names}. The same command goes on with ${left.length === 1 ? "it" : "them"}.`];
}

export function callLines(calls: readonly QuoteCall[], most = MOST_CALLS): string[] {
  const lines = calls.slice(0, most).map((call) => `  ${describeCall(call)}`);
  return calls.length > most ? [...lines, `  and ${counted(calls.length - most, "call")} more`] : lines;
}

/** The bench's figures as tables and as JSON. */
import {
  fairness,
  keepsBounds,
  refusalsPerHour,
  steadyRefusalsPerHour,
  usedShare,
  usedShareSinceMinute,
  type NamedCell,
} from "./matrix.ts";
import type { Outcome } from "./world.ts";

/** What one sender made of one cell. */
export type Result = { sender: string; seed: number; cell: NamedCell; outcome: Outcome };

/** One result as plain data. */
export function toJson({ sender, seed, cell, outcome }: Result): Record<string, unknown> {
  return {
    sender,
    seed,
    ...cell,
    ...outcome,
    usedShare: usedShare(outcome),
    usedShareSinceMinute: usedShareSinceMinute(outcome),
    refusalsPerHour: refusalsPerHour(cell, outcome),
    steadyRefusalsPerHour: steadyRefusalsPerHour(outcome),
    keepsBounds: keepsBounds(cell, outcome),
  };
}

/** Prints a line per sender, scenario and rule: the worst figures of its cells. */
export function printSummary(results: readonly Result[]): void {
  const groups = groupBy(results, ({ sender, cell }) => [cell.scenario, cell.rule, sender].join("\t"));
  const rows = [...groups.values()].map(worstOf);
  const scenarios = groupBy(rows, ({ scenario }) => scenario);
  for (const [scenario, ofScenario] of scenarios) {
    console.log(`\n${scenario}`);
    printRows(ofScenario.toSorted((a, b) => a.rule.localeCompare(b.rule)));
  }
}

/** Prints a line per cell. */
export function printAll(results: readonly Result[]): void {
  printRows(
    results.map((result) => {
      const { scenario, rule, skew, clockOffMs } = result.cell;
      const cell = `${scenario} | ${rule} | seed ${result.seed} | Expire ${skew} | clock ${clockOffMs / 1_000} s`;
      return { ...worstOf([result]), rule: cell };
    }),
  );
}

/** Prints the cells that miss their bound, and how many there are of each scenario. */
export function printMissed(missed: readonly Result[]): void {
  if (missed.length === 0) return;
  console.log("\nCells that miss their bound:");
  printAll(missed);
  for (const [scenario, ofScenario] of groupBy(missed, ({ cell }) => cell.scenario))
    console.log(`  ${String(ofScenario.length).padStart(4)}  ${scenario}`);
}

// Map.groupBy is not in Node 20.
function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

type Row = {
  scenario: string;
  rule: string;
  sender: string;
  figures: string[];
};

const HEAD = ["    used", "since minute", "refused/h", "then/h", "pause", "other refused", "fairness"];

function worstOf(results: Result[]): Row {
  const { sender, cell } = results[0] as Result;
  const most = (figure: (result: Result) => number) => Math.max(...results.map(figure));
  const least = (figure: (result: Result) => number) => Math.min(...results.map(figure));
  return {
    scenario: cell.scenario,
    rule: cell.rule,
    sender,
    figures: [
      percent(least(({ outcome }) => usedShare(outcome))),
      percent(least(({ outcome }) => usedShareSinceMinute(outcome))),
      most((result) => refusalsPerHour(result.cell, result.outcome)).toFixed(0),
      most(({ outcome }) => steadyRefusalsPerHour(outcome)).toFixed(1),
      `${(most(({ outcome }) => outcome.longestPauseMs) / 1_000).toFixed(1)} s`,
      percent(most(({ outcome }) => outcome.otherRefusedCount / Math.max(1, outcome.otherCount))),
      least(({ outcome }) => fairness(outcome)).toFixed(2),
    ],
  };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

function printRows(rows: Row[]): void {
  const width = Math.max(24, ...rows.map(({ rule }) => rule.length + 2));
  const line = (figures: string[]) =>
    figures.map((figure, column) => figure.padStart((HEAD[column] ?? "").length + 3)).join("");
  console.log(`  ${"".padEnd(width)}${"".padEnd(16)}${line(HEAD)}`);
  for (const { rule, sender, figures } of rows)
    console.log(`  ${rule.padEnd(width)}${sender.padEnd(16)}${line(figures)}`);
}

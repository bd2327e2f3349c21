/** The bench's figures as tables and as JSON. */
import { keepsBounds, refusalsPerHour, usedShare, type NamedCell } from "./matrix.ts";
import type { Outcome } from "./world.ts";

/** What one sender made of one cell. */
export type Result = { sender: string; cell: NamedCell; outcome: Outcome };

/** One result as plain data. */
export function toJson({ sender, cell, outcome }: Result): Record<string, unknown> {
  return {
    sender,
    ...cell,
    ...outcome,
    usedShare: usedShare(cell, outcome),
    refusalsPerHour: refusalsPerHour(cell, outcome),
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
      const cell = `${scenario} | ${rule} | Expire ${skew} | clock ${clockOffMs / 1_000} s`;
      return { ...worstOf([result]), rule: cell };
    }),
  );
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
  cellCount: number;
  leastShare: number;
  mostRefusals: number;
  mostOtherRefused: number;
  longestPauseMs: number;
};

function worstOf(results: Result[]): Row {
  const { sender, cell } = results[0] as Result;
  const most = (figure: (result: Result) => number) => Math.max(...results.map(figure));
  return {
    scenario: cell.scenario,
    rule: cell.rule,
    sender,
    cellCount: results.length,
    leastShare: -most(({ cell, outcome }) => -usedShare(cell, outcome)),
    mostRefusals: most(({ cell, outcome }) => refusalsPerHour(cell, outcome)),
    mostOtherRefused: most(({ outcome }) => outcome.otherRefusedCount / Math.max(1, outcome.otherCount)),
    longestPauseMs: most(({ outcome }) => outcome.longestPauseMs),
  };
}

function printRows(rows: Row[]): void {
  const width = Math.max(24, ...rows.map(({ rule }) => rule.length + 2));
  const head = [
    "used".padStart(8),
    "refused/h".padStart(11),
    "pause".padStart(9),
    "other refused".padStart(15),
  ];
  console.log(`  ${"".padEnd(width)}${"".padEnd(16)}${head.join("")}`);
  for (const row of rows) {
    const figures = [
      `${(100 * row.leastShare).toFixed(2)} %`.padStart(8),
      row.mostRefusals.toFixed(0).padStart(11),
      `${(row.longestPauseMs / 1_000).toFixed(1)} s`.padStart(9),
      `${(100 * row.mostOtherRefused).toFixed(1)} %`.padStart(15),
    ];
    console.log(`  ${row.rule.padEnd(width)}${row.sender.padEnd(16)}${figures.join("")}`);
  }
}

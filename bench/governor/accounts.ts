/**
 * Several accounts, each with a governor of its own at a service of its own. The jobs are saturated: what is due at each
 * minute just fills the limits of all accounts together, so each must be given just as much as it may call.
 */
import { type Partition, partition, type JobWants } from "../../src/accounts/partition.ts";
import { cellsOf } from "./matrix.ts";
import { runOurs } from "./ours.ts";
import { COUNTING_RULES, type RuleName } from "./service.ts";
import { LIMIT, WINDOW_MS } from "./world.ts";

/** What came of all accounts under one rule. */
export type AccountsOutcome = {
  rule: RuleName;
  /** Calls a minute that each account is given. */
  dueCounts: number[];
  /** Calls a minute that the services of all accounts have accepted, and that they allow. */
  usedCount: number;
  allowedCount: number;
  /** In the whole time. */
  refusedCount: number;
};

/** The symbols of one call. */
const BATCH_SIZE = 100;

/** Runs `count` accounts for so many minutes under each of these rules. */
export function runAccounts(
  { count, minutes, seed }: { count: number; minutes: number; seed: number },
  rules = Object.keys(COUNTING_RULES) as RuleName[],
): AccountsOutcome[] {
  if (!Number.isInteger(count) || count < 1) throw new RangeError("--accounts takes a whole number above 0");
  const dueCounts = spread(count);
  const alone = cellsOf(seed, minutes).filter(({ scenario }) => scenario === "alone");
  return alone
    .filter(({ rule }) => rules.includes(rule))
    .map((cell) => {
      // No account knows of another: each has a world and chance of its own.
      const outcomes = dueCounts.map((dueCount, index) => runOurs(cell, seed + index, dueCount));
      const sum = (counts: number[]): number => counts.reduce((all, each) => all + each, 0);
      return {
        rule: cell.rule,
        dueCounts,
        usedCount: sum(outcomes.map(({ acceptedCount }) => acceptedCount)) / minutes,
        allowedCount: LIMIT * count,
        refusedCount: sum(outcomes.map(({ refusedCount }) => refusedCount)),
      };
    });
}

/** Whether all accounts together use what they should, and none is refused. */
export function keepsAccountBounds({ usedCount, allowedCount, refusedCount }: AccountsOutcome): boolean {
  return usedCount >= 0.99 * allowedCount && refusedCount === 0;
}

/** Prints a line per rule. */
export function printAccounts(outcomes: readonly AccountsOutcome[]): void {
  console.log(
    `${"".padEnd(24)}${"calls a minute".padStart(18)}${"used".padStart(10)}${"refused".padStart(10)}   given to each account`,
  );
  for (const outcome of outcomes) {
    const { rule, usedCount, allowedCount, refusedCount, dueCounts } = outcome;
    const figures = [
      `${usedCount.toFixed(2)} of ${allowedCount}`.padStart(18),
      `${((100 * usedCount) / allowedCount).toFixed(2)} %`.padStart(10),
      String(refusedCount).padStart(10),
    ];
    const missed = keepsAccountBounds(outcome) ? "" : "   MISSED: at least 99 %, no refusal";
    console.log(`${rule.padEnd(24)}${figures.join("")}   ${dueCounts.join(" ")}${missed}`);
  }
}

/** The calls a minute that each account is given of two jobs, a third of them lists of symbols. */
function spread(count: number): number[] {
  const accounts = Array.from({ length: count }, (_, index) => ({
    ...{ name: `account-${index + 1}`, limit: LIMIT, windowMs: WINDOW_MS },
  }));
  const listCount = (LIMIT / 3) * count;
  const job = { priority: 0, delayed: false, account: null, watchlist: null };
  const equities: JobWants = {
    ...{ ...job, job: "equities", contracts: [] },
    symbols: Array.from({ length: listCount * BATCH_SIZE }, (_, index) => `S${index}`),
  };
  const options: JobWants = {
    ...{ ...job, job: "options", symbols: [] },
    contracts: Array.from({ length: LIMIT * count - listCount }, (_, index) => `S:2026-12-18:CALL:${index}`),
  };
  const ownerOf = partition([equities, options], accounts, BATCH_SIZE);
  return accounts.map(({ name }) => {
    const own = (names: readonly string[]): number => ownedBy(name, names, ownerOf);
    return Math.ceil(own(equities.symbols) / BATCH_SIZE) + own(options.contracts);
  });
}

function ownedBy(account: string, names: readonly string[], ownerOf: Partition): number {
  return names.filter((name) => ownerOf(name, false) === account).length;
}

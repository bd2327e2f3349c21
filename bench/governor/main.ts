/**
 * npm run bench:governor -- [--seeds 1-24] [--minutes N] [--only TEXT] [--all] [--json] [--no-peers] [--accounts N]
 *   [--fleet [RUNS]] [--living HOURS]
 *
 * Prints, for our governor and for what one would use instead, the share of the allowed calls used, the
 * refusals an hour and the longest pause: the worst cell per rule and scenario, or every cell with `--all`.
 * Seed 1 alone unless told otherwise; several seeds run on all processors. Exits 1 when our governor misses
 * a bound in any cell.
 *
 * With `--accounts N` instead: N accounts, each with its governor and its service, that share what just fills their
 * limits; exits 1 when they use less than 99 % of it, or are refused.
 *
 * With `--fleet` instead: a collector ends, is cut off or is paused, and another takes its account over; so many runs a
 * row, 1,000 unless told otherwise, and the rows alone whose name `--only` fits. Exits 1 when a row misses its bound.
 *
 * With `--living` instead: so many hours under the rules of each living service, E*TRADE's and Tradier's. One hour of each also
 * stands below the table of the specification's.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { PEERS, runPeer, type PeerName } from "./peers.ts";
import { keepsAccountBounds, printAccounts, runAccounts } from "./accounts.ts";
import { keepsRowBounds, printFleet, runFleet } from "./fleet.ts";
import { keepsLivingBounds, printLiving, runLiving } from "./living.ts";
import { runOurs } from "./ours.ts";
import { cellsOf, keepsBounds, peerCells } from "./matrix.ts";
import { printAll, printMissed, printSummary, toJson, type Result } from "./report.ts";

type Task = { seeds: number[]; minutes: number; only: string };

if (isMainThread) await main();
else parentPort?.postMessage(runSeeds(workerData as Task));

async function main(): Promise<void> {
  const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      all: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      seeds: { type: "string", default: "1" },
      minutes: { type: "string", default: "60" },
      only: { type: "string", default: "" },
      "no-peers": { type: "boolean", default: false },
      accounts: { type: "string" },
      fleet: { type: "boolean", default: false },
      living: { type: "string" },
    },
  });
  const { only } = options;
  const minutes = Number(options.minutes);
  const [first = 1, last = first] = options.seeds.split("-").map(Number);
  if (options.accounts !== undefined) {
    const outcomes = runAccounts({ count: Number(options.accounts), minutes, seed: first });
    printAccounts(outcomes);
    process.exitCode = outcomes.every(keepsAccountBounds) ? 0 : 1;
    return;
  }
  if (options.fleet) {
    const outcomes = runFleet(Number(positionals[0] ?? 1_000), new RegExp(only));
    printFleet(outcomes);
    process.exitCode = outcomes.every(keepsRowBounds) ? 0 : 1;
    return;
  }
  if (options.living !== undefined) {
    const outcomes = runLiving({ hours: Number(options.living), seed: first }, new RegExp(only));
    printLiving(outcomes);
    process.exitCode = outcomes.every(keepsLivingBounds) ? 0 : 1;
    return;
  }
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const results = await runEverywhere({ seeds, minutes, only });
  const missed = results.filter(({ cell, outcome }) => !keepsBounds(cell, outcome));
  const living = runLiving({ hours: 1, seed: first }, new RegExp(only));
  const peers = options["no-peers"] ? [] : await runPeers(first, minutes, only);

  if (options.json) console.log(JSON.stringify([...results, ...peers].map(toJson), null, 2));
  else {
    (options.all ? printAll : printSummary)([...results, ...peers]);
    printMissed(missed);
    if (living.length > 0) console.log("\nliving services");
    printLiving(living);
    console.log(
      `\n${missed.length} of our ${results.length} cells miss their bound (seeds ${options.seeds}).`,
    );
  }
  // Not process.exit: it would cut short what a pipe has not taken yet.
  process.exitCode = missed.length === 0 && living.every(keepsLivingBounds) ? 0 : 1;
}

function runSeeds({ seeds, minutes, only }: Task): Result[] {
  return seeds.flatMap((seed) =>
    cellsOf(seed, minutes)
      .filter((cell) => new RegExp(only).test(cell.scenario))
      .map((cell) => ({ sender: "quotekeeper", seed, cell, outcome: runOurs(cell, seed) })),
  );
}

async function runEverywhere(task: Task): Promise<Result[]> {
  const workerCount = Math.min(task.seeds.length, availableParallelism());
  if (workerCount === 1) return runSeeds(task);
  const shares = Array.from({ length: workerCount }, (_, index) => ({
    ...task,
    seeds: task.seeds.filter((_, at) => at % workerCount === index),
  }));
  const results = await Promise.all(
    shares.map(
      (share) =>
        new Promise<Result[]>((resolve, reject) => {
          const worker = new Worker(new URL(import.meta.url), { workerData: share });
          worker.once("message", resolve).once("error", reject);
        }),
    ),
  );
  return results.flat().sort((a, b) => a.seed - b.seed);
}

async function runPeers(seed: number, minutes: number, only: string): Promise<Result[]> {
  const results: Result[] = [];
  const cells = peerCells(seed, minutes).filter(({ scenario }) => scenario.includes(only));
  for (const sender of Object.keys(PEERS) as PeerName[]) {
    for (const cell of cells)
      results.push({ sender, seed, cell, outcome: await runPeer(sender, cell, seed) });
  }
  return results;
}

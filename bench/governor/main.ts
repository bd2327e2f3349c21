/**
 * npm run bench:governor -- [--all] [--json] [--seed N] [--minutes N] [--no-peers]
 *
 * Prints, for our governor and for what one would use instead, the share of the allowed calls used,
 * the refusals an hour and the longest pause: the worst cell per rule and scenario, or every cell
 * with `--all`. Exits 1 when our governor misses a bound in any cell.
 */
import { parseArgs } from "node:util";
import { PEERS, runPeer, type PeerName } from "./peers.ts";
import { runOurs } from "./ours.ts";
import { allCells, keepsBounds, peerCells } from "./matrix.ts";
import { printAll, printSummary, toJson, type Result } from "./report.ts";

const { values: options } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "60" },
    only: { type: "string", default: "" },
    "no-peers": { type: "boolean", default: false },
  },
});
const seed = Number(options.seed);
const minutes = Number(options.minutes);

const cells = allCells(minutes).filter((cell) => JSON.stringify(cell).includes(options.only));
const results: Result[] = cells.map((cell) => ({
  sender: "quotekeeper",
  cell,
  outcome: runOurs(cell, seed),
}));
const failed = results.filter(({ cell, outcome }) => !keepsBounds(cell, outcome));
if (!options["no-peers"]) {
  for (const sender of Object.keys(PEERS) as PeerName[]) {
    for (const cell of peerCells(minutes))
      results.push({ sender, cell, outcome: await runPeer(sender, cell, seed) });
  }
}

if (options.json) console.log(JSON.stringify(results.map(toJson), null, 2));
else {
  (options.all ? printAll : printSummary)(results);
  console.log(`\n${failed.length} of our ${cells.length} cells miss their bound (seed ${seed}).`);
}
// Not process.exit: it would cut short what a pipe has not taken yet.
process.exitCode = failed.length === 0 ? 0 : 1;

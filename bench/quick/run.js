/**
 * npm run bench:quick
 *
 * A regression found early: the shares of small runs of the benches beside the last recorded ones (recorded.json), in under
 * a minute. Exits 1 when one is below half of what was recorded. `-- --record` writes down what it sees.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const RECORDED = fileURLToPath(new URL("recorded.json", import.meta.url));

/** Below this part of what was recorded is a regression, and no machine's mood. */
const LEAST_PART = 0.5;

/** Small runs, and what is taken of their figures: the higher the better. */
const RUNS = [
  {
    script: ["bench/run.js", "ingest", "--minutes", "24", "--rounds", "1", "--answers", "10"],
    sharesOf: ({ bulk, live }) => ({
      "loader, new rows, of \\copy": bulk.shareOfLimit.ours,
      "loader, rows that are there, of \\copy": bulk.shareOfLimit.replayed,
      "by hand, of a live answer": 1 / live.timesByHand.commit,
      "by hand, of append to commit": 1 / live.timesByHand.fromJournal,
    }),
  },
  {
    script: ["bench/run.js", "backfill", "--quotes", "40000", "--rounds", "1"],
    sharesOf: ({ share, csv }) => ({ "replay, of \\copy": share, "CSV import, of \\copy": csv.share }),
  },
  {
    script: ["bench/run.js", "export", "--quotes", "50000", "--rounds", "1"],
    sharesOf: ({ share }) => ({ "export to Parquet, of \\copy": share }),
  },
  {
    script: ["bench/run.js", "start", "--rounds", "1"],
    sharesOf: ({ figures }) => {
      const msOf = (name) => figures.find((one) => one.name === name).ms;
      return Object.fromEntries(
        ["status", "poll", "first quotes after start"].map((name) => [
          `node -e 0, of ${name}`,
          msOf("node -e 0") / msOf(name),
        ]),
      );
    },
  },
];

const begunMs = performance.now();
const seen = {};
for (const { script, sharesOf } of RUNS) {
  const [file, ...argv] = script;
  // A bench that misses a bound of its own ends with 1, and has its figures all the same.
  Object.assign(seen, sharesOf(JSON.parse(run(file, [...argv, "--json"]))));
}
if (process.argv.includes("--record")) writeFileSync(RECORDED, `${JSON.stringify(rounded(seen), null, 2)}\n`);
const recorded = JSON.parse(readFileSync(RECORDED, "utf8"));
let regressions = 0;
for (const [name, share] of Object.entries(seen)) {
  const before = recorded[name];
  const isLow = before !== undefined && share < LEAST_PART * before;
  if (isLow) regressions += 1;
  console.log(
    `${name.padEnd(44)}${share.toFixed(2).padStart(6)}${(before?.toFixed(2) ?? "new").padStart(9)} recorded${isLow ? "   a regression" : ""}`,
  );
}
console.log(`${((performance.now() - begunMs) / 1_000).toFixed(0)} s.`);
process.exitCode = regressions === 0 ? 0 : 1;

function run(file, argv) {
  const ran = spawnSync(process.execPath, [file, ...argv], {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1e8,
  });
  if (ran.status !== 0 && !ran.stdout.trimStart().startsWith("{"))
    throw new Error(`${file} ended with ${ran.status}: ${ran.stdout}`);
  return ran.stdout;
}

function rounded(shares) {
  return Object.fromEntries(Object.entries(shares).map(([name, share]) => [name, Number(share.toFixed(3))]));
}

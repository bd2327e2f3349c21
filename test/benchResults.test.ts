/** What `npm run bench:NAME -- --record` leaves in the checkout: here a bench of our own in a checkout of its own. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { tempDir } from "./support/tempDir.ts";

const RECORD = fileURLToPath(new URL("../bench/record.js", import.meta.url));

/** "missed" measures and misses a bound, "throws" measures nothing. */
const BENCH = `
console.log(process.env.FIGURES);
if (process.argv.includes("missed")) process.exitCode = 1;
if (process.argv.includes("throws")) throw new Error("no database");`;

function checkout(): { run: (figures: string, ...args: string[]) => void; page: () => string } {
  const root = tempDir();
  mkdirSync(join(root, "bench", "fake"), { recursive: true });
  writeFileSync(join(root, "package.json"), '{ "type": "module", "devDependencies": {} }');
  writeFileSync(join(root, "bench", "fake", "run.js"), BENCH);
  return {
    run: (figures, ...args) =>
      void spawnSync(process.execPath, ["--import", RECORD, "bench/fake/run.js", ...args], {
        cwd: root,
        env: { FIGURES: figures },
      }),
    page: () => readFileSync(join(root, "bench", "fake", "RESULTS.md"), "utf8"),
  };
}

test("a recorded run of a bench replaces its own section of RESULTS.md, and leaves the others", () => {
  const { run, page } = checkout();

  run("0.6 of the limit", "--rounds", "3", "--record");
  run("0.1 of the limit", "--record", "missed");
  run("0.7 of the limit", "--rounds", "3", "--record");
  run("not recorded", "--rounds", "3");
  run("half a run", "throws", "--record");

  expect(page()).toMatch(/^# Results of `npm run bench:fake`\n/);
  expect(page().match(/^## .*|.* of the limit/gm)).toEqual([
    "## `npm run bench:fake -- --rounds 3`",
    "0.7 of the limit",
    "## `npm run bench:fake -- missed`",
    "0.1 of the limit",
  ]);
  expect(page().match(/^\d{4}-\d\d-\d\d; \d+ x .+, load .+; Node\.js /gm)).toHaveLength(2);
  expect(page()).not.toMatch(/not recorded|half a run/);
});

test("the command line in RESULTS.md shows no path and no address of its machine", () => {
  const { run, page } = checkout();

  run("figures", "--server", "postgresql://user@host/db", "--record");

  expect(page()).toContain("## `npm run bench:fake -- --server ...`");
});

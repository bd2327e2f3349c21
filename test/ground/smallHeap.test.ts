import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { compileModules, compileProgram } from "../support/compileProgram.ts";
import { tempDir } from "../support/tempDir.ts";

/** Makes 60 MB of objects, of which 20 MB live at a time, and says how large the space for new objects is then, in MB. */
const GROW = `
import { getHeapSpaceStatistics } from "node:v8";
function grow() {
  for (let round = 0; round < 3; round++) {
    const kept = [];
    for (let number = 0; number < 200_000; number++) kept.push({ number, text: "x" + number });
  }
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return Math.round(space.space_size / 2 ** 20);
}`;

function printed(script: string): unknown {
  const args = ["--input-type=module", "--eval", `${GROW}\n${script}`];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

test("the space for new objects stays small where V8 would let it grow, also behind a thread that has ended", () => {
  const dir = tempDir();
  compileModules(dir, "ground/smallHeap");
  const file = JSON.stringify(join(dir, "dist", "ground", "smallHeap.js"));

  const usual = printed("console.log(grow())");
  const small = printed(`
    import { once } from "node:events";
    import { Worker } from "node:worker_threads";
    import { keepHeapSmall, keepNewSpace } from ${file};
    keepHeapSmall();
    const before = grow();
    const thread = new Worker("0", { eval: true });
    thread.once("online", keepNewSpace);
    await once(thread, "exit");
    console.log(JSON.stringify([before, grow()]));`);

  expect(usual).toBeGreaterThanOrEqual(16);
  expect(small).toEqual([expect.any(Number), expect.any(Number)]);
  for (const megabytes of small as number[]) expect(megabytes).toBeLessThanOrEqual(4);
});

/** Keeps 40 MB of objects alive, makes many more, and says how large the heap became meanwhile, in MB. */
const CHURN = `
const objects = (count) => Array.from({ length: count }, (_, number) => ({ number, text: "x" + number }));
const [kept, recent] = [objects(600_000), []];
export default () => {
  let most = 0;
  gc();
  for (let round = 0; round < 700; round++) {
    recent.push(objects(2_000));
    if (recent.length > 200) recent.shift();
    most = Math.max(most, process.memoryUsage().heapUsed);
  }
  return kept.length > 0 ? most / 1e6 : 0;
};`;

test("a small heap grows less before it is collected than a large one", () => {
  const dir = tempDir();
  compileModules(dir, "ground/smallHeap");
  const [file, churn] = [join(dir, "dist", "ground", "smallHeap.js"), join(dir, "churn.mjs")];
  writeFileSync(churn, CHURN);
  const grownAs = (bytes: number): number => {
    const script = `
      import { keepHeapSmall } from ${JSON.stringify(file)};
      import churn from ${JSON.stringify(churn)};
      keepHeapSmall({ every: (measure) => measure(), usedBytes: () => ${bytes} });
      console.log(churn());`;
    // Collections beside the program would come when a processor is free.
    const args = ["--single-threaded", "--expose-gc", "--input-type=module", "--eval", script];
    return Number(execFileSync(process.execPath, args, { encoding: "utf8" }));
  };

  const [small, large] = [grownAs(30e6), grownAs(60e6)];
  expect(small).toBeGreaterThan(40);
  expect(small).toBeLessThan(large);
});

/** Prints the flags that the program gives to V8 when it ends. */
const TELL_FLAGS = `
import v8 from "node:v8";
import { syncBuiltinESMExports } from "node:module";
const flags = [];
const set = v8.setFlagsFromString;
v8.setFlagsFromString = (flag) => {
  flags.push(flag);
  set(flag);
};
syncBuiltinESMExports();
process.once("exit", () => process.stderr.write(flags.join(" ")));`;

test("the commands that run for months keep their heap small, and no others", () => {
  const program = compileProgram(tempDir());
  const preload = `data:text/javascript,${encodeURIComponent(TELL_FLAGS)}`;
  const flagsOf = (command: string): string =>
    spawnSync(process.execPath, ["--import", preload, program, command, "--help"], { encoding: "utf8" })
      .stderr;

  for (const lasting of ["start", "collect", "web"])
    expect(flagsOf(lasting)).toMatch(/--semi-space-growth-factor=1\b.*--heap-growing-percent=\d+/);
  expect(flagsOf("status")).toBe("");
});

/** Loaded into a collector: writes each block of its event loop to the file that LOOP_BLOCKS names, as lines of JSON. */
import { appendFileSync, readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/** How often is looked, and from which length on a block is told, in ms. */
const LOOK_EVERY_MS = 2;
const TOLD_FROM_MS = 2;

let lastMs = performance.now();
let lastCpuMs = threadMs();

// Threads load this file as well, and have event loops of their own.
if (isMainThread) {
  setInterval(() => {
    const nowMs = performance.now();
    const cpuMs = threadMs() - lastCpuMs;
    const wallMs = nowMs - lastMs - LOOK_EVERY_MS;
    if (wallMs >= TOLD_FROM_MS || cpuMs >= TOLD_FROM_MS) {
      const atMs = performance.timeOrigin + lastMs;
      appendFileSync(process.env.LOOP_BLOCKS, `${JSON.stringify({ atMs, wallMs, cpuMs })}\n`);
    }
    lastMs = performance.now();
    lastCpuMs = threadMs();
  }, LOOK_EVERY_MS).unref();
}

/** Processor time of this thread alone, in ms: what the compiler and the collector of garbage do beside it holds nothing up. */
function threadMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

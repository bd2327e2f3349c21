/** Loaded into a collector: writes each block of its event loop to the file that LOOP_BLOCKS names, as lines of JSON. */
import { appendFileSync } from "node:fs";

/** How often is looked, and from which length on a block is told, in ms. */
const LOOK_EVERY_MS = 2;
const TOLD_FROM_MS = 5;

let lastMs = performance.now();
let lastCpu = process.cpuUsage();

setInterval(() => {
  const nowMs = performance.now();
  const wallMs = nowMs - lastMs - LOOK_EVERY_MS;
  const cpu = process.cpuUsage();
  if (wallMs >= TOLD_FROM_MS) {
    const cpuMs = (cpu.user + cpu.system - lastCpu.user - lastCpu.system) / 1_000;
    const atMs = performance.timeOrigin + lastMs;
    appendFileSync(process.env.LOOP_BLOCKS, `${JSON.stringify({ atMs, wallMs, cpuMs })}\n`);
  }
  lastMs = performance.now();
  lastCpu = cpu;
}, LOOK_EVERY_MS).unref();

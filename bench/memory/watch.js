/**
 * Loaded into each thread of a program by `--import`: writes every other second what V8 holds, as a line of JSON, to the file that
 * MEMORY_FILE names. Its timer keeps no thread alive.
 */
import { appendFileSync } from "node:fs";
import { getHeapSpaceStatistics } from "node:v8";
import { threadId } from "node:worker_threads";

const LOOK_EVERY_MS = 2_000;

setInterval(() => {
  const { external } = process.memoryUsage();
  const held = Object.fromEntries(
    getHeapSpaceStatistics().map((space) => [space.space_name, space.physical_space_size]),
  );
  const used = getHeapSpaceStatistics().reduce((sum, space) => sum + space.space_used_size, 0);
  const line = JSON.stringify({ atMs: Date.now(), threadId, external, held, used });
  appendFileSync(process.env.MEMORY_FILE, `${line}\n`);
}, LOOK_EVERY_MS).unref();

/**
 * npm run bench:memory -- [--minutes N] [--json]
 *
 * Memory of the built program: `start` with its embedded PostgreSQL's own processes left out, the simulated service in it and its
 * dashboard open; and `collect` as one of two collectors of one database. Each with the example jobs, and with 5,000 symbols and two
 * chains. All of them run at once, for 6 minutes by default, of which the first third is warm-up. Prints what each held, where it
 * lies, and the bounds. Exits 1 when one is missed.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createPool } from "../../src/archive/connect/connect.ts";
import { startFaultServer } from "../../test/faults/kit/server.ts";
import { type Held, placesSaid } from "./held.ts";
import { type Jobs, type Running, startProgram } from "./program.ts";

const WARM_UP_SHARE = 1 / 3;

/** The most that each may hold after its warm-up, in MB. */
const MOST: Readonly<Record<Jobs, number>> = { examples: 110, many: 200 };

const TITLES: Readonly<Record<Jobs, string>> = {
  examples: "the example jobs",
  many: "5,000 symbols and two chains",
};

/** Two collectors share two accounts of the simulated service. */
const FLEET = { QUOTEKEEPER_SIMULATED_ACCOUNTS: "2" };

const { values: options } = parseArgs({
  options: { minutes: { type: "string", default: "6" }, json: { type: "boolean", default: false } },
});
const minutes = Number(options.minutes);
if (!(minutes > 0)) throw new Error(`expected minutes, got ${options.minutes}`);

const dir = mkdtempSync(join(tmpdir(), "quotekeeper-memory-"));
// PostgreSQL does not run as root but as another user, who has to get in.
chmodSync(dir, 0o755);
const server = await startFaultServer();
try {
  const measured = await measure();
  const misses = measured.filter(({ held, most }) => !(held.most <= most)).map(({ title }) => title);
  if (options.json) console.log(JSON.stringify({ minutes, measured, misses }, null, 2));
  else report(measured, misses);
  process.exitCode = misses.length === 0 ? 0 : 1;
} finally {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
}

type Measured = { title: string; most: number; held: Held; stored: string };

async function measure(): Promise<Measured[]> {
  const running: { title: string; most: number; program: Running }[] = [];
  const others: Running[] = [];
  for (const jobs of ["many", "examples"] as const) {
    const start = await startProgram(join(dir, `start-${jobs}`), { command: "start", jobs });
    running.push({ title: `start, ${TITLES[jobs]}`, most: MOST[jobs], program: start });
    const env = { ...FLEET, DATABASE_URL: await makeDatabase(jobs) };
    const first = await startProgram(join(dir, `one-${jobs}`), { command: "collect", jobs, env });
    running.push({ title: `a fleet's collector, ${TITLES[jobs]}`, most: MOST[jobs], program: first });
    others.push(await startProgram(join(dir, `two-${jobs}`), { command: "collect", jobs, env }));
  }
  const wholeMs = minutes * 60_000;
  await delay(wholeMs);
  const measured: Measured[] = [];
  for (const { title, most, program } of running) {
    const held = program.watch.held(wholeMs * WARM_UP_SHARE);
    measured.push({ title, most, held, stored: await program.end() });
  }
  for (const other of others) await other.end();
  return measured;
}

async function makeDatabase(name: string): Promise<string> {
  const admin = createPool(server.url, { max: 1 });
  await admin.query(`create database ${name}`).finally(() => admin.end());
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

function report(measured: readonly Measured[], misses: readonly string[]): void {
  console.log(`${minutes} minutes, all at once; MB, after a third of it as warm-up.`);
  for (const { title, most, held, stored } of measured) {
    const { median, most: worst, peak, pss, places } = held;
    console.log(
      `\n${title}: ${median.toFixed(0)} resident in the median, ${worst.toFixed(0)} at most, ${most} allowed`,
    );
    console.log(
      `  ${stored}; ${pss.toFixed(0)} but for what processes share; ${peak.toFixed(0)} for a moment at some time, the start included`,
    );
    for (const line of placesSaid(places)) console.log(line);
  }
  console.log(misses.length === 0 ? "\nAll bounds hold." : `\nAbove its bound: ${misses.join("; ")}.`);
}

/**
 * npm run bench:start -- [--json] [--rounds N]
 *
 * Measures, by the clock on the wall and with nothing configured: from `npm start` with an empty data directory to the first
 * quotes in the tables, npm's own start included and seen by a connection of its own; then `status` and `poll` beside that
 * collector; and `node -e 0`, below which nothing comes.
 * Medians of the rounds; exits 1 when one is above its bound.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { makeServerDir } from "../../test/support/postgres/server.ts";
import { runProgram } from "../backfill/program.ts";
import { median } from "../ingest/report.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The most that each may take, in ms; null: measured to compare with. */
const BOUNDS = { "first quotes after start": 3_000, status: 1_000, poll: 1_000, "node -e 0": null };

const LOOK_EVERY_MS = 10;

const { values: options } = parseArgs({
  options: { json: { type: "boolean", default: false }, rounds: { type: "string", default: "5" } },
});

const rounds: Record<keyof typeof BOUNDS, number>[] = [];
const dirs: string[] = [];
try {
  for (let round = 0; round < Number(options.rounds); round++) {
    dirs.push(makeServerDir());
    rounds.push(await measure(dirs[round] ?? ""));
  }
} finally {
  // Not between the rounds: ext4 makes files slowly for a minute after as many were removed, and a first start does not.
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
}
report();

async function measure(dir: string): Promise<Record<keyof typeof BOUNDS, number>> {
  const env = { QUOTEKEEPER_DATA_DIR: join(dir, "data"), QUOTEKEEPER_HTTP_PORT: "0" };
  const startMs = performance.now();
  const child = spawn("npm", ["start"], {
    ...{ cwd: ROOT, stdio: ["ignore", "pipe", "ignore"], detached: true },
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
  // What npm started holds the pipe, and may outlive npm.
  const ended = once(child, "close");
  try {
    await firstQuotes(await databaseOf(child));
    const startedMs = performance.now() - startMs;
    return {
      "first quotes after start": startedMs,
      status: (await runProgram(["status"], env)).ms,
      poll: (await runProgram(["poll", "--symbols", "AAPL"], env)).ms,
      "node -e 0": await bare(),
    };
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await ended;
  }
}

/** The reader's address, which the program prints. */
async function databaseOf({ stdout }: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((found, failed) => {
    let text = "";
    // Read to its end: a program that nobody reads any more ends.
    stdout?.on("data", (piece: Buffer) => {
      text += piece.toString();
      const [, url] = /^Database +(\S+)/m.exec(text) ?? [];
      if (url !== undefined) found(url);
    });
    stdout?.once("close", () => failed(new Error(`start ended: ${text}`)));
  });
}

async function firstQuotes(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    while ((await client.query("select from quotes limit 1")).rowCount === 0) await delay(LOOK_EVERY_MS);
  } finally {
    await client.end();
  }
}

async function bare(): Promise<number> {
  const startMs = performance.now();
  await once(spawn(process.execPath, ["-e", "0"]), "exit");
  return performance.now() - startMs;
}

function report(): void {
  const figures = Object.entries(BOUNDS).map(([name, mostMs]) => {
    const each = rounds.map((one) => one[name as keyof typeof BOUNDS]);
    return { name, mostMs, ms: median(each), each };
  });
  const misses = figures.filter(({ ms, mostMs }) => mostMs !== null && ms > mostMs).map(({ name }) => name);
  process.exitCode = misses.length === 0 ? 0 : 1;
  if (options.json) return console.log(JSON.stringify({ figures, misses }, null, 2));
  const seconds = (ms: number): string => (ms / 1_000).toFixed(2);
  for (const { name, ms, mostMs, each } of figures)
    console.log(
      `${name.padEnd(26)}${seconds(ms)} s${mostMs === null ? "" : `, at most ${seconds(mostMs)}`}; each round: ${each.map(seconds).join(", ")}`,
    );
  console.log(
    `${availableParallelism()} processors, load ${(loadavg()[0] ?? NaN).toFixed(1)} in the last minute, this run included.`,
  );
  console.log(misses.length === 0 ? "All bounds hold." : `Above its bound: ${misses.join(", ")}.`);
}

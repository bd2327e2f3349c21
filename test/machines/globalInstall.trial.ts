import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { PROCESSES } from "../../src/ground/processes.ts";
import { clone, launch, must, promised, until } from "./programs.ts";
import type { Trial } from "./trial.ts";

/** What an installation may take, without PostgreSQL. */
const MOST = { bytes: 12_000_000, seconds: 20 };

/** The system's unit of `blocks`. */
const BLOCK = 512;

export const trial: Trial = {
  name: "globalInstall",
  title:
    "`npm pack`, `npm install --global` of the tarball without optional packages into a place of its own, `quotekeeper start` in an empty directory, without a terminal; then the same by `npx` of the tarball.",
  run: async ({ dir, say }) => {
    const [checkout, prefix] = [join(dir, "checkout"), join(dir, "prefix")];
    await clone(checkout);
    await must("npm", ["ci", "--ignore-scripts"], { cwd: checkout });
    await must("npm", ["pack", "--pack-destination", dir], { cwd: checkout });
    const tarball = join(dir, readdirSync(dir).find((name) => name.endsWith(".tgz")) ?? "nothing.tgz");
    say(`${megabytes(statSync(tarball).size)} packed`);

    const began = performance.now();
    const flags = ["--global", "--omit=optional", "--prefix", prefix];
    const installed = await must("npm", ["install", ...flags, tarball], { cwd: dir });
    const seconds = secondsSince(began);
    promised(!/EBADENGINE|install-scripts|allowScripts/.test(installed), "npm warns of nothing", installed);
    const bytes = bytesBelow(prefix);
    promised(bytes <= MOST.bytes && seconds <= MOST.seconds, "a small install, and a quick one", {
      bytes,
      seconds,
    });
    say(`${megabytes(bytes)} on the disk after ${seconds.toFixed(1)} s`);

    const firstRows = await collects(join(dir, "empty"), [join(prefix, "bin", "quotekeeper"), "start"]);
    say(`first rows ${firstRows.toFixed(1)} s after the start, PostgreSQL fetched in them`);
    const npx = ["npx", "--yes", "--package", tarball, "quotekeeper", "start"];
    const byNpx = await collects(join(dir, "by-npx"), npx);
    say(`by npx first rows after ${byNpx.toFixed(1)} s`);
    return `npm ${(await must("npm", ["--version"], { cwd: dir })).trim()} on Node ${process.version} warns of nothing; ${megabytes(bytes)} installed in ${seconds.toFixed(1)} s; the examples were put into ./jobs, PostgreSQL was fetched, the first simulated quotes were stored ${firstRows.toFixed(1)} s after the start, and ${byNpx.toFixed(1)} s after npx`;
  },
};

/**
 * Starts the program in a directory that it has to itself, with nothing that was kept of npm's packages for npx, and ends it.
 *
 * @returns seconds until the first rows were stored
 */
async function collects(empty: string, [command = "", ...args]: readonly string[]): Promise<number> {
  mkdirSync(empty);
  const began = performance.now();
  const env = { QUOTEKEEPER_HTTP_PORT: "0" };
  const program = launch(command, args, { cwd: empty, env });
  await program.said(/^Ctrl-C ends it/m);
  await firstRow(/^Database +(\S+)/m.exec(program.text())?.[1] ?? "");
  const seconds = secondsSince(began);
  const pidFile = join(empty, "data", "postgres", "postmaster.pid");
  const postgres = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  program.child.kill("SIGTERM");
  const code = await program.closed;
  const text = program.text();
  // npx ends by the signal that it has passed on, after the program.
  const ended = code === (command === "npx" ? "SIGTERM" : 0) && /^Stored \d+ quotes/m.test(text);
  promised(ended && !PROCESSES.isRunning(postgres), "it ends in order", `${code}:\n${text}`);
  promised(
    /it now holds the example jobs/.test(text) && text.includes("SIMULATED"),
    "the examples are named",
    text,
  );
  return seconds;
}

/** The line of progress comes every ten seconds: the database is asked instead. */
async function firstRow(url: string): Promise<void> {
  const reader = new pg.Client(url);
  await reader.connect();
  try {
    await until(async () => (await reader.query("select from quotes limit 1")).rowCount === 1);
  } finally {
    await reader.end();
  }
}

function secondsSince(began: number): number {
  return (performance.now() - began) / 1_000;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** As `du` counts: whole blocks, directories with them. */
function bytesBelow(dir: string): number {
  const entries = readdirSync(dir, { recursive: true, encoding: "utf8" });
  return entries.reduce((sum, name) => sum + statSync(join(dir, name)).blocks * BLOCK, 0);
}

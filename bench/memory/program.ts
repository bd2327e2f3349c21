/** The built program as a process: `start` with its dashboard open, or `collect`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { writeManySymbols } from "./jobs.ts";
import { MemoryWatch, watchedBy } from "./held.ts";

const BIN = fileURLToPath(new URL("../../bin/quotekeeper.js", import.meta.url));

/** How often an open page asks, in ms. */
const LOOK_EVERY_MS = 2_000;

/** What an open page asks for: the view Now, and the quotes that are new. */
const PAGES = ["/api/now", "/api/quotes"];

/** Other views are looked at after so many questions. */
const OTHERS_AFTER = 10;
const OTHERS = ["/api/chains", "/metrics"];

export type Jobs = "examples" | "many";

export type Running = {
  watch: MemoryWatch;
  /** Ends it. @returns what it wrote at its end: how much it stored */
  end: () => Promise<string>;
};

/** @param dir a directory of its own, which is made */
export async function startProgram(
  dir: string,
  { command, jobs, env = {} }: { command: "start" | "collect"; jobs: Jobs; env?: Record<string, string> },
): Promise<Running> {
  mkdirSync(dir, { mode: 0o755 });
  if (jobs === "many") writeManySymbols(join(dir, "jobs"));
  const file = join(dir, "memory");
  const child = spawn(process.execPath, [BIN, command], {
    cwd: dir,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"] ?? "",
      QUOTEKEEPER_HTTP_PORT: "0",
      // Enough for all of them.
      ...(jobs === "many" && { QUOTES_LIMIT: "300", QUOTES_LIMIT_WINDOW_MS: "60000" }),
      ...watchedBy(file),
      ...env,
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece: Buffer) => (output = (output + piece.toString()).slice(-20_000)));
  const ended = once(child, "close");
  const watch = new MemoryWatch(child.pid ?? -1, file);
  const looking = new AbortController();
  if (command === "start") {
    while (!/^Dashboard +http/m.test(output) && child.exitCode === null) await delay(20);
    const [, address = ""] = /^Dashboard +(\S+)/m.exec(output) ?? [];
    void keepOpen(address, looking.signal);
  }
  return {
    watch,
    end: async () => {
      looking.abort();
      watch.end();
      if (child.exitCode !== null) throw new Error(`quotekeeper ${command} ended: ${output}`);
      child.kill("SIGTERM");
      await ended;
      return /^Stored .*? answers/m.exec(output)?.[0] ?? output.slice(-500);
    },
  };
}

/** As a browser does: it asks what is new, and for other views now and then. */
async function keepOpen(address: string, signal: AbortSignal): Promise<void> {
  const cursors = new Map<string, string>();
  for (let asked = 0; !signal.aborted; asked++) {
    for (const page of asked % OTHERS_AFTER === 0 ? [...PAGES, ...OTHERS] : PAGES)
      await read(address + page, cursors).catch(() => undefined);
    await delay(LOOK_EVERY_MS, null, { signal }).catch(() => undefined);
  }
}

async function read(url: string, cursors: Map<string, string>): Promise<void> {
  const since = cursors.get(url);
  // What is cut off when the program ends is nobody's loss.
  const text = await (await fetch(since === undefined ? url : `${url}?since=${since}`)).text();
  const cursor = /^\{"cursor":"([^"]*)"/.exec(text)?.[1];
  if (cursor !== undefined) cursors.set(url, cursor);
}

/** How long a person waits for the first quotes, and for the end; no bound, for machines differ: the figures are reported. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileProgram } from "../support/compileProgram.ts";
import { until } from "../support/until.ts";
import type { Trial } from "./trial.ts";

const JOBS = fileURLToPath(new URL("../../jobs/", import.meta.url));

export const trial: Trial = {
  name: "start-times",
  title:
    "A first start in an empty directory, with the embedded database and the simulated market, and Ctrl-C.",
  run: async ({ dir }) => {
    const bin = compileProgram(join(dir, "program"));
    const work = join(dir, "work");
    mkdirSync(work);
    cpSync(JOBS, join(work, "jobs"), { recursive: true });
    // The embedded server runs as another user when the trial runs as root.
    for (const path of [dir, work]) chmodSync(path, 0o755);
    const began = performance.now();
    const child = spawn(process.execPath, [bin, "start"], {
      cwd: work,
      env: { PATH: process.env["PATH"] ?? "", QUOTEKEEPER_HTTP_PORT: "0" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until(() => {
      if (child.exitCode !== null) throw new Error(`it has ended by itself:\n${said}`);
      return /[1-9]\d* rows stored/.test(said);
    }, "the first rows");
    const stored = performance.now();
    child.kill("SIGINT");
    const [exitCode] = (await once(child, "close")) as [number];
    if (exitCode !== 0) throw new Error(`it ended with ${exitCode}:\n${said}`);
    const seconds = (from: number, to: number): string => `${((to - from) / 1_000).toFixed(1)} s`;
    return `first rows after ${seconds(began, stored)}, ended ${seconds(stored, performance.now())} after Ctrl-C, exit code 0`;
  },
};

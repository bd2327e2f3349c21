/** `quotekeeper collect` as a process of its own, in a process group of its own, to be killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Output kept of a collector, in characters: enough for what it said last. */
const KEPT_OUTPUT = 20_000;

/** Longest wait for a collector that was asked to end, in ms. */
const END_WITHIN_MS = 20_000;

/** A running collector. */
export type CollectorProcess = {
  pid: number;
  /** What it wrote last, both streams. */
  output: () => string;
  isRunning: () => boolean;
  /** Resident memory in MB; null when it has ended. */
  rssMb: () => number | null;
  /** Open descriptors; null when it has ended. */
  descriptors: () => number | null;
  /** kill -9 of its process group; resolves when it is gone. */
  kill: () => Promise<void>;
  /** SIGTERM; resolves with its exit code, null when it had to be killed. */
  end: () => Promise<number | null>;
};

const running = new Set<ChildProcess>();
// The way out when the run itself is ended: nothing is left behind.
process.once("exit", () => running.forEach(({ pid }) => killGroup(pid)));

/** Starts it; returns at once. */
export function startCollector(bin: string, env: Record<string, string>, cwd: string): CollectorProcess {
  const child = spawn(process.execPath, ["--enable-source-maps", bin, "collect"], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-KEPT_OUTPUT)));
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  const { pid = -1 } = child;
  return {
    pid,
    output: () => output,
    isRunning: () => running.has(child),
    rssMb: () => readRssMb(pid),
    descriptors: () => countDescriptors(pid),
    kill: async () => {
      if (running.has(child)) killGroup(pid);
      await ended;
    },
    end: async () => {
      if (running.has(child)) child.kill("SIGTERM");
      const hung = setTimeout(() => killGroup(pid), END_WITHIN_MS);
      return ended.finally(() => clearTimeout(hung));
    },
  };
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined && pid > 1) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function readRssMb(pid: number): number | null {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) / 1_024;
  } catch {
    return null;
  }
}

function countDescriptors(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

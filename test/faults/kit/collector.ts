/** `quotekeeper collect` as a process of its own, in a process group of its own, to be killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** Output kept of a collector, in characters: enough for what it said last. */
const KEPT_OUTPUT = 20_000;

/** Has V8 say on stdout what each full collection of garbage left, in a line that HEAP_LEFT knows. */
const TELL_HEAP = ["--trace-gc", "--trace-gc-ignore-scavenger"];
const HEAP_LEFT = /^\[\d+:.*Mark-Compact.* -> ([\d.]+) \(/;

/** A running collector. */
export type CollectorProcess = {
  pid: number;
  /** What it wrote last, both streams. */
  output: () => string;
  isRunning: () => boolean;
  /** Resident memory in MB; null when it has ended. */
  rssMb: () => number | null;
  /** The heap that the last full collection of garbage left, in MB; null before the first. */
  heapMb: () => number | null;
  /** Open descriptors; null when it has ended. */
  descriptors: () => number | null;
  /** kill -9 of its process group; resolves when it is gone. */
  kill: () => Promise<void>;
  /** Has it stand still, as a machine that sleeps does, and go on. */
  pause: () => void;
  goOn: () => void;
  /** SIGTERM; resolves with its exit code, null when it was killed. */
  end: () => Promise<number | null>;
};

const running = new Set<ChildProcess>();
// The way out when the run itself is ended: nothing is left behind.
process.once("exit", () => running.forEach(({ pid }) => killGroup(pid)));

/** Starts it; returns at once. */
export function startCollector(bin: string, env: Record<string, string>, cwd: string): CollectorProcess {
  const child = spawn(process.execPath, [...TELL_HEAP, "--enable-source-maps", bin, "collect"], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  let output = "";
  let heapMb: number | null = null;
  const keep = (text: string): void => void (output = (output + text).slice(-KEPT_OUTPUT));
  child.stderr.on("data", (chunk: Buffer) => keep(chunk.toString()));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const left = HEAP_LEFT.exec(line)?.[1];
    if (left !== undefined) heapMb = Number(left);
    else if (!/^\[\d+:0x/.test(line)) keep(`${line}\n`);
  });
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
    heapMb: () => heapMb,
    descriptors: () => countDescriptors(pid),
    kill: async () => {
      if (running.has(child)) killGroup(pid);
      await ended;
    },
    pause: () => void child.kill("SIGSTOP"),
    goOn: () => void child.kill("SIGCONT"),
    end: async () => {
      if (running.has(child)) child.kill("SIGTERM");
      return ended;
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

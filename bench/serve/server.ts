/** The servers under load, each in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** A running server. */
export type Server = {
  pid: number;
  baseUrl: string;
  /** Resident memory, MB. */
  memoryMb: () => number;
  /** Processor time used so far, ms; NaN where the system does not say. */
  cpuMs: () => number;
  close: () => Promise<void>;
};

/** Starts a node program and waits until it says where it listens. */
export async function startServer(
  argv: readonly string[],
  env: Record<string, string> = {},
): Promise<Server> {
  const child = spawn(process.execPath, argv, {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const baseUrl = await addressOf(child);
  const pid = child.pid ?? 0;
  return {
    pid,
    baseUrl,
    memoryMb: () => Number(/^VmRSS:\s+(\d+)/m.exec(proc(pid, "status"))?.[1] ?? NaN) / 1024,
    cpuMs: () => {
      // Fields after the name in parentheses: utime and stime are the 12th and 13th, in ticks of 10 ms.
      const fields = proc(pid, "stat").split(") ")[1]?.split(" ") ?? [];
      return (Number(fields[11]) + Number(fields[12])) * 10;
    },
    close: async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function addressOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error("no output");
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    const address = /(http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (address === undefined) continue;
    child.stdout.resume();
    return address;
  }
  throw new Error("the server ended before it listened");
}

function proc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

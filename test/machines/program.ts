/** The program under trial, as a process of its own. */
import { spawn } from "node:child_process";

/** A running program. */
export type Program = {
  /** What it has written, both streams. */
  output: () => string;
  isRunning: () => boolean;
  signal: (name: NodeJS.Signals) => void;
  /** Its exit code; null when a signal ended it. */
  exit: Promise<number | null>;
};

/** Starts it; `env` is all it knows besides PATH. */
export function startProgram(
  bin: string,
  args: string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Program {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    output: () => output,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    signal: (name) => void child.kill(name),
    exit,
  };
}

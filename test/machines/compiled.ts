/** The program as it is now, compiled for one trial, and run as by a person. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { compileProgram } from "../support/compileProgram.ts";

/** What a command ended with and wrote. */
export type Ended = { code: number; stdout: string; stderr: string };

/** A command that goes on. */
export type Running = { child: ChildProcess; written: () => string; ended: Promise<unknown> };

/** The compiled program with the settings of one trial. */
export type Compiled = {
  bin: string;
  run: (...args: string[]) => Promise<Ended>;
  launch: (...args: string[]) => Running;
};

/** @param dir where it is compiled into; `env` beside PATH is all that it is told */
export function compiled(dir: string, env: Record<string, string>): Compiled {
  const bin = compileProgram(dir);
  const options = { cwd: dir, env: { PATH: process.env["PATH"] ?? "", ...env } };
  return {
    bin,
    run: (...args) => ended(process.execPath, [bin, ...args], options),
    launch: (...args) => {
      const child = spawn(process.execPath, [bin, ...args], {
        ...options,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let written = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (written += chunk.toString()));
      return {
        child,
        written: () => written,
        ended: new Promise((resolve) => child.once("close", resolve)),
      };
    },
  };
}

/** Runs a program to its end, however that is. */
export function ended(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { ...options, maxBuffer: 1e8 }, (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") reject(error);
      else resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

/** Resolves when something holds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await delay(100);
}

/** @throws Error with what was seen, when it is not what was promised */
export function promised(holds: boolean, what: string, seen: unknown): void {
  if (!holds) throw new Error(`${what}; seen: ${typeof seen === "string" ? seen : JSON.stringify(seen)}`);
}

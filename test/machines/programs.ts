/** Runs programs as a person would type them, and tells what they wrote. */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { compileProgram } from "../support/compileProgram.ts";
import { LeftOut } from "./trial.ts";

/** The checkout. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What a program is given. */
export type Given = { cwd: string; env?: Record<string, string> };

/** A program that runs. */
export type Running = {
  child: ChildProcess;
  /** All it wrote so far, both streams. */
  text: () => string;
  /** Resolves as soon as it has written that; rejects when it ends before. */
  said: (pattern: RegExp) => Promise<void>;
  /** Its exit code or signal, when it and everything it started have let go of its output. */
  closed: Promise<number | string>;
};

/** Starts a program with the environment of a new shell. */
export function launch(command: string, args: readonly string[], { cwd, env = {} }: Given): Running {
  // What npm tells this run about its own project is not for another.
  const clean = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS)/.test(name));
  const child = spawn(command, args, {
    cwd,
    env: { ...Object.fromEntries(clean), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let written = "";
  let changed = (): void => undefined;
  const take = (chunk: Buffer): void => {
    written += chunk.toString();
    changed();
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  const closed = new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? "nothing"));
  });
  closed.catch(() => undefined);
  const said = (pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      changed = () => {
        if (pattern.test(written)) resolve();
      };
      changed();
      closed.then((end) => reject(new Error(`${command} ended with ${end} and wrote:\n${written}`)), reject);
    });
  return { child, text: () => written, said, closed };
}

/** Runs a program to its end. */
export async function finish(
  command: string,
  args: readonly string[],
  given: Given,
): Promise<{ code: number | string; text: string }> {
  const { closed, text } = launch(command, args, given);
  return { code: await closed, text: text() };
}

/** The same, where anything but exit code 0 is an error. */
export async function must(command: string, args: readonly string[], given: Given): Promise<string> {
  const { code, text } = await finish(command, args, given);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${text}`);
  return text;
}

/** A clone of this checkout's last commit. @throws LeftOut without git */
export async function clone(into: string): Promise<void> {
  await must("git", ["clone", "--quiet", ROOT, into], { cwd: ROOT }).catch((cause: unknown) => {
    throw new LeftOut("git clone does not work here", { cause });
  });
}

/** Whether it has not ended yet. */
export function runs({ child }: Running): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** This program as it is now, compiled, with the settings of one trial. */
export type Compiled = {
  run: (...args: string[]) => Promise<{ code: number | string; text: string }>;
  launch: (...args: string[]) => Running;
};

/** @param dir where it is compiled into, and works */
export function compiled(dir: string, env: Record<string, string>): Compiled {
  const bin = compileProgram(dir);
  const given = { cwd: dir, env };
  return {
    run: (...args) => finish(process.execPath, [bin, ...args], given),
    launch: (...args) => launch(process.execPath, [bin, ...args], given),
  };
}

/** Resolves when something holds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await delay(100);
}

/** @throws Error with what was seen, when it is not what was promised */
export function promised(holds: boolean, what: string, seen: unknown): void {
  if (!holds) throw new Error(`${what}; seen: ${typeof seen === "string" ? seen : JSON.stringify(seen)}`);
}

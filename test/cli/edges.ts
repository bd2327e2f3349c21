/** The outside as a command sees it, with everything it writes kept. */
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/ground/clock.ts";
import type { Edges, Sink } from "../../src/ground/edges.ts";
import { runProgram } from "../../src/cli/program.ts";
import { tempDir } from "../support/tempDir.ts";

/** Edges whose output a test reads. */
export type CapturedEdges = {
  edges: Edges;
  /** What has been written so far. */
  stdout: () => string;
  stderr: () => string;
  /** Ctrl-C. */
  interrupt: () => void;
  /** Resolves with the first match of what stdout holds, as soon as it is there. */
  said: (pattern: RegExp) => Promise<RegExpExecArray>;
};

/**
 * @param options.env the only variables the command sees. Where they name no data directory it is none of the checkout's: somebody may
 *   have started the program there.
 */
export function capturedEdges(options: Partial<Edges> & { isTTY?: boolean } = {}): CapturedEdges {
  const written = { stdout: "", stderr: "" };
  const listeners = new Set<(signal: string) => void>();
  let changed: () => void = () => undefined;
  const { isTTY = false, directory = tempDir(), env, ...overrides } = options;
  const sink = (name: "stdout" | "stderr"): Sink => ({
    isTTY,
    columns: 100,
    write: (text) => {
      written[name] += text;
      changed();
    },
  });
  return {
    edges: {
      clock: systemClock,
      // A day: what a machine that has just started must take care of does not apply.
      uptimeSeconds: () => 86_400,
      // No boot to go by: a test's clock is moved, and the machine's is not.
      bootId: null,
      stdout: sink("stdout"),
      stderr: sink("stderr"),
      env: { QUOTEKEEPER_DATA_DIR: join(directory, "data"), ...env },
      directory,
      onInterrupt: (callback) => {
        listeners.add(callback);
        return () => listeners.delete(callback);
      },
      ...overrides,
    },
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    interrupt: () => listeners.forEach((callback) => callback("SIGINT")),
    said: (pattern) =>
      new Promise((resolve) => {
        changed = () => {
          const match = pattern.exec(written.stdout);
          if (match) resolve(match);
        };
        changed();
      }),
  };
}

/** How a command ended, and all it wrote. */
export type Outcome = { exitCode: number; stdout: string; stderr: string };

/** Runs one command line to its end. */
export async function run(
  argv: readonly string[],
  env: Record<string, string> = {},
  clock: Clock = systemClock,
): Promise<Outcome> {
  const { edges, stdout, stderr } = capturedEdges({ env, clock });
  const exitCode = await runProgram(argv, edges);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

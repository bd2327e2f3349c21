/** The files that `quotekeeper init` writes: their texts, and how all of them or none get to their places. */
import { lstat, mkdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parse as parseDotenv } from "dotenv";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { Service } from "../../services/service.ts";
import { type Chain, needsList } from "../../market/optionChain.ts";

/** @param session as a job file has it */
export function symbolsFile(
  symbols: readonly string[],
  session: string,
  { batch }: Pick<Service, "batch">,
): string {
  return `# Written by \`quotekeeper init\`. All options: docs/jobs.md. A change takes effect while the program runs.
name: symbols
schedule: "* * * * *" # cron: every minute
session: ${session} # pre | regular | post | any (pre, regular and post) | always
symbols: [${symbols.map(quoted).join(", ")}] # up to ${batch.first} are one call
`;
}

export function chainsFile(
  chains: readonly Chain[],
  session: string,
  { batch, optionsInList }: Pick<Service, "batch" | "optionsInList">,
): string {
  const listed = chains.some(needsList) ? "A whole expiration is one call. " : "";
  const cost = optionsInList
    ? `${listed}Up to ${batch.first} contracts are one call`
    : "Each contract is a call of its own";
  const entries = chains.map(
    ({ underlying, expirations, strikes }) =>
      `  - { underlying: ${quoted(underlying)}, expirations: ${flow(expirations)}, strikes: ${flow(strikes)} }\n`,
  );
  return `# Written by \`quotekeeper init\`. ${cost}: \`quotekeeper plan\` counts them.
name: chains
schedule: "* * * * *" # cron: every minute
session: ${session} # pre | regular | post | any (pre, regular and post) | always
chains: # calls and puts; expired ones drop out by themselves
${entries.join("")}`;
}

function flow(options: object | string): string {
  if (typeof options === "string") return options;
  return `{ ${Object.entries(options)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ")} }`;
}

/** Quotes a symbol that YAML could read as something else. */
function quoted(symbol: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9.]*$/.test(symbol) ? symbol : JSON.stringify(symbol);
}

export function environmentFile(lines: readonly string[]): string {
  const has = (name: string): boolean => lines.some((line) => line.startsWith(`${name}=`));
  return [
    "# Written by `quotekeeper init`. All settings: docs/configuration.md. What the environment sets goes before it.",
    ...(has("QUOTES_SERVICE") || has("QUOTES_BASE_URL")
      ? []
      : [
          "# Unless QUOTES_BASE_URL or QUOTES_SERVICE says otherwise, the simulated market is polled. An account needs its credentials too.",
        ]),
    ...(has("DATABASE_URL")
      ? []
      : ["# Unless DATABASE_URL is set, the database is the embedded one, in the data directory."]),
    ...lines,
    "",
  ].join("\n");
}

/** A line of `.env` that dotenv reads as exactly this value; null: the value holds every kind of quotation mark. */
export function environmentLine(name: string, value: string): string | null {
  const ways = ["", "'", '"', "`"].map((mark) => `${name}=${mark}${value}${mark}`);
  return ways.find((line) => parseDotenv(line)[name] === value) ?? null;
}

/**
 * The paths at which something exists, if only a broken link; or, if their directories' places are taken by something
 * else, those places.
 *
 * @returns each as a message names it
 * @throws QuotekeeperError INIT_WRITE_FAILED when a path cannot be looked at
 */
export async function thereAlready(paths: readonly string[]): Promise<string[]> {
  const blocked: (string | null)[] = [];
  for (const dir of new Set(paths.map((path) => dirname(path))))
    if (!(await stat(dir).catch(() => null))?.isDirectory())
      blocked.push(await foundAt(dir).catch(() => null));
  const named = blocked.filter((each) => each !== null);
  if (named.length > 0) return named;
  const found: (string | null)[] = [];
  // One after the other: of several paths the first is named.
  for (const path of paths) {
    try {
      found.push(await foundAt(path));
    } catch (error) {
      throw writeFailed(path, error);
    }
  }
  return found.filter((each) => each !== null);
}

/** The path, and what is there unless it is a file; null: nothing is there. */
async function foundAt(path: string): Promise<string | null> {
  try {
    const stats = await lstat(path);
    if (stats.isDirectory()) return `${path} (a directory)`;
    if (!stats.isSymbolicLink()) return path;
    const leads = await stat(path).catch(() => null);
    return `${path} (a link${leads === null ? " that leads nowhere" : ""})`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return null;
  }
}

export function filesExist(paths: readonly string[]): QuotekeeperError {
  const [is, it] = paths.length === 1 ? ["is", "it"] : ["are", "them"];
  return new QuotekeeperError(
    "INIT_EXISTS",
    `${paths.join(" and ")} ${is} there already, and init never overwrites ${it}`,
  );
}

/**
 * Writes all files or none, and overwrites nothing.
 *
 * @param files texts by path; only its owner may read `.env`
 * @throws QuotekeeperError INIT_EXISTS, INIT_WRITE_FAILED
 */
export async function placeFiles(files: ReadonlyMap<string, string>): Promise<void> {
  const made: string[] = [];
  const placed: string[] = [];
  for (const [path, text] of files) {
    try {
      if ((await mkdir(dirname(path), { recursive: true })) !== undefined) made.push(dirname(path));
      await writeFile(path, text, { mode: path.endsWith(".env") ? 0o600 : 0o666, flag: "wx" });
      placed.push(path);
    } catch (error) {
      // A disk may have become full within the file.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST")
        await rm(path, { force: true }).catch(() => null);
      for (const one of placed) await rm(one, { force: true });
      // `start` writes no examples into a jobs directory that exists.
      for (const dir of made) await rmdir(dir).catch(() => undefined);
      const there = await thereAlready([path]).catch(() => []);
      throw there.length > 0 ? filesExist(there) : writeFailed(path, error);
    }
  }
}

function writeFailed(path: string, cause: unknown): QuotekeeperError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new QuotekeeperError("INIT_WRITE_FAILED", `${path} cannot be written (${code ?? message})`, {
    cause,
  });
}

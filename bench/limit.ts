/** The limit: psql's `\copy` of the same rows, from prepared text, into the same tables. */
import { spawn } from "node:child_process";
import { join } from "node:path";

const TABLES = ["quotes", "extended_quotes"] as const;

/** Writes what the tables hold to files, in the order of their keys: the order that COPY takes fastest. */
export async function prepareText(url: string, dir: string): Promise<void> {
  await psql(
    url,
    TABLES.map(
      (table) =>
        `\\copy (select * from ${table} order by instrument_id, observed_at, source_id) to '${join(dir, table)}.txt'`,
    ),
  );
}

/** Copies the files in. @returns the milliseconds of the copying alone */
export function backslashCopy(url: string, dir: string): Promise<number> {
  return copyMs(
    url,
    TABLES.map((table) => `${table} from '${join(dir, table)}.txt'`),
  );
}

/**
 * Runs `\\copy` commands, behind others.
 *
 * @returns the milliseconds of the copying alone: psql measures each command itself, and its own start does not count
 */
export async function copyMs(
  url: string,
  copies: readonly string[],
  before: readonly string[] = [],
): Promise<number> {
  const output = await psql(url, [...before, "\\timing on", ...copies.map((copy) => `\\copy ${copy}`)]);
  const times = [...output.matchAll(/^Time: ([\d.]+) ms/gm)].map(([, ms]) => Number(ms));
  if (times.length !== copies.length) throw new Error(`psql did not copy: ${output}`);
  return times.reduce((sum, ms) => sum + ms, 0);
}

/** A digest of the quotes' rows, but for the numbers that instruments happen to get. */
export async function digest(url: string): Promise<string> {
  const output = await psql(url, [
    "\\pset format unaligned",
    "\\pset tuples_only on",
    `select count(*), sum(last), sum(bid), max(observed_at) from quotes;`,
    `select count(*), sum(volume), sum(previous_close) from extended_quotes;`,
  ]);
  return output.trim();
}

/** What psql prints for some commands. @throws Error when one of them fails */
export function psql(url: string, commands: readonly string[]): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const login = {
    ...{ PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: pathname.slice(1) },
    ...{ PGPASSWORD: decodeURIComponent(password), PGTZ: "UTC", LC_ALL: "C" },
  };
  return new Promise((resolve, reject) => {
    const child = spawn("psql", ["--no-psqlrc", "--quiet"], { env: { ...process.env, ...login } });
    let output = "";
    child.stdout.on("data", (text: Buffer) => (output += text.toString()));
    child.stderr.on("data", (text: Buffer) => (output += text.toString()));
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(output) : reject(new Error(`psql: ${output}`))));
    child.stdin.end(`${["\\set ON_ERROR_STOP on", ...commands, ""].join("\n")}`);
  });
}

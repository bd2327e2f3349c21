/** The limit: COPY of prepared text into the same tables, with nothing to parse, match, look up or move. */
import { spawn } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from } from "pg-copy-streams";
import type pg from "pg";
import { EXTENDED_QUOTES, QUOTES, type QuoteTable } from "../../src/archive/schema/quoteColumns.ts";
import type { BenchServer } from "./server.ts";

const TABLES = [QUOTES, EXTENDED_QUOTES];

/** A way to copy the prepared text in; gives the milliseconds of the copying alone. */
export type Limit = { name: string; copy: () => Promise<number> };

/**
 * Writes what the tables hold to files, in the order of their keys: the order that COPY takes fastest.
 *
 * @returns how many lines, of both tables
 */
export async function prepareText({ pool, dir }: BenchServer): Promise<number> {
  let lineCount = 0;
  for (const table of TABLES) {
    const { rows } = await pool.query<{ line: string }>(
      `select concat_ws(e'\\t', ${columnNames(table)
        .map((name) => `coalesce(${name}::text, '\\N')`)
        .join(", ")}) as line
       from ${table.name} order by instrument_id, observed_at, source_id`,
    );
    lineCount += rows.length;
    await pipeline(Readable.from(rows.map(({ line }) => `${line}\n`)), createWriteStream(fileOf(dir, table)));
  }
  return lineCount;
}

/** `\copy` of psql when it is installed, COPY through pg-copy-streams otherwise. */
export async function chooseLimit(server: BenchServer): Promise<Limit> {
  const version = await psql(server, ["--version"], "").catch(() => null);
  if (version === null)
    return { name: "COPY ... FROM STDIN through pg-copy-streams", copy: () => copyStreams(server) };
  return { name: `\\copy of ${version.trim()}`, copy: () => backslashCopy(server) };
}

/** psql measures each command itself: its own start does not count. */
async function backslashCopy(server: BenchServer): Promise<number> {
  const commands = TABLES.map(
    (table) => `\\copy ${table.name} (${columnNames(table).join(", ")}) from '${fileOf(server.dir, table)}'`,
  );
  const script = ["\\set ON_ERROR_STOP on", "\\timing on", ...commands, ""].join("\n");
  const output = await psql(server, ["--no-psqlrc", "--quiet"], script);
  const times = [...output.matchAll(/^Time: ([\d.]+) ms/gm)].map(([, ms]) => Number(ms));
  if (times.length !== TABLES.length) throw new Error(`psql did not copy: ${output}`);
  return times.reduce((sum, ms) => sum + ms, 0);
}

async function psql({ url }: BenchServer, args: string[], script: string): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const login = {
    ...{ PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: pathname.slice(1) },
    PGPASSWORD: decodeURIComponent(password),
  };
  return new Promise((resolve, reject) => {
    const child = spawn("psql", args, { env: { ...process.env, ...login, LC_ALL: "C" } });
    let output = "";
    child.stdout.on("data", (text: Buffer) => (output += text.toString()));
    child.stderr.on("data", (text: Buffer) => (output += text.toString()));
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(output) : reject(new Error(`psql: ${output}`))));
    child.stdin.on("error", () => undefined).end(script);
  });
}

async function copyStreams({ pool, dir }: BenchServer): Promise<number> {
  const client = await pool.connect();
  try {
    const startMs = performance.now();
    for (const table of TABLES) await copyFile(client, table, fileOf(dir, table));
    return performance.now() - startMs;
  } finally {
    client.release();
  }
}

async function copyFile(client: pg.PoolClient, table: QuoteTable, file: string): Promise<void> {
  const copy = client.query(from(`copy ${table.name} (${columnNames(table).join(", ")}) from stdin`));
  await pipeline(createReadStream(file, { highWaterMark: 64 * 1024 }), copy);
}

function columnNames({ columns }: QuoteTable): string[] {
  return columns.map(({ name }) => name);
}

function fileOf(dir: string, { name }: QuoteTable): string {
  return join(dir, `${name}.txt`);
}

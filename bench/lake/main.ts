/**
 * npm run bench:lake -- [--json] [--quotes N] [--kills N] [--seed N]
 *
 * Writes the lake of a made-up market, killed on the way so many times, and looks at what is there by other means: DuckDB's sums
 * beside PostgreSQL's, every file read by `lake verify`, rows dropped and brought back beside what they were. Prints bytes a
 * quote, quotes a second beside psql's `\copy` of the same rows, the most memory, and how long one instrument's day takes out
 * of a year of such days. Exits 1 when a quote takes more than MOST_BYTES_A_QUOTE, or anything differs.
 */
import { spawn } from "node:child_process";
import { linkSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import { createPool } from "../../src/archive/connect.ts";
import { ensurePartitions } from "../../src/archive/partitions.ts";
import { instantFromDate } from "../../src/clock.ts";
import { backslashCopy, prepareText } from "../backfill/limit.ts";
import { runProgram } from "../backfill/program.ts";
import { writeSample } from "../backfill/sample.ts";
import { seeded } from "../governor/random.ts";
import { median } from "../ingest/report.ts";
import { openBenchServer } from "../ingest/server.ts";

/** Of both tables, files as they lie on the disk. */
const MOST_BYTES_A_QUOTE = 20;

const BIN = fileURLToPath(new URL("../../bin/quotekeeper.js", import.meta.url));

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    quotes: { type: "string", default: "1000000" },
    kills: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
  },
});

const COLUMNS = ["bid", "ask", "last", "change", "pct_change"] as const;

/** A Monday of a month that is over: whole months are dropped. */
const FIRST_MS = Date.UTC(2026, 8, 14, 14, 30);

const SESSIONS_A_YEAR = 252;
const DAY_MS = 86_400_000;

const server = await openBenchServer();
try {
  const dataDir = join(server.dir, "data");
  const out = join(server.dir, "lake");
  mkdirSync(join(dataDir, "journal"), { recursive: true });
  await writeSample(join(dataDir, "journal"), Number(options.quotes), FIRST_MS);
  const env = { DATABASE_URL: server.url, QUOTEKEEPER_DATA_DIR: dataDir, QUOTEKEEPER_LAKE_HOT_DAYS: "1" };
  await runProgram(["backfill", "--journal"], env);
  await server.pool.query("vacuum analyze");
  await prepareText(server.url, server.dir);

  // Once by itself, to know how long it takes; then killed on the way, into another directory.
  const alone = await runProgram(["lake", "--out", join(server.dir, "alone"), "--json"], env);
  const random = seeded(Number(options.seed));
  const kills = Number(options.kills);
  for (let kill = 0; kill < kills; kill++)
    await killed(["lake", "--out", out], env, (alone.ms * (0.2 + 0.8 * random())) / 2);
  await runProgram(["lake", "--out", out, "--json"], env);
  await runProgram(["lake", "verify", "--out", out, "--json"], env);
  const [ours, theirs] = [await sumsOfPostgres(), await sumsOfDuckdb(out)];
  const bytes = await bytesOf(out);

  await server.pool.query("create database copied template template0");
  const url = new URL(server.url);
  url.pathname = "/copied";
  await runProgram(["migrate"], { DATABASE_URL: url.href });
  await makeRoom(url.href);
  const copyMs = await backslashCopy(url.href, server.dir);

  const before = await digest();
  const dropped = await runProgram(["lake", "--out", out, "--drop-hot", "--json"], env);
  const restored = await runProgram(
    ["lake", "restore", "--out", out, "--from", "2000-01-01", "--to", "2099-12-31", "--json"],
    env,
  );
  const after = await digest();
  const oneDayMs = await timeOneDay(out);

  const quotes = Number(ours["n"]);
  const figures = {
    ...{ quotes, kills, bytesAQuote: bytes / quotes, peakMegabytes: (alone.peakBytes ?? 0) / 1e6 },
    quotesASecond: Math.round(quotes / (alone.ms / 1_000)),
    shareOfCopy: copyMs / (2 * alone.ms),
    oneInstrumentsDayMs: oneDayMs,
    sumsAgree: JSON.stringify(ours) === JSON.stringify(theirs),
    restoredEqual: before === after,
    dropped: (JSON.parse(dropped.stdout) as { dropped: unknown[] }).dropped,
    restored: (JSON.parse(restored.stdout) as { rows: unknown }).rows,
  };
  console.log(options.json ? JSON.stringify(figures) : figures);
  if (figures.bytesAQuote > MOST_BYTES_A_QUOTE || !figures.sumsAgree || !figures.restoredEqual)
    process.exitCode = 1;
} finally {
  await server.close();
}

/** Runs the program and kills it after so long, if it has not ended by then. */
async function killed(argv: readonly string[], env: Record<string, string>, afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [BIN, ...argv], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: "ignore",
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), afterMs);
  await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(timer);
}

async function sumsOfPostgres(): Promise<Record<string, string>> {
  const sums = COLUMNS.map((column) => `sum(${column})::numeric(38,4)::text as ${column}`).join(", ");
  const { rows } = await server.pool.query<Record<string, string>>(
    `select count(*)::text as n, ${sums} from quotes`,
  );
  return rows[0] ?? {};
}

/** Partitions for the sample's months. */
async function makeRoom(url: string): Promise<void> {
  const pool = createPool(url);
  const client = await pool.connect();
  await ensurePartitions(client, instantFromDate(new Date(FIRST_MS)), instantFromDate(new Date(FIRST_MS)));
  client.release();
  await pool.end();
}

/** Of every number of every row: zeros behind the last digit are not in a Parquet file. */
async function digest(): Promise<string> {
  const found: unknown[] = [];
  for (const table of ["quotes", "extended_quotes"]) {
    const { rows: columns } = await server.pool.query<{ name: string }>(
      `select attname as name from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and atttypid in ('numeric'::regtype, 'int8'::regtype)`,
      [table],
    );
    const sums = columns.map(
      ({ name }) =>
        `sum(hash_numeric_extended(${name}::numeric, 0)::numeric * (instrument_id + extract(epoch from observed_at) * 1000000))`,
    );
    found.push(
      (
        await server.pool.query(
          `select count(*), ${sums.map((sum, n) => `${sum} as c${n}`).join(", ")} from ${table}`,
        )
      ).rows,
    );
  }
  return JSON.stringify(found);
}

async function sumsOfDuckdb(out: string): Promise<Record<string, string>> {
  const sums = COLUMNS.map((column) => `sum(${column})::decimal(38,4)::varchar as ${column}`).join(", ");
  return (
    (
      await duckdb(`select count(*)::varchar as n, ${sums} from read_parquet('${out}/quotes/*/*.parquet')`)
    )[0] ?? {}
  );
}

async function bytesOf(out: string): Promise<number> {
  const [row] = await duckdb(
    `select sum(size)::varchar as bytes from read_blob(['${out}/quotes/*/*.parquet', '${out}/extended_quotes/*/*.parquet'])`,
  );
  return Number(row?.["bytes"]);
}

/** The median of five, in ms: an instrument from the middle, one date of a year of such dates. */
async function timeOneDay(out: string): Promise<number> {
  const year = join(server.dir, "year");
  const [date = ""] = readdirSync(join(out, "quotes"));
  for (let day = 0; day < SESSIONS_A_YEAR; day++) {
    const dir = join(year, `date=${new Date(FIRST_MS + day * DAY_MS).toISOString().slice(0, 10)}`);
    mkdirSync(dir, { recursive: true });
    linkSync(join(out, "quotes", date, "quotes.parquet"), join(dir, "quotes.parquet"));
  }
  const [found] = await duckdb(
    `select instrument from read_parquet('${out}/quotes/${date}/*.parquet') group by 1 order by 1 offset 300 limit 1`,
  );
  const wanted = new Date(FIRST_MS + 200 * DAY_MS).toISOString().slice(0, 10);
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const startMs = performance.now();
    await connection.runAndReadAll(
      `select * from read_parquet('${year}/*/*.parquet') where date = '${wanted}' and instrument = '${found?.["instrument"]}'`,
    );
    times.push(performance.now() - startMs);
  }
  connection.closeSync();
  instance.closeSync();
  return median(times);
}

async function duckdb(sql: string): Promise<Record<string, string>[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(sql);
    return reader
      .getRowObjects()
      .map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

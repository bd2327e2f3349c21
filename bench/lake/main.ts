/**
 * npm run bench:lake -- [--json] [--quotes N] [--kills N] [--seed N] [--restored N] [--url URL --out DIR]
 *
 * Writes the lake of a made-up market, killed on the way so many times, and looks at what is there by other means: DuckDB's sums
 * beside PostgreSQL's, every file read by `lake verify`, rows dropped, and those of so many dates brought back beside what they
 * were. Prints bytes a quote, quotes a second beside psql's `\copy` of such rows, the most memory, and how long one
 * instrument's day takes out of a year. Exits 1 when a quote takes more than MOST_BYTES_A_QUOTE, or anything differs.
 *
 * With a database of one's own and a directory for the lake both stay, and a run that was ended goes on where it was.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { copyMs } from "../limit.ts";
import { runProgram } from "../backfill/program.ts";
import { seeded } from "../governor/random.ts";
import { median } from "../ingest/report.ts";
import { openBenchServer } from "../ingest/server.ts";
import { sessionDates } from "../queries/market.ts";
import { fillInstruments, fillSession, SESSION_QUOTES } from "./market.ts";

/** Of both tables, files as they lie on the disk. */
const MOST_BYTES_A_QUOTE = 20;

/** `\copy` is measured with so many quotes. */
const COPIED_QUOTES = 1_000_000;

const BIN = fileURLToPath(new URL("../../bin/quotekeeper.js", import.meta.url));

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    quotes: { type: "string", default: "1000000" },
    kills: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    restored: { type: "string", default: "100000" },
    url: { type: "string" },
    out: { type: "string" },
  },
});

const COLUMNS = ["bid", "ask", "last", "change", "pct_change"] as const;

const SESSIONS_A_YEAR = 252;

const sessions = sessionDates(Number(options.quotes), new Date());
let killsDone = 0;

const server = options.url ? await theirs(options.url) : await openBenchServer();
try {
  const out = options.out ?? join(server.dir, "lake");
  const dataDir = join(server.dir, "data");
  mkdirSync(dataDir, { recursive: true });
  const env = { DATABASE_URL: server.url, QUOTEKEEPER_DATA_DIR: dataDir, QUOTEKEEPER_LAKE_HOT_DAYS: "1" };
  await fill();

  const kills = Number(options.kills);
  const random = seeded(Number(options.seed));
  const instants = Array.from({ length: kills }, () => Math.floor(random() * (sessions.length - 1))).sort(
    (a, b) => a - b,
  );
  const beganMs = performance.now();
  for (const dates of instants)
    await killed(["lake", "--out", out], { env, out, dates, delayMs: random() * 1_000 });
  const last = await runProgram(["lake", "--out", out, "--json"], env);
  const wroteMs = performance.now() - beganMs;
  const verified = await runProgram(["lake", "verify", "--out", out, "--json"], env);
  const [ours, duckdbs] = [await sumsOfPostgres(), await sumsOfDuckdb(out)];
  const bytes = await bytesOf(out);
  const copiedASecond = await copyRate();

  const lakeDates = readdirSync(join(out, "days"))
    .map((name) => name.slice(0, 10))
    .sort();
  const [from = "", to = ""] = [lakeDates[0], lakeDates.slice(0, Number(options.restored)).at(-1)];
  const before = await digest(from, to);
  const dropped = await runProgram(["lake", "--out", out, "--drop-hot", "--json"], env);
  const restored = await runProgram(
    ["lake", "restore", "--out", out, "--from", from, "--to", to, "--json"],
    env,
  );
  const after = await digest(from, to);

  const quotes = Number(ours["n"]);
  const quotesASecond = quotes / (wroteMs / 1_000);
  const figures = {
    ...{ quotes, dates: lakeDates.length, kills: killsDone, bytesAQuote: bytes / quotes },
    peakMegabytes: (last.peakBytes ?? 0) / 1e6,
    ...{ quotesASecond: Math.round(quotesASecond), shareOfCopy: quotesASecond / copiedASecond },
    ...{ verifiedASecond: Math.round(quotes / (verified.ms / 1_000)) },
    oneInstrumentsDayMs: await timeOneDay(out, lakeDates),
    sumsAgree: JSON.stringify(ours) === JSON.stringify(duckdbs),
    restoredEqual: before === after,
    dropped: (JSON.parse(dropped.stdout) as { dropped: { quotes: number }[] }).dropped.reduce(
      (sum, range) => sum + range.quotes,
      0,
    ),
    droppedMs: Math.round(dropped.ms),
    restored: (JSON.parse(restored.stdout) as { rows: unknown }).rows,
    restoredMs: Math.round(restored.ms),
  };
  console.log(options.json ? JSON.stringify(figures) : figures);
  if (figures.bytesAQuote > MOST_BYTES_A_QUOTE || !figures.sumsAgree || !figures.restoredEqual)
    process.exitCode = 1;
} finally {
  await server.close();
}

async function theirs(
  url: string,
): Promise<{ pool: pg.Pool; url: string; dir: string; close: () => Promise<void> }> {
  const pool = createPool(url);
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-lake-"));
  await runProgram(["migrate"], { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: join(dir, "migrated") });
  const close = async (): Promise<void> => {
    await pool.end();
    rmSync(dir, { recursive: true, force: true });
  };
  return { pool, url, dir, close };
}

/** Sessions that are not there yet. */
async function fill(): Promise<void> {
  const client = await server.pool.connect();
  const { rows } = await client.query<{ at: Date | null }>("select max(observed_at) as at from quotes");
  const newest = rows[0]?.at ?? null;
  if (newest === null) await fillInstruments(client);
  for (const [place, { date, open }] of sessions.entries()) {
    if (newest !== null && open <= newest) continue;
    await fillSession(client, open, place);
    await client.query("select recompute_session_bars($1, $1)", [date]);
  }
  if (newest === null) await client.query("vacuum analyze");
  client.release();
}

/** Runs the program and kills it in the midst of what follows after so many dates, if it has not ended by then. */
async function killed(
  argv: readonly string[],
  { env, out, dates, delayMs }: { env: Record<string, string>; out: string; dates: number; delayMs: number },
): Promise<void> {
  const child = spawn(process.execPath, [BIN, ...argv], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: "ignore",
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once("close", (_, signal) => resolve(signal)),
  );
  const looking = setInterval(() => {
    if (datesIn(out) < dates) return;
    clearInterval(looking);
    setTimeout(() => child.kill("SIGKILL"), delayMs).unref();
  }, 50);
  if ((await ended) === "SIGKILL") killsDone += 1;
  clearInterval(looking);
}

function datesIn(out: string): number {
  const days = join(out, "days");
  return existsSync(days) ? readdirSync(days).length : 0;
}

async function sumsOfPostgres(): Promise<Record<string, string>> {
  const sums = COLUMNS.map((column) => `sum(${column})::numeric(38,4)::text as ${column}`).join(", ");
  const { rows } = await server.pool.query<Record<string, string>>(
    `select count(*)::text as n, ${sums} from quotes`,
  );
  return rows[0] ?? {};
}

/** Quotes a second that psql's `\\copy` brings into empty tables with the archive's keys, extended ones included; of the newest. */
async function copyRate(): Promise<number> {
  const both = ["quotes", "extended_quotes"].map((table) => ({
    table,
    file: join(server.dir, `${table}.txt`),
  }));
  const newest = "order by observed_at desc, instrument_id, source_id";
  const ms = await copyMs(
    server.url,
    both.map(({ table, file }) => `copied_${table} from '${file}'`),
    both.flatMap(({ table, file }) => [
      `\\copy (select * from ${table} ${newest} limit ${COPIED_QUOTES}) to '${file}'`,
      `create temp table copied_${table} (like ${table} including all);`,
    ]),
  );
  return Math.min(COPIED_QUOTES, sessions.length * SESSION_QUOTES) / (ms / 1_000);
}

/** Of every number of every row of some dates: zeros behind the last digit are not in a Parquet file. */
async function digest(from: string, to: string): Promise<string> {
  const found: unknown[] = [];
  for (const table of ["quotes", "extended_quotes"]) {
    const { rows: columns } = await server.pool.query<{ name: string }>(
      `select attname as name from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and atttypid in ('numeric'::regtype, 'int8'::regtype)`,
      [table],
    );
    const sums = columns.map(
      ({ name }, n) =>
        `sum(hash_numeric_extended(${name}::numeric, 0)::numeric * (instrument_id + extract(epoch from observed_at) * 1000000)) as c${n}`,
    );
    const { rows } = await server.pool.query(
      `select count(*), ${sums.join(", ")} from ${table}
       where observed_at >= $1::date::timestamp at time zone 'America/New_York'
         and observed_at < ($2::date + 1)::timestamp at time zone 'America/New_York'`,
      [from, to],
    );
    found.push(rows);
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

/** The median of five, in ms: an instrument from the middle, one date of a year; links make up for dates that are not there. */
async function timeOneDay(out: string, dates: readonly string[]): Promise<number> {
  const year = join(server.dir, "year");
  for (let day = 0; day < SESSIONS_A_YEAR; day++) {
    const dir = join(year, `date=${new Date(Date.UTC(2020, 0, 1 + day)).toISOString().slice(0, 10)}`);
    mkdirSync(dir, { recursive: true });
    symlinkSync(
      join(out, "quotes", `date=${dates[day % dates.length]}`, "quotes.parquet"),
      join(dir, "quotes.parquet"),
    );
  }
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const startMs = performance.now();
    const reader = await connection.runAndReadAll(
      `select * from read_parquet('${year}/*/*.parquet') where date = '2020-07-19' and instrument = 'S123'`,
    );
    times.push(performance.now() - startMs);
    if (reader.currentRowCount === 0) throw new Error("that day has no such instrument");
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

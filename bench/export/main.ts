/**
 * npm run bench:export -- [--json] [--quotes N] [--rounds N]
 *
 * Measures `export --format parquet` of a whole archive, the whole process by the clock on the wall, beside psql's
 * `\copy` of the same rows from prepared text into the same tables: same server, same run, in turn. A quote is a row of
 * `quotes` with its row of `extended_quotes`. Exits 1 when fewer than LEAST_SHARE quotes go out in the time in which
 * `\copy` puts a row in, or when it takes more memory than MOST_BYTES.
 */
import { mkdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Manifest } from "../../src/files/export/manifest.ts";
import { backslashCopy, prepareText } from "../limit.ts";
import { runProgram } from "../backfill/program.ts";
import { writeSample } from "../backfill/sample.ts";
import { median } from "../ingest/report.ts";
import { openBenchServer } from "../ingest/server.ts";

/** 57,500 quotes exported a second where `\copy` puts 115,000 rows in. */
const LEAST_SHARE = 0.5;
/** The most memory, whatever the size of the archive. */
const MOST_BYTES = 250e6;

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    quotes: { type: "string", default: "600000" },
    rounds: { type: "string", default: "5" },
  },
});

type Round = { exportMs: number; copyMs: number; peakBytes: number };

const server = await openBenchServer();
try {
  const dataDir = join(server.dir, "data");
  const journalDir = join(dataDir, "journal");
  mkdirSync(journalDir, { recursive: true });
  await writeSample(journalDir, Number(options.quotes));
  const env = { DATABASE_URL: server.url, QUOTEKEEPER_DATA_DIR: dataDir };
  await runProgram(["backfill", "--journal"], env);
  await server.pool.query("vacuum analyze");
  await prepareText(server.url, server.dir);
  const rounds: Round[] = [];
  let quotes = 0;
  for (let round = 0; round < Number(options.rounds); round++) {
    await server.pool.query("checkpoint");
    const out = join(server.dir, `export-${round}`);
    const ran = await runProgram(["export", "--format", "parquet", "--out", out, "--json"], env);
    quotes = quotesOf(JSON.parse(ran.stdout) as Manifest);
    await server.pool.query("create database copied template template0");
    rounds.push({ exportMs: ran.ms, peakBytes: ran.peakBytes ?? 0, copyMs: await copied() });
    await server.pool.query("drop database copied with (force)");
  }
  report(quotes, rounds);
} finally {
  await server.close();
}

/** Copies the rows into an empty archive. @returns the milliseconds of the copying alone */
async function copied(): Promise<number> {
  const url = new URL(server.url);
  url.pathname = "/copied";
  await runProgram(["migrate"], { DATABASE_URL: url.href });
  await server.pool.query("checkpoint");
  return backslashCopy(url.href, server.dir);
}

function quotesOf({ tables }: Manifest): number {
  const rows = (table: string): number => tables.find(({ name }) => name === table)?.rows ?? 0;
  if (rows("quotes") !== rows("extended_quotes"))
    throw new Error("a quote of the sample has one row in each table");
  return rows("quotes");
}

function report(quotes: number, rounds: readonly Round[]): void {
  const shares = rounds.map(({ exportMs, copyMs }) => copyMs / (2 * exportMs));
  const share = median(shares);
  const peakBytes = Math.max(...rounds.map((one) => one.peakBytes));
  const exportedPerSecond = (quotes * 1_000) / median(rounds.map(({ exportMs }) => exportMs));
  const copiedPerSecond = (2 * quotes * 1_000) / median(rounds.map(({ copyMs }) => copyMs));
  const misses = [
    ...(share >= LEAST_SHARE ? [] : [`fewer than ${LEAST_SHARE} quotes for each row of \\copy`]),
    ...(peakBytes < MOST_BYTES ? [] : [`more than ${MOST_BYTES / 1e6} MB of memory`]),
  ];
  process.exitCode = misses.length === 0 ? 0 : 1;
  if (options.json)
    return console.log(
      JSON.stringify({ quotes, share, exportedPerSecond, copiedPerSecond, peakBytes, rounds, misses }),
    );
  const count = (n: number): string => Math.round(n).toLocaleString("en-US");
  console.log(`\n${count(quotes)} quotes; medians of ${rounds.length} rounds`);
  console.log(
    `  export --format parquet, the whole process ${count(exportedPerSecond).padStart(9)} quotes/s`,
  );
  console.log(`  psql \\copy into the same tables            ${count(copiedPerSecond).padStart(9)} rows/s`);
  console.log(
    `  ${share.toFixed(2)} quotes for each row; each round: ${shares.map((one) => one.toFixed(2)).join(", ")}`,
  );
  console.log(`Peak memory ${count(peakBytes / 1e6)} MB.`);
  console.log(
    `${availableParallelism()} processors, load ${(loadavg()[0] ?? NaN).toFixed(1)} in the last minute, this run included.`,
  );
  console.log(misses.length === 0 ? "Both bounds hold." : `${misses.join("; ")}.`);
}

/**
 * npm run bench:backfill -- [--json] [--quotes N] [--rounds N]
 *
 * Measures `backfill --journal` into an empty database, the whole process by the clock on the wall, beside psql's
 * `\copy` of the same rows from prepared text into the same tables: same server, same run, in turn. Exits 1 when it is
 * slower than LEAST_SHARE of it, or takes more memory than MOST_BYTES.
 */
import { mkdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createPool } from "../../src/archive/connect.ts";
import { migrate } from "../../src/archive/migrations.ts";
import { systemClock, instantFromDate } from "../../src/clock.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { median } from "../ingest/report.ts";
import { openBenchServer } from "../ingest/server.ts";
import { backslashCopy, digest, prepareText } from "./limit.ts";
import { runProgram } from "./program.ts";
import { writeSample } from "./sample.ts";
import { timeStages } from "./stages.ts";

/** The least share of the limit. */
const LEAST_SHARE = 0.3;
/** The most memory. */
const MOST_BYTES = 300e6;
/** How many segments the stages are timed on. */
const STAGE_SEGMENTS = 4;

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    quotes: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "3" },
  },
});

const server = await openBenchServer();
try {
  const dataDir = join(server.dir, "data");
  const journalDir = join(dataDir, "journal");
  mkdirSync(journalDir, { recursive: true });
  const sample = await writeSample(journalDir, Number(options.quotes));
  const segments = await listSegments(journalDir);
  const rounds: { backfillMs: number; copyMs: number; peakBytes: number | null; quotes: number }[] = [];
  let prepared = false;
  for (let round = 0; round < Number(options.rounds); round++) {
    const filled = await database(`filled_${round}`, false);
    const ran = await runProgram(["backfill", "--journal", "--json"], {
      DATABASE_URL: filled,
      QUOTEKEEPER_DATA_DIR: dataDir,
    });
    const { report } = JSON.parse(ran.stdout) as { report: { read: number; stored: number } };
    if (report.stored !== report.read)
      throw new Error(`${report.stored} of ${report.read} quotes were stored`);
    if (!prepared) await prepareText(filled, server.dir);
    prepared = true;
    const copied = await database(`copied_${round}`, true);
    const copyMs = await backslashCopy(copied, server.dir);
    if ((await digest(copied)) !== (await digest(filled))) throw new Error("the limit stored other rows");
    rounds.push({ backfillMs: ran.ms, copyMs, peakBytes: ran.peakBytes, quotes: report.stored });
    for (const name of [`filled_${round}`, `copied_${round}`])
      await server.pool.query(`drop database ${name} with (force)`);
  }
  const stages = await timeStages(journalDir, segments.slice(0, STAGE_SEGMENTS));
  report(sample, segments, rounds, stages);
} finally {
  await server.close();
}

/** Makes a database. @returns its connection string */
async function database(name: string, migrated: boolean): Promise<string> {
  await server.pool.query(`create database ${name}`);
  // Each measurement pays for its own writes, not for the checkpoint of the one before.
  await server.pool.query("checkpoint");
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  if (!migrated) return url.href;
  const pool = createPool(url.href);
  await migrate(pool, instantFromDate(systemClock.now()));
  await pool.end();
  return url.href;
}

function report(
  { answers, bodyBytes }: { answers: number; bodyBytes: number },
  segments: readonly { fileBytes: number }[],
  rounds: readonly { backfillMs: number; copyMs: number; peakBytes: number | null; quotes: number }[],
  stages: Awaited<ReturnType<typeof timeStages>>,
): void {
  const quotes = rounds[0]?.quotes ?? 0;
  const share = median(rounds.map(({ backfillMs, copyMs }) => copyMs / backfillMs));
  const peaks = rounds.flatMap(({ peakBytes }) => (peakBytes === null ? [] : [peakBytes]));
  const peakBytes = peaks.length === 0 ? null : Math.max(...peaks);
  const perMillion = (ms: number): number => (ms * 1e6) / stages.quotes / 1_000;
  const backfillMs = median(rounds.map((one) => one.backfillMs));
  const secondsPerMillion = {
    read: perMillion(stages.readMs),
    inflate: perMillion(stages.inflateMs),
    check: perMillion(stages.checkMs),
    parse: perMillion(stages.parseMs),
    whole: (backfillMs * 1e6) / quotes / 1_000,
    limit: (median(rounds.map((one) => one.copyMs)) * 1e6) / quotes / 1_000,
  };
  const misses = [
    ...(share >= LEAST_SHARE ? [] : [`slower than ${LEAST_SHARE} of the limit`]),
    ...(peakBytes === null || peakBytes < MOST_BYTES ? [] : [`more than ${MOST_BYTES / 1e6} MB of memory`]),
  ];
  const figures = { answers, quotes, bodyBytes, share, peakBytes, secondsPerMillion, rounds, misses };
  process.exitCode = misses.length === 0 ? 0 : 1;
  if (options.json) return console.log(JSON.stringify(figures, null, 2));
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6).toLocaleString("en-US")} MB`;
  const files = segments.reduce((sum, { fileBytes }) => sum + fileBytes, 0);
  const line = (name: string, seconds: number): void =>
    console.log(`  ${name.padEnd(46)}${seconds.toFixed(2).padStart(8)} s a million quotes`);
  console.log(
    `\n${quotes.toLocaleString("en-US")} quotes in ${answers.toLocaleString("en-US")} answers, ${megabytes(bodyBytes)} of XML, ${megabytes(files)} of journal; medians of ${rounds.length} rounds`,
  );
  line("limit: psql \\copy of prepared text", secondsPerMillion.limit);
  line("backfill --journal, the whole process", secondsPerMillion.whole);
  console.log(
    `  ${share.toFixed(2)} of the limit's speed; each round: ${rounds.map((one) => (one.copyMs / one.backfillMs).toFixed(2)).join(", ")}`,
  );
  console.log("Alone, one after the other:");
  line("read", secondsPerMillion.read);
  line("inflate", secondsPerMillion.inflate);
  line("find and check records", secondsPerMillion.check);
  line("parse, into rows", secondsPerMillion.parse);
  console.log(`Peak memory ${peakBytes === null ? "unknown" : megabytes(peakBytes)}.`);
  console.log(
    `${availableParallelism()} processors, load ${(loadavg()[0] ?? NaN).toFixed(1)} in the last minute, this run included.`,
  );
  console.log(misses.length === 0 ? "Both bounds hold." : `${misses.join("; ")}.`);
}

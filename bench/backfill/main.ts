/**
 * npm run bench:backfill -- [--json] [--quotes N] [--rounds N] [--chains]
 *
 * Measures `backfill --journal` and `backfill --csv` into an empty database, the whole process by the clock on the wall,
 * beside psql's `\copy` of the same rows from prepared text into the same tables: same server, same run, in turn. Exits 1
 * when one of them is slower than its LEAST_SHARES of it, or takes more memory than MOST_BYTES. `--chains`: of whole chains.
 */
import { mkdirSync, rmSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createPool } from "../../src/archive/connect/connect.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { systemClock, instantFromDate } from "../../src/ground/clock.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { median } from "../ingest/report.ts";
import { openBenchServer } from "../ingest/server.ts";
import { chainAnswer, CONTRACTS } from "./chainSample.ts";
import { writeCsv } from "./csvFile.ts";
import { backslashCopy, digest, prepareText } from "../limit.ts";
import { type Ran, runProgram } from "./program.ts";
import { writeSample } from "./sample.ts";
import { timeStages } from "./stages.ts";

/** The least shares of the limit. */
const LEAST_SHARES = { journal: 0.18, csv: 0.2 };
/** The most memory. */
const MOST_BYTES = 300e6;
/** How many segments the stages are timed on. */
const STAGE_SEGMENTS = 4;

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    quotes: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "3" },
    chains: { type: "boolean", default: false },
  },
});

/** A backfill that has ended well. */
type Filled = Omit<Ran, "stdout"> & { quotes: number };

type Round = { backfill: Filled; csvImport: Filled; copyMs: number };

const server = await openBenchServer();
try {
  const dataDir = join(server.dir, "data");
  const journalDir = join(dataDir, "journal");
  mkdirSync(journalDir, { recursive: true });
  const sample = await writeSample(
    journalDir,
    Number(options.quotes),
    options.chains ? { answerAt: chainAnswer, perAnswer: CONTRACTS } : undefined,
  );
  const segments = await listSegments(journalDir);
  const rounds: Round[] = [];
  let csv: string | null = null;
  for (let round = 0; round < Number(options.rounds); round++) {
    const filled = await database(`filled_${round}`, false);
    const backfill = await fill(filled, dataDir, ["--journal"]);
    if (csv === null) await prepareText(filled, server.dir);
    csv ??= await writeCsv(filled, server.dir);
    const copied = await database(`copied_${round}`, true);
    const copyMs = await backslashCopy(copied, server.dir);
    const imported = await database(`imported_${round}`, false);
    const csvDir = join(server.dir, "csv");
    const csvImport = await fill(imported, csvDir, ["--csv", csv]);
    rmSync(csvDir, { recursive: true });
    const rows = await digest(filled);
    if ((await digest(copied)) !== rows) throw new Error("the limit stored other rows");
    if ((await digest(imported)) !== rows) throw new Error("the import stored other rows");
    rounds.push({ backfill, csvImport, copyMs });
    for (const name of [`filled_${round}`, `copied_${round}`, `imported_${round}`])
      await server.pool.query(`drop database ${name} with (force)`);
  }
  const stages = await timeStages(journalDir, segments.slice(0, STAGE_SEGMENTS));
  report(sample, segments, rounds, stages);
} finally {
  await server.close();
}

/** Runs a backfill that is to store all that it reads. */
async function fill(url: string, dataDir: string, argv: readonly string[]): Promise<Filled> {
  const ran = await runProgram(["backfill", ...argv, "--json"], {
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: dataDir,
  });
  const { report } = JSON.parse(ran.stdout) as { report: { read: number; stored: number } };
  if (report.stored !== report.read) throw new Error(`${report.stored} of ${report.read} quotes were stored`);
  return { ms: ran.ms, cpuMs: ran.cpuMs, peakBytes: ran.peakBytes, quotes: report.stored };
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
  rounds: readonly Round[],
  stages: Awaited<ReturnType<typeof timeStages>>,
): void {
  const quotes = rounds[0]?.backfill.quotes ?? 0;
  const perMillion = (ms: number, of = quotes): number => (ms * 1e6) / of / 1_000;
  const backfill = figuresOf(rounds, ({ backfill: filled }) => filled);
  const csv = figuresOf(rounds, ({ csvImport }) => csvImport);
  const { share, peakBytes } = backfill;
  const secondsPerMillion = {
    read: perMillion(stages.readMs, stages.quotes),
    inflate: perMillion(stages.inflateMs, stages.quotes),
    check: perMillion(stages.checkMs, stages.quotes),
    parse: perMillion(stages.parseMs, stages.quotes),
    whole: backfill.secondsPerMillion,
    limit: perMillion(median(rounds.map((one) => one.copyMs))),
  };
  const misses = [...missesOf("journal", backfill), ...missesOf("csv", csv)];
  const figures = { answers, quotes, bodyBytes, share, peakBytes, secondsPerMillion, csv, rounds, misses };
  process.exitCode = misses.length === 0 ? 0 : 1;
  if (options.json) return console.log(JSON.stringify(figures, null, 2));
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6).toLocaleString("en-US")} MB`;
  const files = segments.reduce((sum, { fileBytes }) => sum + fileBytes, 0);
  const line = (name: string, seconds: number): void =>
    console.log(`  ${name.padEnd(46)}${seconds.toFixed(2).padStart(8)} s a million quotes`);
  const outcome = ({ share: ofLimit, shares, peakBytes: peak, cpuSecondsPerMillion: cpu }: Figures): void =>
    console.log(
      `    ${ofLimit.toFixed(2)} of the limit's speed; each round: ${shares.map((one) => one.toFixed(2)).join(", ")}; processor ${cpu.toFixed(2)} s, memory at most ${peak === null ? "unknown" : megabytes(peak)}`,
    );
  console.log(
    `\n${quotes.toLocaleString("en-US")} quotes in ${answers.toLocaleString("en-US")} answers, ${megabytes(bodyBytes)} of ${options.chains ? "JSON" : "XML"}, ${megabytes(files)} of journal; medians of ${rounds.length} rounds`,
  );
  line("limit: psql \\copy of prepared text", secondsPerMillion.limit);
  line("backfill --journal, the whole process", backfill.secondsPerMillion);
  outcome(backfill);
  line("backfill --csv, the whole process", csv.secondsPerMillion);
  outcome(csv);
  console.log("The journal's stages, alone, one after the other:");
  line("read", secondsPerMillion.read);
  line("inflate", secondsPerMillion.inflate);
  line("find and check records", secondsPerMillion.check);
  line("parse, into rows", secondsPerMillion.parse);
  console.log(
    `${availableParallelism()} processors, load ${(loadavg()[0] ?? NaN).toFixed(1)} in the last minute, this run included.`,
  );
  console.log(misses.length === 0 ? "All bounds hold." : `${misses.join("; ")}.`);
}

type Figures = ReturnType<typeof figuresOf>;

/** Of one kind of backfill: medians of the rounds, and the most memory. */
function figuresOf(rounds: readonly Round[], of: (round: Round) => Filled) {
  const perMillion = (valueOf: (filled: Filled) => number): number =>
    median(rounds.map((round) => (valueOf(of(round)) * 1e6) / of(round).quotes / 1_000));
  const shares = rounds.map((round) => round.copyMs / of(round).ms);
  const peaks = rounds.flatMap((round) => of(round).peakBytes ?? []);
  return {
    ...{ share: median(shares), shares, peakBytes: peaks.length === 0 ? null : Math.max(...peaks) },
    secondsPerMillion: perMillion(({ ms }) => ms),
    cpuSecondsPerMillion: perMillion(({ cpuMs }) => cpuMs ?? NaN),
  };
}

function missesOf(what: keyof typeof LEAST_SHARES, { share, peakBytes }: Figures): string[] {
  const least = LEAST_SHARES[what];
  return [
    ...(share >= least ? [] : [`${what}: slower than ${least} of the limit`]),
    ...(peakBytes === null || peakBytes < MOST_BYTES
      ? []
      : [`${what}: more than ${MOST_BYTES / 1e6} MB of memory`]),
  ];
}

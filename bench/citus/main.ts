/**
 * `npm run bench:citus`: an archive on Citus beside a plain one, in one run; medians, and their ratios. TEST_CITUS_URL names
 * the coordinator: the plain archive is another database on it. Asked are the questions of docs/sql.md, and
 * whether both give the same answers (`-- --questions`: these alone); loaded are answers as they come (bench:ingest's), and journals as a replay does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { loadAll } from "../../src/archive/load/loader.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { describeTier, readTier } from "../../src/archive/tiers/tier.ts";
import { instantFromDate, systemClock } from "../../src/ground/clock.ts";
import { openJournal } from "../../src/journal/writer.ts";
import { documentedQuestions, DOCUMENTED_ROWS } from "../queries/documented.ts";
import { fillInstruments, fillSession, sessionDates } from "../queries/market.ts";
import { benchLive } from "../ingest/live.ts";
import { median } from "../ingest/report.ts";
import { records } from "../ingest/sample.ts";
import type { BenchServer } from "../ingest/server.ts";
import { citusNodes, joinCitus } from "../../test/support/postgres/citusNodes.ts";
import { execute } from "../../test/support/postgres/server.ts";

const ROUNDS = 5;
/** Sessions that the questions are about: 585,000 quotes. */
const SESSIONS = 3;
const ANSWERS = 30;
/** Answers of 325 quotes that are replayed at a time. */
const REPLAYED = 120;

const coordinator = process.env["TEST_CITUS_URL"];
if (!coordinator) throw new Error("TEST_CITUS_URL names no coordinator of Citus");
const nodes = await citusNodes(coordinator);
const of = (url: string, name: string): string => Object.assign(new URL(url), { pathname: `/${name}` }).href;
const names = ["plain", "citus"].map((tier) => `quotekeeper_bench_${tier}_${process.pid}`);

try {
  const [plain, citus] = [await openPlain(names[0] ?? ""), await openCitus(names[1] ?? "")];
  for (const { pool } of [plain, citus]) console.log(describeTier(await readTier(pool)));
  if (!process.argv.includes("--questions")) await compareLoading(plain, citus);
  await compareQuestions(plain.pool, citus.pool);
  await plain.close();
  await citus.close();
} finally {
  for (const node of nodes)
    for (const name of names) await execute(node, [`drop database if exists ${name} with (force)`]);
}

async function openPlain(name: string): Promise<BenchServer> {
  await execute(nodes[0] ?? "", [`create database ${name}`]);
  return open(of(nodes[0] ?? "", name), false);
}

async function openCitus(name: string): Promise<BenchServer> {
  for (const node of nodes) await execute(node, [`create database ${name}`]);
  await joinCitus(nodes.map((node) => of(node, name)));
  return open(of(nodes[0] ?? "", name), true);
}

async function open(url: string, toCitus: boolean): Promise<BenchServer> {
  const pool = createPool(url);
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-bench-"));
  await migrate(pool, instantFromDate(systemClock.now()), toCitus ? { toCitus } : {});
  return {
    ...{ pool, url, dir },
    close: async () => {
      await pool.end();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function tell(what: string, plain: number, citus: number): void {
  const ms = (value: number): string => `${value.toFixed(1)} ms`.padStart(11);
  console.log(`${what.padEnd(64)}${ms(plain)}${ms(citus)}${(citus / plain).toFixed(2).padStart(8)}`);
}

async function compareLoading(plain: BenchServer, citus: BenchServer): Promise<void> {
  const replayed = [plain, citus].map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round++)
    for (const [place, server] of [plain, citus].entries()) {
      const ms = await replay(server, round);
      // The first round warms up.
      if (round > 0) replayed[place]?.push(ms);
    }
  const [a = NaN, b = NaN] = replayed.map((times) => median(times));
  tell(`replay of ${REPLAYED * 325} quotes`, a, b);
  const live = [];
  for (const server of [plain, citus]) live.push(await benchLive(server, 100_000, { count: ANSWERS }));
  const [one, two] = live;
  if (!one || !two) return;
  tell("an answer of 325 quotes, from memory through commit", median(one.commit), median(two.commit));
  tell("the same from the journal, fsync included", median(one.fromJournal), median(two.fromJournal));
  tell("two COPYs and a commit by hand", median(one.byHand), median(two.byHand));
}

async function replay({ pool, dir }: BenchServer, round: number): Promise<number> {
  const journalDir = join(dir, `replay-${round}`);
  const journal = await openJournal({ dir: journalDir, clock: systemClock, onProblem: rethrow });
  const polls = { symbolCount: 325, perCall: 325, minutes: REPLAYED, fromMinute: round * 2_000 };
  for (const record of records(polls, 1)) await journal.append(record);
  await journal.close();
  const begun = performance.now();
  await loadAll({ pool, journalDir, clock: systemClock });
  return performance.now() - begun;
}

async function compareQuestions(plain: pg.Pool, citus: pg.Pool): Promise<void> {
  const sessions = sessionDates(DOCUMENTED_ROWS, new Date()).slice(-SESSIONS);
  for (const pool of [plain, citus]) await fill(pool, sessions);
  let same = 0;
  const questions = documentedQuestions();
  for (const { title, sql } of questions) {
    const times = [plain, citus].map((): number[] => []);
    const answers = ["", ""];
    for (let round = 0; round <= ROUNDS; round++)
      for (const [place, pool] of [plain, citus].entries()) {
        const begun = performance.now();
        const { rows } = await pool.query(sql);
        if (round > 0) times[place]?.push(performance.now() - begun);
        answers[place] = JSON.stringify(rows);
      }
    if (answers[0] === answers[1]) same += 1;
    else console.log(`The answers differ: ${answers.map((one) => one.slice(0, 300)).join("\n")}`);
    const [a = NaN, b = NaN] = times.map((all) => median(all));
    tell(title, a, b);
  }
  console.log(`${same} of ${questions.length} answers are the same on both.`);
  process.exitCode = same === questions.length ? 0 : 1;
}

async function fill(pool: pg.Pool, sessions: readonly { date: string; open: Date }[]): Promise<void> {
  const client = await pool.connect();
  // What was loaded before is another archive's.
  for (const table of ["quotes", "extended_quotes", "session_bars", "intraday_bars", "instruments"])
    await client.query(`delete from ${table}`);
  await client.query("select setval('instruments_id_seq', 1, false)");
  await fillInstruments(
    client,
    sessions.map(({ date }) => date),
  );
  for (const [place, { open: at }] of sessions.entries()) await fillSession(client, at, place);
  await client.query("select recompute_session_bars($1, $2)", [sessions[0]?.date, sessions.at(-1)?.date]);
  await client.query("vacuum analyze");
  client.release();
}

function rethrow(error: unknown): never {
  throw error;
}

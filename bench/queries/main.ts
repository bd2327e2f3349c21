/**
 * `npm run bench:queries [-- --rows 20000000]`: how long the views take over that many quotes, beside the same
 * question asked of the raw tables; medians. It works in a database of its own, dropped at the end: on the server of
 * TEST_DATABASE_URL, or on an embedded one. Exit code 1 when a view misses its target. With `--documented` the questions of
 * docs/sql.md instead.
 */
import { performance } from "node:perf_hooks";
import type pg from "pg";
import { migrate } from "../../src/archive/migrations.ts";
import { createPool } from "../../src/archive/connect.ts";
import { describeTier, readTier } from "../../src/archive/tiers/tier.ts";
import { execute, startTestServer } from "../../test/support/postgres/server.ts";
import { instantFromDate } from "../../src/clock.ts";
import { askDocumented, DOCUMENTED_ROWS } from "./documented.ts";
import { fillInstruments, fillSession, sessionDates } from "./market.ts";
import { type Question, questions } from "./questions.ts";

const ROUNDS = 9;
/** Asking the raw tables takes seconds; three rounds show them well enough. */
const RAW_ROUNDS = 3;
const MOST_BYTES = 8e9;

const at = process.argv.indexOf("--rows");
const isDocumented = process.argv.includes("--documented");
const wanted = at > 0 ? Number(process.argv[at + 1]) : isDocumented ? DOCUMENTED_ROWS : 20_000_000;
const server = process.env["TEST_DATABASE_URL"]
  ? { url: process.env["TEST_DATABASE_URL"], close: async () => undefined }
  : await startTestServer();
const name = `quotekeeper_bench_${process.pid}`;
const url = new URL(server.url);
url.pathname = `/${name}`;
await execute(server.url, [`create database ${name}`]);
const pool = createPool(url.href, { max: 1 });
try {
  process.exitCode = await run(pool);
} finally {
  await pool.end();
  await execute(server.url, [`drop database ${name} with (force)`]);
  await server.close();
}

async function run(database: pg.Pool): Promise<number> {
  await migrate(database, instantFromDate(new Date()));
  const dates = await fill(database);
  const rows = await oneNumber(database, "select count(*) as n from quotes");
  const tier = await readTier(database);
  if (tier.name === "community") await settle(database, dates.at(-1) ?? "");
  await database.query("vacuum analyze");
  const bytes = await databaseBytes(database);
  console.log(
    `${describeTier(tier)}: ${rows.toLocaleString("en")} rows in quotes, as many in extended_quotes, ${(bytes / 1e9).toFixed(1)} GB`,
  );
  if (isDocumented) return (await askDocumented(database)) > 0 ? 1 : 0;
  console.log(
    `${"question".padEnd(52)}${"view".padStart(12)}${"target".padStart(12)}${"raw tables".padStart(14)}`,
  );
  let missed = 0;
  for (const question of questions(dates)) {
    const view = await median(database, question.view, question, ROUNDS);
    const raw = await median(database, question.raw, question, RAW_ROUNDS);
    if (view > question.targetMs) missed += 1;
    console.log(
      `${question.name.padEnd(52)}${ms(view).padStart(12)}${`< ${question.targetMs} ms`.padStart(12)}${ms(raw).padStart(14)}`,
    );
  }
  return missed > 0 ? 1 : 0;
}

async function fill(database: pg.Pool): Promise<string[]> {
  const sessions = sessionDates(wanted, new Date());
  const client = await database.connect();
  try {
    await fillInstruments(client);
    for (const [place, { date, open }] of sessions.entries()) {
      await fillSession(client, open, place);
      if ((await databaseBytes(client)) > MOST_BYTES)
        throw new Error(`more than ${MOST_BYTES / 1e9} GB at ${date}: give fewer --rows`);
    }
  } finally {
    client.release();
  }
  return sessions.map(({ date }) => date);
}

/** What the policies would do in their own time. */
async function settle(database: pg.Pool, lastDate: string): Promise<void> {
  for (const table of ["quotes", "extended_quotes"])
    await database.query(
      `select compress_chunk(c) from show_chunks('${table}', older_than => '${lastDate}'::timestamptz - interval '7 days') c`,
    );
}

async function median(database: pg.Pool, sql: string, { values, rows, name: of }: Question, rounds: number) {
  const times: number[] = [];
  const used = values.slice(0, Math.max(0, ...[...sql.matchAll(/\$(\d)/g)].map(([, n]) => Number(n))));
  for (let round = 0; round <= rounds; round++) {
    const begun = performance.now();
    const { rowCount } = await database.query(sql, used);
    // The first round warms the caches.
    if (round > 0) times.push(performance.now() - begun);
    if (rowCount !== rows) throw new Error(`${of}: ${rowCount} rows, expected ${rows}`);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

async function databaseBytes(db: pg.Pool | pg.ClientBase): Promise<number> {
  return oneNumber(db, "select pg_database_size(current_database()) as n");
}

async function oneNumber(db: pg.Pool | pg.ClientBase, sql: string): Promise<number> {
  const { rows } = await (db as pg.Pool).query<{ n: string }>(sql);
  return Number(rows[0]?.n);
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

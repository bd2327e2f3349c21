/**
 * `npm run bench:queries [-- --rows 20000000]`: how long the views take over that many quotes, beside the same
 * question asked of the raw tables, and the functions of docs/sql.md beside `latest_quotes`; medians. It works in a database
 * of its own, dropped at the end: on the server of TEST_DATABASE_URL, or on an embedded one. With `--database NAME` that one is
 * made and kept, or used as it is, so that it is filled once. `--functions` asks the functions alone, `--plans` prints what the
 * server does for each of them, `--documented` asks the questions of docs/sql.md. Exit code 1 when a bound is missed.
 */
import { parseArgs } from "node:util";
import { performance } from "node:perf_hooks";
import type pg from "pg";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { createPool } from "../../src/archive/connect/connect.ts";
import { describeTier, readTier } from "../../src/archive/tiers/tier.ts";
import { execute, startTestServer } from "../../test/support/postgres/server.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import { askDocumented, DOCUMENTED_ROWS } from "./documented.ts";
import { askFunctions, printPlans } from "./functions.ts";
import { fillInstruments, fillSession, sessionDates } from "./market.ts";
import { type Question, questions } from "./questions.ts";

const ROUNDS = 9;
/** Asking the raw tables takes seconds; three rounds show them well enough. */
const RAW_ROUNDS = 3;
const MOST_BYTES = 8e9;

const { values: options } = parseArgs({
  options: {
    rows: { type: "string" },
    documented: { type: "boolean", default: false },
    functions: { type: "boolean", default: false },
    plans: { type: "boolean", default: false },
    database: { type: "string" },
  },
});
const wanted = Number(options.rows ?? (options.documented ? DOCUMENTED_ROWS : 20_000_000));
const server = process.env["TEST_DATABASE_URL"]
  ? { url: process.env["TEST_DATABASE_URL"], close: async () => undefined }
  : await startTestServer();
const name = options.database ?? `quotekeeper_bench_${process.pid}`;
const url = new URL(server.url);
url.pathname = `/${name}`;
const isKept = options.database !== undefined && (await isThere());
if (!isKept) await execute(server.url, [`create database ${name}`]);
const pool = createPool(url.href, { max: 1 });
try {
  process.exitCode = await run(pool);
} finally {
  await pool.end();
  if (options.database === undefined) await execute(server.url, [`drop database ${name} with (force)`]);
  await server.close();
}

async function run(database: pg.Pool): Promise<number> {
  if (!isKept) await fill(database);
  const dates = await datesOf(database);
  if (dates.length === 0) throw new Error(`${name} has no bars: its questions would be about nothing`);
  const rows = await oneNumber(database, "select count(*) as n from quotes");
  const bytes = await databaseBytes(database);
  console.log(
    `${describeTier(await readTier(database))}: ${rows.toLocaleString("en")} rows in quotes, as many in extended_quotes, ${(bytes / 1e9).toFixed(1)} GB`,
  );
  if (options.plans) await printPlans(database, dates);
  if (options.documented) return (await askDocumented(database)) > 0 ? 1 : 0;
  const missed = options.functions ? 0 : await askViews(database, dates);
  return missed + (await askFunctions(database, dates)) > 0 ? 1 : 0;
}

/** @returns how many views take too long */
async function askViews(database: pg.Pool, dates: readonly string[]): Promise<number> {
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
  return missed;
}

async function fill(database: pg.Pool): Promise<void> {
  await migrate(database, instantFromDate(new Date()));
  const sessions = sessionDates(wanted, new Date());
  const dates = sessions.map(({ date }) => date);
  const client = await database.connect();
  try {
    await fillInstruments(client, dates);
    for (const [place, { date, open }] of sessions.entries()) {
      await fillSession(client, open, place);
      if ((await databaseBytes(client)) > MOST_BYTES)
        throw new Error(`more than ${MOST_BYTES / 1e9} GB at ${date}: give fewer --rows`);
    }
    await client.query("select recompute_session_bars($1, $2)", [dates[0], dates.at(-1)]);
  } finally {
    client.release();
  }
  if ((await readTier(database)).name === "community") await settle(database, dates.at(-1) ?? "");
  await database.query("vacuum analyze");
}

async function datesOf(database: pg.Pool): Promise<string[]> {
  const { rows } = await database.query<{ date: string }>(
    "select distinct date::text from session_bars where instrument_id = 1 order by 1",
  );
  return rows.map(({ date }) => date);
}

async function isThere(): Promise<boolean> {
  const all = createPool(server.url, { max: 1 });
  const { rows } = await all.query("select from pg_database where datname = $1", [name]);
  await all.end();
  return rows.length > 0;
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

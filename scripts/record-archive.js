/**
 * `node scripts/record-archive.js CHECKOUT SERVER FILE` records an archive as a release makes it, for test/archive/upgrades.test.ts: a
 * built checkout of that release collects from its simulated service, is away, collects again, reads saved answers of a session, and `pg_dump` writes its database down.
 * SERVER is a PostgreSQL as old as the installed `pg_dump`, without TimescaleDB; the database made in it goes away. It takes a minute.
 *
 *     git worktree add /tmp/release 36b508f && (cd /tmp/release && npm ci)
 *     node scripts/record-archive.js /tmp/release postgresql://postgres@127.0.0.1/postgres FILE
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import pg from "pg";

const JOB = `name: recorded
schedule: "*/3 * * * * *"
symbols: [AAPL, GE, IBM, NOSUCH]
chains:
  - { underlying: AAPL, expirations: { next: 1, kind: monthly }, strikes: { around: last, percent: 2, step: 5 } }
`;

/** When the saved answers were received: in two bars of five minutes, so that the first is kept. */
const SAVED = ["20261124T150000Z", "20261124T150200Z", "20261124T150700Z", "20261124T151100Z"];

/** Rows of `slots` after which the collector is stopped, and after which it is stopped for good. */
const FIRST_SLOTS = 3;
const LAST_SLOTS = 7;

const [checkout, server, file] = process.argv.slice(2);
if (file === undefined) throw new Error("say which: node scripts/record-archive.js CHECKOUT SERVER FILE");
const url = new URL(server);
url.pathname = `/quotekeeper_recorded_${process.pid}`;
const name = url.pathname.slice(1);
const dir = mkdtempSync(join(tmpdir(), "quotekeeper-recorded-"));
await ask(server, `create database ${name} template template0`);
try {
  mkdirSync(join(dir, "jobs"));
  writeFileSync(join(dir, "jobs", "recorded.yaml"), JOB);
  for (const at of SAVED)
    for (const kind of ["equity", "option-call"])
      cpSync(recorded(kind), join(dir, "saved", `${kind}-${at}.xml`), { recursive: true });
  await collect(FIRST_SLOTS);
  await collect(LAST_SLOTS);
  quotekeeper("backfill", "--xml", "saved");
  writeFileSync(file, gzipSync(dump(), { level: 9 }));
} finally {
  await ask(server, `drop database ${name} with (force)`);
  rmSync(dir, { recursive: true });
}

function recorded(kind) {
  return new URL(`../test/recorded/${kind}/response.xml`, import.meta.url);
}

/** How the release's program is started. */
function program() {
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: url.href,
    QUOTEKEEPER_DATA_DIR: join(dir, "data"),
    QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"),
  };
  return {
    bin: join(resolve(checkout), "bin", "quotekeeper.js"),
    given: { cwd: dir, env, stdio: "inherit" },
  };
}

function quotekeeper(...args) {
  const { bin, given } = program();
  execFileSync(process.execPath, [bin, ...args], given);
}

async function collect(slots) {
  quotekeeper("migrate");
  const { bin, given } = program();
  const collector = spawn(process.execPath, [bin, "collect"], given);
  const ended = new Promise((done) => collector.once("close", done));
  while (collector.exitCode === null && Number(await ask(url.href, "select count(*) from slots")) < slots)
    await delay(500);
  collector.kill("SIGTERM");
  if ((await ended) !== 0) throw new Error("the collector did not end well");
}

/** What a test can run as one text: without the settings of a session, psql's commands, and what this machine is called. */
function dump() {
  const flags = ["--schema=public", "--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=500"];
  const text = execFileSync("pg_dump", [...flags, "--dbname", url.href], {
    maxBuffer: 1e9,
    encoding: "utf8",
  });
  return text
    .split("\n")
    .filter(
      (line) => !/^(SET \w+ = |\\|SELECT pg_catalog\.set_config|CREATE SCHEMA|COMMENT ON SCHEMA)/.test(line),
    )
    .join("\n")
    .replaceAll(`'${hostname()}'`, "'machine'")
    .replaceAll(dir, "/home/you/quotes");
}

async function ask(connectionString, sql) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query({ text: sql, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

/**
 * npm run bench:tiers -- [--server URL]... [--symbols N] [--contracts N] [--sessions N] [--rounds N] [--json]
 *
 * The same journal on several servers, one after the other in each round: what a quote costs on the disk, how fast it is
 * loaded, moved to TimescaleDB, compressed, written to the lake, dropped and brought back. Prints medians. The first server
 * should have no TimescaleDB: its archive is copied to the others, and moved there. Without `--server`: an embedded one.
 * Everything it makes is gone at the end. Exits 1 when rows are not the same at the end as they were.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { rebuildKeys } from "../../src/archive/schema/denseKeys.ts";
import { describeTier, readTier } from "../../src/archive/tiers/tier.ts";
import { execute, startTestServer } from "../../test/support/postgres/server.ts";
import { type Ran, runProgram } from "../backfill/program.ts";
import { benchLive } from "../ingest/live.ts";
import { median } from "../ingest/report.ts";
import { writeMarket } from "./market.ts";
import {
  compress,
  databaseBytes,
  digest,
  oneNumber,
  postmasterOf,
  serverCpuMs,
  tableBytes,
} from "./facts.ts";

const { values: options } = parseArgs({
  options: {
    server: { type: "string", multiple: true, default: [] },
    symbols: { type: "string", default: "500" },
    contracts: { type: "string", default: "0" },
    sessions: { type: "string", default: "5" },
    rounds: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});

/** Of one server and round: seconds for a million quotes, bytes a quote. */
type Figures = Record<string, number>;

const timedOnes = new Set([
  "replay",
  "rebuild of keys",
  "compress",
  "lake",
  "lake verify",
  "lake --drop-hot",
  "lake restore",
]);

const dir = mkdtempSync(join(tmpdir(), "quotekeeper-tiers-"));
const embedded = options.server.length === 0 ? await startTestServer() : null;
const servers = embedded ? [embedded.url] : options.server;
const found = new Map<string, Figures[]>();
try {
  const dataDir = join(dir, "data");
  mkdirSync(join(dataDir, "journal"), { recursive: true });
  await writeMarket(join(dataDir, "journal"), {
    symbols: Number(options.symbols),
    sessions: Number(options.sessions),
    contracts: Number(options.contracts),
  });
  for (let round = 0; round < Number(options.rounds); round++) {
    const dump = join(dir, "archive.dump");
    for (const [place, server] of servers.entries()) {
      const filled = await database(server, "filled");
      try {
        const { tier, figures } = await measure(
          filled,
          dataDir,
          place === 0 && servers.length > 1 ? dump : null,
        );
        note(tier, figures);
      } finally {
        await dropped(server, "filled");
      }
      if (place > 0) await measureMove(server, dump);
    }
    rmSync(dump, { force: true });
  }
  print();
} finally {
  rmSync(dir, { recursive: true, force: true });
  await embedded?.close();
}

function note(tier: string, figures: Figures): void {
  found.set(tier, [...(found.get(tier) ?? []), figures]);
  console.error(tier, figures);
}

async function measure(
  url: string,
  dataDir: string,
  dump: string | null,
): Promise<{ tier: string; figures: Figures }> {
  const env = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: dataDir, QUOTEKEEPER_LAKE_HOT_DAYS: "1" };
  const figures: Figures = {};
  await runProgram(["migrate"], env);
  const pool = createPool(url, { max: 1 });
  try {
    const empty = await databaseBytes(pool);
    const quotesOf = async (): Promise<number> => oneNumber(pool, "select count(*) as n from quotes");
    const server = await postmasterOf(pool);
    const timed = async (name: string, work: () => Promise<Ran | void>): Promise<void> => {
      const cpuMs = serverCpuMs(server);
      const startMs = performance.now();
      const ran = await work();
      figures[name] = (performance.now() - startMs) / 1_000;
      figures[`${name}, processor`] = (serverCpuMs(server) - cpuMs + (ran?.cpuMs ?? 0)) / 1_000;
    };
    const walOf = async (): Promise<number> => oneNumber(pool, "select pg_current_wal_lsn() - '0/0' as n");
    const wal = await walOf();
    await timed("replay", () => runProgram(["backfill", "--journal", "--json"], env));
    const quotes = await quotesOf();
    figures["bytes of WAL"] = ((await walOf()) - wal) / quotes;
    await pool.query("vacuum analyze");
    await pool.query("checkpoint");
    const tier = await readTier(pool);
    await sizes(pool, { figures, empty, quotes, as: "" });
    if (tier.name === "plain") {
      const { signal } = new AbortController();
      await timed(
        "rebuild of keys",
        async () => void (await rebuildKeys(pool, { now: new Date("2027-01-05"), signal })),
      );
      await sizes(pool, { figures, empty, quotes, as: "rebuilt " });
    }
    if (dump !== null) {
      const { status, stderr } = spawnSync("pg_dump", [
        "--format=custom",
        "--compress=1",
        "--file",
        dump,
        url,
      ]);
      if (status !== 0) throw new Error(stderr.toString());
    }
    if (tier.name === "community") {
      await timed("compress", () => compress(pool));
      await pool.query("vacuum analyze");
      await pool.query("checkpoint");
      await sizes(pool, { figures, empty, quotes, as: "compressed " });
    }
    const before = await digest(pool);
    const out = join(dir, "lake");
    await timed("lake", async () => {
      const ran = await runProgram(["lake", "--out", out, "--json"], env);
      figures["lake bytes"] = (JSON.parse(ran.stdout) as { bytes: number }).bytes / quotes;
      return ran;
    });
    await timed("lake verify", () => runProgram(["lake", "verify", "--out", out, "--json"], env));
    await timed("lake --drop-hot", () => runProgram(["lake", "--out", out, "--drop-hot", "--json"], env));
    const left = await quotesOf();
    await pool.query("vacuum analyze");
    await sizes(pool, { figures, empty, quotes, as: "dropped " });
    await timed("lake restore", () =>
      runProgram(
        ["lake", "restore", "--out", out, "--from", "2026-01-01", "--to", "2026-12-31", "--json"],
        env,
      ),
    );
    if (left !== 0 || (await digest(pool)) !== before) {
      console.error(`${describeTier(tier)}: ${left} quotes were left, or those that came back are others`);
      process.exitCode = 1;
    }
    rmSync(out, { recursive: true });
    await live(url, figures);
    for (const [name, seconds] of Object.entries(figures))
      if (timedOnes.has(name.replace(", processor", ""))) figures[name] = (seconds * 1e6) / quotes;
    return { tier: describeTier(tier), figures: { quotes, ...figures } };
  } finally {
    await pool.end();
  }
}

/** Milliseconds from an answer's append to the journal, fsync included, through commit: one after the other. */
async function live(url: string, figures: Figures): Promise<void> {
  const pool = createPool(url);
  const journal = mkdtempSync(join(dir, "live-"));
  try {
    const { fromJournal, byHand } = await benchLive({ pool, dir: journal }, 0, { count: 60, perCall: 100 });
    figures["live answer, ms"] = median(fromJournal);
    figures["by hand, ms"] = median(byHand);
  } finally {
    await pool.end();
  }
}

/** A plain archive that is restored to a server with TimescaleDB, and moved. */
async function measureMove(server: string, dump: string): Promise<void> {
  const url = await database(server, "moved");
  const pool = createPool(url, { max: 1 });
  try {
    const { stderr } = spawnSync("pg_restore", ["--dbname", url, "--no-owner", dump]);
    const quotes = await oneNumber(pool, "select count(*) as n from quotes");
    if (quotes === 0) throw new Error(stderr.toString());
    const before = await digest(pool);
    const postmaster = await postmasterOf(pool);
    const cpuMs = serverCpuMs(postmaster);
    const { ms } = await runProgram(["migrate", "--to-timescaledb"], { DATABASE_URL: url });
    const moveCpuMs = serverCpuMs(postmaster) - cpuMs;
    const after = await digest(pool);
    const tier = await readTier(pool);
    if (after !== before || tier.name === "plain") {
      console.error(`${describeTier(tier)}: the rows that were moved are others`);
      process.exitCode = 1;
    }
    note(`moved to ${describeTier(tier)}`, {
      ...{ quotes, move: (ms * 1e3) / quotes, "move, processor": (moveCpuMs * 1e3) / quotes },
    });
  } finally {
    await pool.end();
    await dropped(server, "moved");
  }
}

async function sizes(
  pool: pg.Pool,
  { figures, empty, quotes, as }: { figures: Figures; empty: number; quotes: number; as: string },
): Promise<void> {
  for (const table of ["quotes", "extended_quotes", "intraday_bars", "session_bars", "responses"])
    figures[`${as}bytes: ${table}`] = (await tableBytes(pool, table)) / quotes;
  figures[`${as}bytes: all`] = ((await databaseBytes(pool)) - empty) / quotes;
}

/** Makes a database. @returns its connection string */
async function database(server: string, name: string): Promise<string> {
  await execute(server, [`create database ${nameOf(name)} template template0`, "checkpoint"]);
  const url = new URL(server);
  url.pathname = `/${nameOf(name)}`;
  return url.href;
}

async function dropped(server: string, name: string): Promise<void> {
  await execute(server, [`drop database if exists ${nameOf(name)} with (force)`]);
}

function nameOf(name: string): string {
  return `quotekeeper_tiers_${process.pid}_${name}`;
}

function print(): void {
  const medians = Object.fromEntries(
    Array.from(found, ([tier, rounds]) => [
      tier,
      Object.fromEntries(
        Object.keys(rounds[0] ?? {}).map((name) => [name, median(rounds.map((one) => one[name] ?? NaN))]),
      ),
    ]),
  );
  if (options.json) console.log(JSON.stringify(medians, null, 2));
  else
    for (const [tier, figures] of Object.entries(medians)) {
      console.log(`${tier}; seconds for a million quotes, bytes a quote:`);
      for (const [name, value] of Object.entries(figures))
        console.log(`  ${name.padEnd(28)}${value.toFixed(name === "quotes" ? 0 : 1).padStart(12)}`);
    }
}

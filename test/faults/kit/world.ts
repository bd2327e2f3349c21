/** All parts of one fault run: a feed, a server, job files, and collectors that come and go. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { createPool } from "../../../src/archive/connect/connect.ts";
import { openEmbedded } from "../../../src/archive/embedded/embeddedServer.ts";
import { migrate } from "../../../src/archive/schema/migrations.ts";
import { systemClock, instantFromDate } from "../../../src/ground/clock.ts";
import type { Credentials } from "../../../src/services/oauth/signature.ts";
import { Auditor } from "./audit.ts";
import { type CollectorProcess, startCollector } from "./collector.ts";
import { type Feed, startFeed } from "./feed.ts";
import { type DueJob, type Load, writeJobs } from "./jobs.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { signalPostmaster } from "./server.ts";

/** A world under faults. */
export type World = {
  feed: Feed;
  journalDir: string;
  dataDir: string;
  jobs: readonly DueJob[];
  /** Connection string of the database's owner. */
  url: string;
  pool: pg.Pool;
  auditor: Auditor;
  /** Starts a collector; `databaseUrl` where it is not the world's: a proxy's, or null for an embedded one. */
  collect: (databaseUrl?: string | null) => CollectorProcess;
  /** Starts one of the same account and database on another data directory. */
  collectElsewhere: () => CollectorProcess;
  /** Settings of every collector, for other commands beside it. */
  env: (databaseUrl?: string | null) => Record<string, string>;
  bin: string;
  close: () => Promise<void>;
};

/** More than a collector can do, so that it never rests. */
const DEFAULT_LOAD: Load = { symbols: 400, options: 60, slowSymbols: 250 };

/** The account of every collector. */
export const CREDENTIALS: Credentials = {
  consumerKey: "key",
  consumerSecret: "secret",
  accessToken: "token",
  accessTokenSecret: "token-secret",
};

/** How to open one. */
export type WorldOptions = {
  load?: Load;
  /** A program compiled before; default: one of its own. */
  bin?: string;
  /** False leaves the schema to the collector. */
  migrated?: boolean;
  /** Default: one that answers as fast as it is asked. */
  openFeed?: () => Promise<Feed>;
  /** Settings of the collectors that differ, as far as they hang on nothing or on the data directory. */
  settings?: Record<string, string> | ((dataDir: string) => Record<string, string>);
};

/** Opens one on a database of the server, which is made for it. */
export async function openWorld(serverUrl: string, options: WorldOptions = {}): Promise<World> {
  return openWorldOn(await makeDatabase(serverUrl), options);
}

/** Opens one on a database that is there. */
export async function openWorldOn(databaseUrl: string, options: WorldOptions = {}): Promise<World> {
  return worldIn(makeDir(), databaseUrl, options);
}

/** A world whose collectors have the embedded server, as without `DATABASE_URL`. */
export type EmbeddedWorld = World & {
  clusterDir: string;
  /** Uses the server again, so that the last collector to end does not stop it. */
  hold: () => Promise<void>;
};

/** Opens one. */
export async function openEmbeddedWorld(options: WorldOptions = {}): Promise<EmbeddedWorld> {
  const dir = makeDir();
  const clusterDir = join(dir, "data", "postgres");
  const server = await openEmbedded(join(dir, "data"), systemClock);
  const onExit = (): void => void signalPostmaster(clusterDir, "SIGQUIT");
  process.once("exit", onExit);
  const world = await worldIn(dir, server.ownerUrl, options);
  return {
    ...world,
    clusterDir,
    hold: server.revive,
    close: async () => {
      await world.pool.end();
      await server.close();
      onExit();
      process.off("exit", onExit);
      await world.close();
    },
  };
}

function makeDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-faults-"));
  // PostgreSQL does not run as root but as another user, who has to get in.
  chmodSync(dir, 0o755);
  return dir;
}

async function worldIn(
  dir: string,
  url: string,
  { load = DEFAULT_LOAD, bin, migrated = true, openFeed = () => startFeed(), settings = {} }: WorldOptions,
): Promise<World> {
  const onExit = (): void => rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  process.once("exit", onExit);
  const jobsDir = join(dir, "jobs");
  const dataDir = join(dir, "data");
  mkdirSync(jobsDir);
  const jobs = writeJobs(jobsDir, load, systemClock.now());
  const program = bin ?? compileProgram(join(dir, "program"));
  const feed = await openFeed();
  const pool = createPool(url, { max: 2 });
  if (migrated) await migrate(pool, instantFromDate(systemClock.now()));
  const env = (databaseUrl: string | null = url): Record<string, string> => ({
    QUOTES_CONSUMER_KEY: CREDENTIALS.consumerKey,
    QUOTES_CONSUMER_SECRET: CREDENTIALS.consumerSecret,
    QUOTES_ACCESS_TOKEN: CREDENTIALS.accessToken,
    QUOTES_ACCESS_TOKEN_SECRET: CREDENTIALS.accessTokenSecret,
    ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
    QUOTES_BASE_URL: feed.baseUrl,
    // As good as none, so that the governor holds nothing back.
    QUOTES_LIMIT: "100000",
    QUOTES_LIMIT_WINDOW_MS: "1000",
    QUOTEKEEPER_DATA_DIR: dataDir,
    QUOTEKEEPER_JOBS_DIR: jobsDir,
    QUOTEKEEPER_LOG_LEVEL: "error",
    ...(typeof settings === "function" ? settings(dataDir) : settings),
  });
  return {
    ...{ feed, dataDir, jobs, url, pool, env, bin: program },
    journalDir: join(dataDir, "journal"),
    auditor: new Auditor(pool, join(dataDir, "journal")),
    collect: (databaseUrl) => startCollector(program, env(databaseUrl), dir),
    collectElsewhere: () =>
      startCollector(program, { ...env(), QUOTEKEEPER_DATA_DIR: join(dir, "elsewhere") }, dir),
    close: async () => {
      await feed.close();
      if (!pool.ended) await pool.end();
      process.off("exit", onExit);
      onExit();
    },
  };
}

async function makeDatabase(serverUrl: string): Promise<string> {
  const name = `faults_${Buffer.from(systemClock.random(5)).toString("hex")}`;
  const admin = createPool(serverUrl, { max: 1 });
  await admin.query(`create database ${name}`).finally(() => admin.end());
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { type Job, readJobs } from "../../src/schedule/readJobs.ts";
import { instrumentName, option } from "../../src/market/instrument.ts";
import { type QuoteTable, rowsOf } from "../../src/web/api/quoteTable.ts";
import type { News } from "../../src/web/api/types.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { until } from "../support/until.ts";
import { run } from "./edges.ts";

// A cluster is made and programs are started, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const JOBS = fileURLToPath(new URL("../../jobs/", import.meta.url));

const running = new Set<ChildProcess>();
/** Embedded servers that a program under test has not ended yet. */
const servers = new Set<number>();
afterAll(() => {
  running.forEach((child) => child.kill("SIGKILL"));
  servers.forEach((pid) => process.kill(pid, "SIGQUIT"));
});

function serverOf(dataDir: string): number {
  return Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
}

/** A `quotekeeper start` of its own process, with nothing configured but where its files are. */
function start(bin: string, dataDir: string, settings: Record<string, string> = {}) {
  const child = spawn(process.execPath, [bin, "start"], {
    cwd: dataDir,
    env: {
      PATH: process.env["PATH"] ?? "",
      QUOTEKEEPER_DATA_DIR: dataDir,
      QUOTEKEEPER_JOBS_DIR: JOBS,
      QUOTEKEEPER_HTTP_PORT: "0",
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const written = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (written.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (written.stderr += chunk.toString()));
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  return {
    written,
    /** What `look` finds, as soon as it finds something. */
    seen: <T>(look: () => Promise<T | null> | T | null, what: string) =>
      until(() => {
        if (running.has(child)) return look();
        throw new Error(`it has ended before ${what}; it said:\n${written.stdout}\n${written.stderr}`);
      }, what),
    /** What stands behind a word at the beginning of a line, such as `Database`. */
    line: (word: string): string | null =>
      new RegExp(`^${word} +(\\S+).*\n`, "m").exec(written.stdout)?.[1] ?? null,
    end: (signal: NodeJS.Signals): Promise<number | null> => {
      child.kill(signal);
      return ended;
    },
  };
}

/** An instrument with quotes; `name` as in `instrumentName`. */
type Quoted = {
  name: string;
  symbol: string;
  optionType: "CALL" | "PUT" | null;
  kind: string;
  quotes: number;
};

async function quotedInstruments(pool: pg.Pool): Promise<Quoted[]> {
  // The tables appear a moment after the server.
  const { rows } = await pool
    .query<Quoted>(
      `select concat_ws(':', symbol, expiration, option_type, trim_scale(strike)) as name, symbol,
              option_type as "optionType", kind, count(*)::int as quotes
       from quotes join instruments i on i.id = instrument_id join sources s on s.id = source_id
       group by i.id, s.id`,
    )
    .catch(() => ({ rows: [] }));
  return rows;
}

function countOf(quoted: readonly Quoted[]): number {
  return quoted.reduce((sum, { quotes }) => sum + quotes, 0);
}

/** What the jobs name, and of each chain both types of contracts. */
function isAllOf(jobs: readonly Job[], quoted: readonly Quoted[]): boolean {
  const names = new Set(quoted.map(({ name }) => name));
  return jobs.every(
    ({ symbols, options, chains }) =>
      symbols.every((symbol) => names.has(symbol)) &&
      options.every((contract) => names.has(instrumentName(option(contract)))) &&
      chains.every(({ underlying, types }) =>
        types.every((type) => quoted.some((one) => one.symbol === underlying && one.optionType === type)),
      ),
  );
}

test("a start whose dashboard's port is taken ends with exit code 1 and names the port", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;

  const { exitCode, stdout, stderr } = await run(["start"], {
    DATABASE_URL: (await freshDatabase()).url,
    QUOTEKEEPER_DATA_DIR: tempDir(),
    QUOTEKEEPER_JOBS_DIR: JOBS,
    QUOTEKEEPER_HTTP_PORT: String(port),
  });
  other.close();

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(new RegExp(`PORT_IN_USE: .*127\\.0\\.0\\.1:${port}.*QUOTEKEEPER_HTTP_PORT`));
});

test.each(["start", "collect"])("%s with a bad job file begins nothing, exit code 2", async (command) => {
  const jobsDir = tempDir();
  writeFileSync(join(jobsDir, "bad.yaml"), "name: bad\nsymbols: AAPL\n");
  const dataDir = join(tempDir(), "data");

  const { exitCode, stdout, stderr } = await run([command], {
    QUOTEKEEPER_DATA_DIR: dataDir,
    QUOTEKEEPER_JOBS_DIR: jobsDir,
  });

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toMatch(/JOBS_INVALID: 2 problems.*bad\.yaml:1: schedule.*bad\.yaml:2: symbols/s);
  expect(existsSync(dataDir)).toBe(false);
});

test("a first start polls every example instrument, shows where, ends at Ctrl-C, and a second goes on", async () => {
  const bin = compileProgram(tempDir());
  const dataDir = tempDir();
  // The embedded server runs as another user when the test runs as root.
  chmodSync(dataDir, 0o755);
  const { jobs } = await readJobs(JOBS);
  const first = start(bin, dataDir);
  const databaseUrl = await first.seen(() => first.line("Database"), "the database's address");
  servers.add(serverOf(dataDir));
  const pool = poolOn(databaseUrl, { max: 1 });
  const quoted = await first.seen(async () => {
    const found = await quotedInstruments(pool);
    return isAllOf(jobs, found) ? found : null;
  }, "quotes of everything that the jobs name");
  const dashboard = await fetch(first.line("Dashboard") ?? "");
  const { view } = (await (await fetch(`${first.line("Dashboard")}/api/quotes`)).json()) as News<QuoteTable>;
  const shown = view === null ? [] : rowsOf(view);
  // Options are still being polled: what is shown lies between what was stored before and after.
  const quotedSince = (await quotedInstruments(pool)).map(({ name }) => name);
  const firstEnd = await first.end("SIGINT");
  servers.clear();

  expect(first.written.stdout).toMatch(/^Market +SIMULATED: these quotes are made up/m);
  expect(first.written.stdout).toMatch(/\d+\/60 calls this minute \| \d+ rows stored \| next poll in \d+ s/);
  expect(new Set(quoted.map(({ kind }) => kind))).toEqual(new Set(["simulated"]));
  expect(dashboard.status).toBe(200);
  expect(new Set(shown.map(({ source }) => source))).toEqual(new Set(["simulated"]));
  expect(shown.map(({ instrument }) => instrument)).toEqual(
    expect.arrayContaining(quoted.map(({ name }) => name)),
  );
  expect(quotedSince).toEqual(expect.arrayContaining(shown.map(({ instrument }) => instrument)));
  expect(firstEnd).toBe(0);

  const second = start(bin, dataDir);
  await second.seen(() => second.line("Database"), "the database's address");
  servers.add(serverOf(dataDir));
  const again = poolOn(second.line("Database") ?? "", { max: 1 });
  const grown = await second.seen(async () => {
    const found = await quotedInstruments(again);
    return countOf(found) > countOf(quoted) ? found : null;
  }, "more quotes");
  const secondEnd = await second.end("SIGTERM");
  servers.clear();

  const quotesNow = new Map(grown.map(({ name, quotes }) => [name, quotes]));
  for (const { name, quotes } of quoted) expect(quotesNow.get(name)).toBeGreaterThanOrEqual(quotes);
  expect(secondEnd).toBe(0);

  const { ownerPassword } = JSON.parse(
    readFileSync(join(dataDir, "postgres", "quotekeeper.json"), "utf8"),
  ) as {
    ownerPassword: string;
  };
  const everything = JSON.stringify([first.written, second.written]);
  expect(everything).not.toContain(ownerPassword);
  expect(everything).not.toMatch(/oauth_|consumerSecret|accessToken/i);
});

test("a database that is away is told of once, without a stack, and the end says what is kept", async () => {
  const dataDir = tempDir();
  const away = {
    DATABASE_URL: "postgresql://nobody@127.0.0.1:1/nothing",
    HTTPS_PROXY: "http://127.0.0.1:9/",
  };
  const program = start(compileProgram(tempDir()), dataDir, away);
  const address = await program.seen(() => program.line("Dashboard"), "its address");

  for (let request = 0; request < 5; request++) await fetch(`${address}/api/quotes`);
  await program.seen(() => /\b[1-9]\d*\/60 calls/.exec(program.written.stdout), "a call");
  const exitCode = await program.end("SIGINT");

  const { stdout, stderr } = program.written;
  expect(exitCode).toBe(1);
  expect(stderr.match(/Start the server or correct DATABASE_URL/g)).toHaveLength(1);
  expect(stderr.match(/HTTPS_PROXY is ignored: services are called directly/g)).toHaveLength(1);
  expect(stderr.match(/the dashboard could not read the archive/g)?.length).toBeLessThanOrEqual(2);
  expect(stderr).not.toMatch(/\bat \S+ \(/);
  const [, answered, kept] =
    /(\d+) calls? w\w+ answered; (\d+) answers? \w+ in the journal/.exec(stdout) ?? [];
  expect(Number(answered)).toBeGreaterThan(0);
  expect(kept).toBe(answered);
  expect(stdout).toContain("Stored 0 quotes of 0 answers in the database.");
  expect(stdout).toContain("the rest is safe in the journal");
});

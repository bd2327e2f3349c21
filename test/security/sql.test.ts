/** Somebody's statement for `sql`, and somebody's files in a lake: no other file is read, and whatever runs can be ended. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, jest, test } from "@jest/globals";
import { lookAtLake } from "../../src/files/lake/whichLake.ts";
import { askSql } from "../../src/files/sql/askSql.ts";
import { type Duck, ownDuck, rowsOf } from "../../src/files/sql/duckdb.ts";
import { startDuck } from "../../src/files/sql/duckProcess.ts";
import { run } from "../cli/edges.ts";
import { late, old } from "../files/lake/lakeWorld.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { see } from "../support/observations.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

// Statements are ended from outside, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const DATE = "2026-01-12";
const QUOTES = `quotes/date=${DATE}/quotes.parquet`;
/** Takes minutes while DuckDB plans it, and little memory. */
const FOLDED = "select levenshtein(repeat('a', 300000), repeat('b', 300000))";

const world = await old();
await world.lake();
const program = compileProgram(tempDir());
const file = pathToFileURL(join(dirname(dirname(program)), "dist/files/sql/duckChild.js"));

/** Asks neither a lake nor a database. */
function ask(
  duck: Duck,
  statement: string,
  { signal = new AbortController().signal } = {},
): Promise<unknown> {
  return askSql(
    statement,
    {
      duck,
      pool: null,
      lake: null,
      dir: tempDir(),
      places: { own: tempDir(), cache: null },
      asOf: null,
      parquet: null,
      signal,
      onRows: () => undefined,
    },
    ({ next }) => next(),
  );
}

const dir = tempDir();
writeFileSync(join(dir, "secret.csv"), "hunter2-the-secret\n1\n");
execFileSync("mkfifo", [join(dir, "pipe.csv")]);

test.each([
  "from SECRET",
  "from PIPE",
  "select nosuch from SECRET",
  "with a as (from SECRET) select count(*) from quotes",
  "select (select count(*) from SECRET) from quotes",
  "select 1 from quotes semi join PIPE on true",
  `select * from (with "csv" as (select 1) from "csv") a, SECRET`,
  "describe SECRET",
  "explain select * from PIPE",
  "from memory.PIPE",
  "from information_schema.columns, PIPE",
  "from 'DIR/secret.csv'",
])(
  "the name of a file in place of a table's is refused, and the file is not opened: %s",
  async (statement) => {
    const named = statement
      .replaceAll("SECRET", `"${dir}/secret".csv`)
      .replaceAll("PIPE", `"${dir}/pipe".csv`)
      .replaceAll("DIR", dir);

    const { exitCode, stdout, stderr } = await run(["sql", "--lake", world.out, "--lake-only", named]);

    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(
      /^SQL_REFUSED: .* is no table or view of the archive, and nothing else is read\./u,
    );
    expect(stderr).not.toContain("hunter2");
  },
);

test("the name of a file in place of a table's may stand in WITH, and an unknown table is named", async () => {
  const named = await ask(ownDuck(), `with "secret.csv" as (select 7 as n) select n from "secret.csv"`);

  expect(named).toEqual([[7]]);
  await expect(ask(ownDuck(), "from quote")).rejects.toMatchObject({
    code: "SQL_WRONG",
    detail: "there is no table or view quote; did you mean quotes?",
  });
});

test("DuckDB touches no file and takes no setting from before it parses a statement until it has answered", async () => {
  const own = ownDuck();
  const said: unknown[] = [];
  const attempt = async (statement: string): Promise<void> => {
    await rowsOf(own, statement).then(
      () => said.push("done"),
      (error: Error) => said.push(error.message.split(": ")[1]),
    );
  };
  // Tries it whenever the statement is handed over: to be parsed, planned and answered.
  const begin = async (statement: string): ReturnType<Duck["begin"]> => {
    if (statement.includes("47 as lock")) {
      await attempt("from read_text('/etc/hostname')");
      await attempt("set allowed_paths = ['/etc/hostname']");
    }
    return own.begin(statement);
  };

  const rows = await ask({ ...own, begin }, "select 47 as lock");

  expect(rows).toEqual([[47]]);
  expect(said).toEqual(Array.from({ length: 3 }, () => ["Permission Error", "Invalid Input Error"]).flat());
});

const kinds: Record<string, (path: string) => void> = {
  "a pipe": (path) => {
    rmSync(path);
    execFileSync("mkfifo", [path]);
  },
  "a link": (path) => {
    renameSync(path, `${path}.there`);
    symlinkSync(`${path}.there`, path);
  },
};

test.each([
  ["a pipe", QUOTES, ["a pipe, not a file", "is missing, or its bytes"]],
  ["a link", QUOTES, ["a link, not a file", "is missing, or its bytes"]],
  ["a link", dirname(QUOTES), ["behind a link", "is missing, or its bytes"]],
  ["a pipe", `days/${DATE}.json`, ["a pipe, not a file", "a pipe, not a file"]],
  ["a link", `days/${DATE}.json`, ["a link, not a file", "a link, not a file"]],
  ["a link", "days", ["behind a link", "behind a link"]],
  ["a pipe", "lake.json", ["a pipe, not a file", "a pipe, not a file"]],
])(
  "%s at %s in a lake is refused at once by every command that reads the lake",
  async (kind, path, [asked, proven]) => {
    const out = join(tempDir(), "lake");
    cpSync(world.out, out, { recursive: true });
    kinds[kind]?.(join(out, path));
    const env = { DATABASE_URL: world.url, QUOTEKEEPER_LAKE_DIR: out };
    const of = (...words: string[]): Promise<string> =>
      run(words, env).then(({ exitCode, stdout, stderr }) => `${exitCode} ${stdout}${stderr}`);

    const refused = new RegExp(`^1 LAKE_INVALID: .*${path}.*${asked}`, "u");
    expect(await of("sql", "select count(*) from quotes")).toMatch(refused);
    expect(await of("sql", "--lake-only", "select count(*) from quotes")).toMatch(refused);
    expect(await of("lake", "verify", "--out", out)).toMatch(new RegExp(`^1 [^]*${proven}`, "u"));
    expect(await of("lake", "restore", "--out", out, "--from", DATE, "--to", DATE)).toMatch(
      new RegExp(`^1 LAKE_(?:UNPROVEN|INVALID): .*${proven}`, "u"),
    );
    // These two open no file of a date that they have no need of.
    const isRead = !path.startsWith("quotes");
    expect(await of("lake", "--out", out)).toMatch(isRead ? refused : /^0 /u);
    const { fault } = await lookAtLake(out, world.pool);
    expect(fault ?? "").toMatch(path === "lake.json" ? /a pipe, not a file/u : /^$/u);
  },
);

test("no run of lake writes through a link to another directory", async () => {
  const [out, elsewhere] = [join(tempDir(), "lake"), tempDir()];
  cpSync(world.out, out, { recursive: true });
  rmSync(dirname(join(out, QUOTES)), { recursive: true });
  symlinkSync(elsewhere, dirname(join(out, QUOTES)));
  await see(world.pool, { at: `${DATE} 17:00`, id: 1, bid: "1", ask: "2", last: "1.5" });
  await late(world.pool, DATE);

  const { exitCode, stderr } = await run(["lake", "--out", out], { DATABASE_URL: world.url });

  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/LAKE_INVALID: .*behind a link/u)]);
  expect(readdirSync(elsewhere)).toEqual([]);
});

test("a statement that DuckDB computes while it plans is ended when it takes more memory than it may, in words that say how much", async () => {
  const duck = startDuck({ file, most: 300_000_000 });

  await expect(ask(duck, "select list_sum(range(3000000000))")).rejects.toMatchObject({
    code: "SQL_FAILED",
    detail: "the statement takes more than 0.3 GB of memory, and was ended",
  });
  await expect(ask(startDuck({ file }), "select list_sum(range(3))")).resolves.toEqual([[3]]);
});

test("a statement that DuckDB computes while it plans is ended by Ctrl-C, by SIGTERM and with the program that is killed, and nothing is left of it", async () => {
  const ended = await Promise.all((["SIGINT", "SIGTERM", "SIGKILL"] as const).map(endedBy));
  // What a killed program has left is swept by the next one.
  await run(["sql", "--lake", world.out, "--lake-only", "select 1"]);

  expect(ended.map(({ exit }) => exit)).toEqual([
    [130, null],
    [130, null],
    [null, "SIGKILL"],
  ]);
  expect(ended.slice(0, 2).flatMap(({ left }) => left)).toEqual([]);
  expect(ended.flatMap(({ pid }) => filesOf(pid))).toEqual([]);
});

/** Runs the program with a statement that is planned for minutes, and sends it a signal while it plans. */
async function endedBy(signal: NodeJS.Signals): Promise<{ pid: number; exit: unknown[]; left: string[] }> {
  const words = [program, "sql", "--lake", world.out, "--lake-only", FOLDED];
  const child = spawn(process.execPath, words, { stdio: "ignore" });
  const pid = child.pid ?? 0;
  const exit = once(child, "exit");
  const duck = await until(() => Number(told("pgrep", "-P", String(pid))) || null, "DuckDB's process");
  const hasPlanned = (): boolean =>
    told("ps", "-o", "time=", "-p", String(duck))
      .split(":")
      .map(Number)
      .reduce((sum, n) => sum * 60 + n, 0) >= 1;
  await until(hasPlanned, "DuckDB has worked for a second");

  child.kill(signal);

  const how = await exit;
  const left = filesOf(pid);
  await until(() => told("ps", "-o", "pid=", "-p", String(duck)) === "", "DuckDB's process has ended");
  return { pid, exit: how, left };
}

function filesOf(pid: number): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`quotekeeper-sql-${pid}-`));
}

/** What a program prints; nothing where it finds nothing. */
function told(command: string, ...words: string[]): string {
  return spawnSync(command, words, { encoding: "utf8" }).stdout.trim();
}

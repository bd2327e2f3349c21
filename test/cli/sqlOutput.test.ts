/** What `sql` prints and writes, what it refuses, and the prompt. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, jest, test } from "@jest/globals";
import Ajv from "ajv/dist/2020.js";
import { z } from "zod";
import { sql } from "../../src/cli/sql.ts";
import { runProgram } from "../../src/cli/program.ts";
import { ERRORS, QuotekeeperError } from "../../src/ground/errors.ts";
import { askSql } from "../../src/files/sql/askSql.ts";
import { ownDuck } from "../../src/files/sql/duckdb.ts";
import { duckdbRows } from "../files/export/duckdb.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { until } from "../support/until.ts";
import { tempDir } from "../support/tempDir.ts";
import { capturedEdges, run } from "./edges.ts";
import { acrossTheBorder } from "./sqlWorld.ts";

// Each statement starts a process, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const { ask, pool, url, lake } = await acrossTheBorder();
/** Files of another test's process lie in the same place. */
const OWN_FILES = `quotekeeper-sql-${process.pid}-`;
const env = { DATABASE_URL: url, QUOTEKEEPER_LAKE_DIR: lake };
/** The program as it is installed: what the machine's zone is, a process knows from its beginning. */
let program: string | undefined;

test("sql prints a table with numbers below each other", async () => {
  const { stdout, exitCode } = await ask(
    "select symbol, date, close from bars_1d where option_type is null and symbol <> 'IBM' order by symbol, date",
  );

  expect([exitCode, stdout]).toEqual([
    0,
    [
      "symbol  date         close",
      "AAPL    2026-11-18  150.26",
      "AAPL    2026-11-19  151.2",
      "AAPL    2026-11-20  152.14",
      "MSFT    2026-11-18  418.74",
      "MSFT    2026-11-19  415.93",
      "MSFT    2026-11-20  413.12",
      "",
    ].join("\n"),
  ]);
});

test("sql --json prints decimals as text, counts as numbers and times in ISO 8601, as its schema says", async () => {
  const { stdout } = await ask(
    `select last, observed_at, delayed, instrument_id, count(*) over () as n, null as nothing, [1.5, 2] as list,
         {'a': 'b'} as object, 9007199254740993 as large, 1.5::double as "double"
       from quotes where instrument_id = 1 order by observed_at limit 1`,
    "--json",
  );

  const answer: unknown = JSON.parse(stdout);
  const validate = new Ajv.default({ strict: false }).compile(z.toJSONSchema(sql.json, { io: "input" }));
  expect([validate(answer), validate.errors]).toEqual([true, null]);
  expect(answer).toMatchObject({
    count: 1,
    rows: [
      {
        ...{ last: "151", observed_at: "2026-11-18T09:00:01.000000Z", delayed: false, instrument_id: 1 },
        ...{
          nothing: null,
          list: ["1.5", "2"],
          object: { a: "b" },
          large: "9007199254740993",
          double: 1.5,
        },
      },
    ],
  });
});

test("an answer of sql has its instants in UTC, with a Z, on a machine whose zone is another", () => {
  program ??= compileProgram(tempDir());
  const statement = `select timestamptz '2026-11-20 09:30:00 America/New_York' as at,
        [timestamptz '2026-11-20 23:30:00.000001+00'] as list, timestamp '2026-11-20 09:30:00' as without`;
  const answer = (...words: string[]): string =>
    execFileSync(process.execPath, [program ?? "", "sql", statement, ...words], {
      env: { ...process.env, ...env, TZ: "America/St_Johns" },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });

  const [at, list] = ["2026-11-20T14:30:00.000000Z", "2026-11-20T23:30:00.000001Z"];
  const without = "2026-11-20T09:30:00.000000";
  expect(answer("--csv")).toBe(`at,list,without\n${at},"[""${list}""]",${without}\n`);
  expect(JSON.parse(answer("--json"))).toMatchObject({ rows: [{ at, list: [list], without }] });
  expect(answer().split("\n")[1]).toMatch(new RegExp(`^${at}  \\["${list}"\\]  2026-11-20T09:30`));
});

test("sql --csv prints CSV in which no spreadsheet finds a formula, unless --raw is given", async () => {
  const statement = `select '=1+1' as text, -2.5 as number, '' as empty, null as "null", 'a "b", c' as "quoted"`;
  const { stdout: safe } = await ask(statement, "--csv");
  const { stdout: raw } = await ask(statement, "--csv", "--raw");

  expect(safe).toBe(`text,number,empty,null,quoted\n'=1+1,-2.5,"",,"a ""b"", c"\n`);
  expect(raw).toBe(`text,number,empty,null,quoted\n=1+1,-2.5,"",,"a ""b"", c"\n`);
});

test("sql --parquet writes a file that another program reads, and leaves nothing beside it", async () => {
  const dir = tempDir();
  const out = join(dir, "closes.parquet");
  writeFileSync(out, "what was there before");

  const { exitCode, stdout } = await ask(
    "select symbol, date, close from bars_1d where option_type is null order by 1, 2; -- the last",
    ...["--parquet", out],
  );

  expect([exitCode, stdout]).toEqual([0, `9 rows: ${out}\n`]);
  expect(await duckdbRows(`select count(*) as n, max("close") as most from read_parquet('${out}')`)).toEqual([
    { n: "9", most: "418.74000000" },
  ]);
  expect(readdirSync(dir)).toEqual(["closes.parquet"]);
});

test.each([
  "select 'a;--b' as x",
  "select 'a;--b' as x; -- the end; /*",
  `select 'a;' as x, 1 as "--;" /* ; */ ; ;`,
  "select $$a;--$$ as x -- ;",
])(
  "sql --parquet ends a statement at its own semicolon, and not at one in a text, a name or a comment: %s",
  async (text) => {
    const out = join(tempDir(), "texts.parquet");

    const { stderr, stdout } = await ask(text, "--parquet", out);

    expect(stderr).toBe("");
    expect(stdout).toMatch(/^1 row: /u);
  },
);

test("a failed sql --parquet leaves the earlier file, and nothing beside it", async () => {
  const dir = tempDir();
  const out = join(dir, "old.parquet");
  writeFileSync(out, "old");

  const failed = await ask("select 'x'::int", "--parquet", out);
  const described = await ask("describe quotes;", "--parquet", out);
  const nowhere = await ask("select 1", "--parquet", join(dir, "no", "such.parquet"));

  for (const { exitCode, stderr } of [failed, described])
    expect([exitCode, stderr.split(":")[0]]).toEqual([2, "SQL_WRONG"]);
  expect(nowhere.exitCode).not.toBe(0);
  expect([readdirSync(dir), readFileSync(out, "utf8")]).toEqual([["old.parquet"], "old"]);
});

test("an answer of many rows is printed as it arrives; a table shows the first ten thousand", async () => {
  const { stdout } = await ask("select range as n from range(100000)", "--csv");
  const shown = await ask("select range as n from range(100000)");

  expect(stdout.split("\n")).toHaveLength(100_002);
  expect(shown.stdout.split("\n")).toHaveLength(10_002);
  expect(shown.stderr).toBe("the first 10,000 rows; --csv, --json and --parquet write all of them\n");
});

test("an answer with two columns of one name has both", async () => {
  const { stdout } = await ask("select 1 as a, 2 as a", "--json");

  expect(Object.values((JSON.parse(stdout) as { rows: object[] }).rows[0] ?? {})).toEqual([1, 2]);
});

test("sql reads the statement from a file or standard input as well", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, "one.sql"), "-- a comment\nselect count(*) as n\nfrom instruments;\n");
  const stdin = new PassThrough();
  stdin.end("select count(*) as n from instruments");
  const piped = capturedEdges({ env, stdin: () => stdin });

  const file = await run(["sql", "--csv", "--file", join(dir, "one.sql")], env);
  const exitCode = await runProgram(["sql", "--csv"], piped.edges);

  expect([file.stdout, exitCode, piped.stdout()]).toEqual(["n\n9\n", 0, "n\n9\n"]);
});

test("sql says where a statement is wrong, exit code 2", async () => {
  const syntax = await ask("select 1,\n  frm quotes whre");
  const name = await ask("select nothing from quotes");
  const json = await ask("selec 1", "--json");

  expect([syntax.exitCode, syntax.stderr]).toEqual([
    2,
    expect.stringMatching(/^SQL_WRONG: syntax error at or near "whre" \(line 2, column 14\)/u) as unknown,
  ]);
  expect(name).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^SQL_WRONG: .*"nothing"/u) as unknown,
  });
  expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "SQL_WRONG", exitCode: 2 } });
});

const target = join(tempDir(), "written");
test.each([
  "insert into quotes values (1)",
  "create table t as select 1",
  "create view v as select 1",
  "drop view quotes",
  `copy (select 1) to '${target}'`,
  `copy quotes from '/etc/passwd'`,
  `explain analyze copy (select 1) to '${target}'`,
  `export database '${target}'`,
  `attach '${target}' as other`,
  "install httpfs",
  "load httpfs",
  "set memory_limit = '1TB'",
  "set enable_external_access = true",
  "reset lock_configuration",
  "pragma enable_profiling",
  "call pragma_version()",
  "begin",
  "vacuum",
  "checkpoint",
  "use parts",
  "select 1; select 2",
  "select 1; drop view quotes",
  `explain select 1; copy (select 1) to '${target}'`,
  "select * from read_csv('/etc/passwd')",
  "select * from read_text('/etc/passwd')",
  "select * from read_blob('/etc/passwd')",
  "select * from glob('/etc/*')",
  "select (select content from read_text('/etc/passwd'))",
  "with a as (select * from read_text('/etc/passwd')) select * from a",
  "select * from '/etc/passwd'",
  "select * from 'passwd.csv'",
  "from query('select * from read_text(''/etc/passwd'')')",
  "from query_table('quotes')",
  `select * from enable_logging(storage = 'file', storage_config = {'path': '${target}'})`,
  `select * from enable_profiling(save_location = '${target}')`,
  "describe select * from read_text('/etc/passwd')",
  "summarize select * from read_text('/etc/passwd')",
  "select * from sniff_csv('/etc/passwd')",
  "select * from parquet_metadata('/etc/passwd')",
  "from read_duckdb('/etc/passwd')",
  "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))",
])("sql refuses a statement that does more than read the archive: %s", async (statement) => {
  const { exitCode, stdout, stderr } = await ask(statement);

  expect([exitCode, stdout, stderr.slice(0, stderr.indexOf(":"))]).toEqual([2, "", "SQL_REFUSED"]);
  expect(existsSync(target)).toBe(false);
});

test.each([
  "values (1)",
  "from instruments",
  "with a as (select 1 as n) select n from a",
  "show tables",
  "describe quotes",
  "summarize instruments",
  "explain select * from quotes where instrument_id = 1",
  "/* why */ explain analyze select count(*) from quotes",
  "pivot (select symbol, option_type from instruments) on option_type in ('CALL', 'PUT') using count(*)",
  "select unnest([1, 2]), 'drop table quotes'",
])("sql runs a statement that only reads: %s", async (statement) => {
  const { exitCode, stdout } = await ask(statement);

  expect(exitCode).toBe(0);
  expect(stdout.length).toBeGreaterThan(0);
});

test("Ctrl-C ends a statement, which leaves nothing behind", async () => {
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith(OWN_FILES));
  const { edges, interrupt, stdout } = capturedEdges({ env });

  const ended = runProgram(
    [
      "sql",
      "--csv",
      "select a.range from range(10000000) a, range(10000000) b where hash(a.range + b.range) = 1",
    ],
    edges,
  );
  await until(
    () => readdirSync(tmpdir()).some((name) => name.startsWith(OWN_FILES) && !before.includes(name)),
    "the statement runs",
  );
  interrupt();

  expect(await ended).toBe(130);
  expect(stdout().length).toBeLessThan(10);
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith(OWN_FILES))).toEqual(before);
});

test("without the package of DuckDB the error says how to install it, in our version", async () => {
  const asked = askSql(
    "select 1",
    {
      pool: null,
      lake: null,
      dir: tempDir(),
      places: { own: tempDir(), cache: null },
      asOf: null,
      parquet: null,
      signal: new AbortController().signal,
      onRows: () => undefined,
      duck: ownDuck(() =>
        Promise.reject(Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" })),
      ),
    },
    async () => undefined,
  );

  await expect(asked).rejects.toThrow(QuotekeeperError);
  await expect(asked).rejects.toMatchObject({
    code: "DUCKDB_MISSING",
    detail: "@duckdb/node-api cannot be loaded (ERR_MODULE_NOT_FOUND)",
  });
  const { devDependencies } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  ) as { devDependencies: Record<string, string> };
  expect(ERRORS.DUCKDB_MISSING.hint).toContain(`@duckdb/node-api@${devDependencies["@duckdb/node-api"]}\``);
});

test("without a lake only the database is queried, but not for dates whose quotes were dropped", async () => {
  const hot = "where observed_at >= '2026-11-19T05:00:00Z'";
  const asked = await run(["sql", "--csv", `select count(*) as n from quotes ${hot}`], {
    DATABASE_URL: url,
  });
  const all = await run(["sql", "--csv", "select count(*) as n from quotes"], { DATABASE_URL: url });
  const { rows } = await pool.query<{ n: string }>(`select count(*)::text as n from quotes ${hot}`);

  expect([asked.exitCode, asked.stdout, asked.stderr]).toEqual([
    0,
    `n\n${rows[0]?.n}\n`,
    expect.stringMatching(
      /^The database's rows are those of .* UTC, copied for this statement alone: there is no data directory .*\.\n$/u,
    ),
  ]);
  expect([all.exitCode, all.stderr]).toEqual([
    1,
    expect.stringContaining("LAKE_MISSING: quotes of 2026-11-18 were dropped from the database"),
  ]);
});

test("without a database --lake-only queries the lake", async () => {
  const away = { DATABASE_URL: "postgresql://nobody@127.0.0.1:1/nothing", QUOTEKEEPER_LAKE_DIR: lake };
  const failed = await run(["sql", "select 1"], away);
  const alone = await run(
    ["sql", "--lake-only", "--csv", "select date, count(*) as n from bars_1d group by date order by date"],
    away,
  );
  const newest = await run(
    [
      ...["sql", "--lake-only", "--csv"],
      "select symbol, observed_at, last from latest_quotes where option_type is null order by symbol",
    ],
    away,
  );

  expect(failed).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("with --lake-only the lake alone is asked") as unknown,
  });
  expect(alone).toMatchObject({ exitCode: 0, stdout: "date,n\n2026-11-18,9\n2026-11-19,9\n" });
  expect(newest.stderr).toBe("");
  expect(newest.stdout).toBe(
    [
      "symbol,observed_at,last",
      "AAPL,2026-11-20T00:55:01.000000Z,151.2",
      "IBM,2026-11-20T00:55:01.000000Z,229.74",
      "MSFT,2026-11-20T00:55:01.000000Z,415.93",
      "",
    ].join("\n"),
  );
});

test("without lake and database sql wants the lake's directory, which has to be this archive's lake", async () => {
  const unnamed = await run(["sql", "--lake-only", "select 1"], {});
  const empty = await run(["sql", "--lake", tempDir(), "select count(*) from quotes"], env);

  expect([unnamed.exitCode, unnamed.stderr.split(":")[0]]).toEqual([2, "USAGE"]);
  expect(empty.stderr).toMatch(/^LAKE_MISSING: .* holds no lake/u);
});

test("statements at the prompt may have several lines, errors do not end the prompt, and Ctrl-C ends a statement alone", async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const { edges, stdout, stderr, said } = capturedEdges({ env, isTTY: true, stdin: () => stdin });
  const ended = runProgram(["sql"], edges);
  await said(/sql> /u);

  stdin.write("select count(*) as n\n");
  stdin.write("from instruments;\n");
  await said(/\bn\b[^]*\b9\n[^]*sql> /u);
  stdin.write("selec 1;\n");
  await until(() => /SQL_WRONG/u.test(stderr()), "the error");
  stdin.write("\\d\n");
  await said(/option_chain_latest/u);
  stdin.write("\\d sources\n");
  await said(/SMALLINT[^]*sql> /u);
  stdin.write(
    "select a.range from range(10000000) a, range(10000000) b where hash(a.range + b.range) = 1;\n",
  );
  await until(() => readdirSync(tmpdir()).some((name) => name.startsWith(OWN_FILES)), "the statement runs");
  stdin.write("\u0003");
  await until(() => /^ended$/mu.test(stderr()), "the statement ends");
  stdin.write("\\q\n");

  expect(await ended).toBe(0);
  expect(stdout()).toContain("Statements end with a semicolon.");
});

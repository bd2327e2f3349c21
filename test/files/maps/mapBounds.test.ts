/** What a map may not do, what DuckDB refuses of files, and that a map gives the same at each run. */
import { execFileSync } from "node:child_process";
import { gzipSync } from "node:zlib";
import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { runMap } from "../../../src/files/maps/runMap.ts";
import { ownDuck } from "../../../src/files/sql/duckdb.ts";
import { tempDir } from "../../support/tempDir.ts";
import { days, fileOf, mapped } from "./maps.ts";

// DuckDB is started for each statement, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** All columns, and what every map has to give. */
const ALL = "select *, 'A' as instrument, '2026-11-18T14:30:00Z' as observed_at from input";
const FILE = fileOf("a,b\n1,2\n3,4\n");

const dir = tempDir();
writeFileSync(join(dir, "secret.csv"), "hunter2-the-secret\n1\n");
execFileSync("mkfifo", [join(dir, "pipe.csv")]);

const PARQUET = join(tempDir(), "q.parquet");
const writer = ownDuck();
await writer.open(tempDir());
await writer.run(`copy (select 1 as a, 2 as file_index) to '${PARQUET}'`);
await writer.close();

const errorOf = (sql: string, files = [FILE]): Promise<string> =>
  mapped(sql, files, { days: [] }).then(
    () => "none",
    ({ message }: Error) => message,
  );

test.each([
  [
    "a file in place of a table",
    [
      `from "DIR/secret".csv`,
      `from "DIR/pipe".csv`,
      `select nosuch from "DIR/secret".csv`,
      "from 'DIR/secret.csv'",
      `with a as (from "DIR/secret".csv) select count(*) from input`,
      `select (select count(*) from "DIR/secret".csv) from input`,
      `select 1 from input semi join "DIR/pipe".csv on true`,
      `select * from (with "csv" as (select 1) from "csv") a, 'DIR/secret.csv'`,
      `from memory."DIR/pipe.csv"`,
      "from input, 'DIR/secret.csv'",
      "from day_volumes('DIR/secret.csv')",
      `from day_volumes("DIR/secret.csv")`,
      `from day_volumes("DIR/secret".csv)`,
      "describe 'DIR/secret.csv'",
    ],
  ],
  [
    "a function that reads files or the machine",
    [
      "from read_text('DIR/secret.csv')",
      "from read_csv('DIR/secret.csv')",
      "from read_blob('DIR/pipe.csv')",
      "from glob('DIR/*')",
      "from sniff_csv('DIR/secret.csv')",
      "from read_parquet('DIR/x')",
      "from parquet_metadata('DIR/x')",
      "from read_json('DIR/x')",
      "from query_table('DIR/secret.csv')",
      "from query('from read_text(''DIR/secret.csv'')')",
      "from duckdb_settings()",
      "from which_secret('s3://x', 's3')",
      "from pragma_storage_info('input')",
      "with a as (from read_csv('DIR/secret.csv')) from a",
    ],
  ],
  [
    "a statement that is no SELECT",
    [
      "copy input to 'DIR/x.csv'",
      "copy input from 'DIR/secret.csv'",
      "install httpfs",
      "load httpfs",
      "attach 'DIR/x.db'",
      "detach x",
      "use x",
      "pragma version",
      "call pragma_version()",
      "set threads = 4",
      "reset threads",
      "set variable x = 1",
      "create table x as select 1",
      "create view x as select 1",
      "create macro q() as 1",
      "create secret (type s3)",
      "drop view input",
      "insert into input values (1)",
      "update input set a = 1",
      "delete from input",
      "alter table input add column z int",
      "export database 'DIR/x'",
      "import database 'DIR/x'",
      "checkpoint",
      "vacuum",
      "begin",
      "prepare p as select 1",
      "execute p",
      `explain ${ALL}`,
    ],
  ],
  [
    "several statements, and none",
    [`${ALL}; ${ALL}`, `${ALL}; copy input to 'DIR/x.csv'`, "", ";", "-- a comment"],
  ],
  [
    "what gives something else each time",
    [
      "select random() as observed_at from input",
      "select now() as observed_at from input",
      "select current_date as observed_at from input",
      "select uuid() as observed_at from input",
      "from input using sample 3",
      "select sleep_ms(9) as observed_at from input",
    ],
  ],
])("%s is refused as a map, and nothing is opened or written", async (_kind, statements) => {
  for (const statement of statements) {
    const error = await errorOf(statement.replaceAll("DIR", dir));

    expect([statement, error]).toEqual([
      statement,
      expect.stringMatching(/^BACKFILL_MAP_INVALID: map\.sql/u),
    ]);
    expect(error).not.toContain("hunter2");
  }
  expect(readdirSync(dir).sort()).toEqual(["pipe.csv", "secret.csv"]);
});

test("a map that is wrong is named with its line, and so is what it lacks", async () => {
  expect(await errorOf("select a as instrument,\n  nosuch as observed_at\nfrom input")).toMatch(
    /^BACKFILL_MAP_INVALID: map\.sql line 2: Binder Error: Referenced column "nosuch" not found/u,
  );
  expect(await errorOf("select 1\nselec 2")).toMatch(/map\.sql: syntax error .*\(line 2, column \d+\)/u);
  expect(await errorOf("select a from input")).toContain(
    "gives no column observed_at and instrument (or symbol)",
  );
  expect(await errorOf("from inputs")).toContain("did you mean input?");
  expect(await errorOf(`select (a || 'x')::int as observed_at, 'A' as instrument from input`)).toMatch(
    /^BACKFILL_MAP_INVALID: map\.sql.*: Conversion Error/u,
  );
});

test.each([
  [
    "files = 'x'",
    "files cannot be given; what can: delim, quote, escape, comment, skip, header, encoding, nullstr",
  ],
  ["delim = ';;'", "delim: expected one character"],
  ["delim = ;", "expected NAME = VALUE with commas between them: delim = ;"],
  ["skip = 1 header = false", "expected NAME = VALUE with commas between them"],
  ["encoding = 'ebcdic'", "encoding: "],
  ["delim = (select ';')", "expected NAME = VALUE"],
])("a map whose comment says `input: %s` is refused with the comment's line", async (options, why) => {
  expect(await errorOf(`-- a vendor\n-- input: ${options}\n${ALL}`)).toContain(
    `BACKFILL_MAP_INVALID: map.sql line 2: ${why}`,
  );
});

test("without the package of DuckDB the error says what to install", async () => {
  const duck = ownDuck(() =>
    Promise.reject(Object.assign(new Error("none"), { code: "ERR_MODULE_NOT_FOUND" })),
  );

  await expect(mapped(ALL, [FILE], { duck })).rejects.toThrow(
    /^DUCKDB_MISSING: .*maps of `quotekeeper backfill` need this package: run `npm install --global @duckdb\/node-api@/u,
  );
});

test.each([
  ["its header after comments and blank lines", "-- input: comment = '#'\n", "# c\n\na,b\n# d\n1,2\n"],
  ["lines before its header", "-- input: skip = 2, delim = ';'\n", 'of "18.11."\n;;\na;b\n1;2\n'],
  ["a mark, and line ends of Windows", "", "\ufeffa,b\r\n1,2\r\n"],
  ["no line end at its end", "", "a,b\n1,2"],
  ["blanks around its names, and a blank line", "", " a ,b\n\n1,2\n\n"],
  ["UTF-16 with its mark", "", Buffer.from("\ufeffa,b\n1,2\n", "utf16le")],
  ["UTF-16 without it", "-- input: encoding = 'utf-16'\n", Buffer.from("a,b\n1,2\n", "utf16le")],
  ["several members of gzip", "", Buffer.concat([gzipSync("a,b\n"), gzipSync("1,2\n")]), "quotes.csv.gz"],
  ["a name that is a pattern", "", "a,b\n1,2\n", "q[1]*?{x,y}'.csv"],
])("a file with %s is read", async (_what, comment, content, name = "quotes.csv") => {
  const { rows, refused } = await mapped(comment + ALL, [fileOf(content, name)]);

  expect([rows, refused]).toEqual([
    [{ a: "1", b: "2", file: name, row: "1", instrument: "A", observed_at: "2026-11-18T14:30:00Z" }],
    [],
  ]);
});

test.each([
  ["is not there", () => [join(dir, "nosuch.csv")], /nosuch\.csv: it cannot be read \(ENOENT\)/u],
  ["is a pipe", () => [join(dir, "pipe.csv")], /pipe\.csv: it cannot be read/u],
  ["is empty", () => [fileOf("")], /quotes\.csv: it is empty/u],
  ["has a column of DuckDB's own", () => [PARQUET], /q\.parquet: it has a column file_index/u],
  [
    "is cut within its gzip",
    () => [fileOf(gzipSync("a,b\n1,2\n").subarray(0, 20), "q.csv.gz")],
    /q\.csv\.gz: it cannot be read \(Z_BUF_ERROR\)/u,
  ],
  [
    "is of another encoding",
    () => [fileOf(Buffer.from("Stra\xdfe,b\n1,2\n", "latin1"))],
    /its first line is no text of the encoding/u,
  ],
  [
    "is UTF-16 of the other order",
    () => [fileOf(Buffer.from("\ufeffa,b\n", "utf16le").swap16())],
    /its first line is no text/u,
  ],
  [
    "ends its lines in two ways",
    () => [fileOf("a,b\r\n1,2\n3,4\r\n")],
    /quotes\.csv: its lines end in more than one way/u,
  ],
  [
    "has a header that begins within quotes",
    () => [fileOf('"x\ny",b\n1,2\n')],
    /the quotes of its first line are not closed there/u,
  ],
  [
    "has other columns than the first one",
    () => [FILE, fileOf("a,c\n1,2\n")],
    /its column 2 is "c", and that of quotes\.csv is "b"/u,
  ],
  [
    "only begins as Parquet does",
    () => [fileOf("PAR1 and no more", "q.parquet")],
    /q\.parquet: .*No magic bytes/u,
  ],
])("a file that %s is named, and nothing of it is lost in silence", async (_what, files, expected) => {
  const error = await errorOf(ALL, files());

  expect(error).toMatch(/^BACKFILL_NOTHING: /u);
  expect(error).toMatch(expected);
});

test("an abort ends a map that is at work, and its reason is thrown", async () => {
  const abort = new AbortController();
  const endless = `select count(*) as observed_at, 'A' as instrument from input, range(1000000000000) where range % 7 = a::int`;
  setTimeout(() => abort.abort(new Error("Ctrl-C")), 500);

  await expect(mapped(endless, [FILE], { signal: abort.signal })).rejects.toThrow("Ctrl-C");
  await expect(mapped(ALL, [FILE], { signal: abort.signal })).rejects.toThrow("Ctrl-C");
});

test("a reader that stops takes no more, and leaves nothing running or open", async () => {
  const spillDir = tempDir();
  copyFileSync(FILE, join(dir, "kept.csv"));
  const duck = ownDuck();
  for await (const { rows } of runMap({
    ...{ sql: ALL, mapFile: "map.sql", files: [join(dir, "kept.csv")], spillDir, days, duck },
    signal: new AbortController().signal,
  })) {
    expect(rows).toHaveLength(2);
    break;
  }

  await expect(duck.run("select 1")).rejects.toThrow("no database is open");
  expect(readdirSync(spillDir)).toEqual([]);
});

/** What of an archive an export takes, what it refuses, and where it may be written. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { duckdbRows } from "./duckdb.ts";
import { exportableArchive, exporterOf, manifestOf } from "./world.ts";

// Every value of an archive is compared, which takes as long as the machine is slow.
jest.setTimeout(300_000);

handOnDatabases();

const archive = await exportableArchive();

const exported = exporterOf(archive);

test.each(["NaN", "Infinity", "1e30 + 1e-10"])(
  "%s, which no DECIMAL holds, ends the export, and nothing is left of it",
  async (value) => {
    const world = await exportableArchive();
    const sql = value.startsWith("1e") ? `${value.replace("1e-10", "0.0000000001")}` : `'${value}'`;
    await world.pool.query(`update quotes set ask = ${sql}::numeric where instrument_id = 3`);

    const { out, exitCode, stderr } = await exported("--format parquet", { url: world.url });

    expect(exitCode).toBe(1);
    expect(stderr).toContain("EXPORT_UNREPRESENTABLE: quotes.ask");
    expect(readdirSync(dirname(out))).toEqual([]);
  },
);

test("values that no DECIMAL holds together end the export, though each of them alone fits one", async () => {
  const world = await exportableArchive();
  await world.pool.query("update quotes set ask = case instrument_id when 3 then 1e30 else 0.12345678 end");

  const { exitCode, stderr } = await exported("--format parquet", { url: world.url });

  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("EXPORT_UNREPRESENTABLE: quotes.ask")]);
});

test("an export names the account of an answer, and of each share of a slot", async () => {
  await archive.pool.query("insert into accounts (id, name) values (2, 'second')");
  await archive.pool.query("update fills set account_id = 2");
  const tables = ["responses", "slots", "misses", "fills"];

  const { out } = await exported(`--format parquet --tables ${tables.join(",")}`);

  const rows = await Promise.all(
    tables.map((table) => duckdbRows(`select account_id, account from '${out}/${table}/*/*.parquet'`)),
  );
  const first = [{ account_id: "1", account: "default" }];
  expect(rows).toEqual([first, first, first, [{ account_id: "2", account: "second" }]]);
  await archive.pool.query("update fills set account_id = 1");
  await archive.pool.query("delete from accounts where id = 2");
});

test("an export can be narrowed to exchange dates and to symbols in whatever case, which bring their options along", async () => {
  const { out } = await exported("--format parquet --from 2026-11-20 --to 2026-11-20 --symbols aapl");

  const { tables, symbols, from, to } = manifestOf(out);

  expect({ symbols, from, to }).toEqual({ symbols: ["AAPL"], from: "2026-11-20", to: "2026-11-20" });
  expect(Object.fromEntries(tables.map(({ name, rows }) => [name, rows]))).toEqual({
    ...{ sources: 2, instruments: 2, sessions: 1, quotes: 2, extended_quotes: 1, dividends: 0, bars_1d: 2 },
  });
  expect(await duckdbRows(`select distinct instrument from '${out}/quotes/*/*.parquet' order by 1`)).toEqual([
    { instrument: "AAPL" },
    { instrument: "AAPL:2026-12-18:CALL:150.5" },
  ]);
});

test("an export narrowed to symbols leaves out tables that belong to no symbol, and refuses them when they are named", async () => {
  const all = await exported("--format csv --symbols AAPL --tables all");
  const slots = await exported("--format csv --symbols AAPL --tables slots");

  expect(manifestOf(all.out).tables.map(({ name }) => name)).not.toContain("slots");
  expect(slots.exitCode).toBe(2);
  expect(slots.stderr).toContain("--symbols: the rows of slots belong to no symbol");
});

test("unknown symbols, unknown tables and an unknown archive are errors of an export", async () => {
  const [symbols, tables, dates] = [
    await exported("--format csv --symbols AAPL,APPL"),
    await exported("--format csv --tables quotes,qoutes"),
    await exported("--format csv --from 2026-11-20 --to 2026-11-19"),
  ];
  const empty = await exported("--format csv", { url: (await freshDatabase({ migrated: false })).url });

  expect([symbols, tables, dates, empty].map(({ exitCode }) => exitCode)).toEqual([1, 2, 2, 1]);
  expect(symbols.stderr).toContain("UNKNOWN_SYMBOL: the archive has no instrument APPL.");
  expect(tables.stderr).toContain("USAGE: --tables: qoutes; there are sources, instruments");
  expect(dates.stderr).toContain("--from 2026-11-20 is later than --to 2026-11-19");
  expect(empty.stderr).toContain("ARCHIVE_EMPTY");
  for (const { out } of [symbols, tables, dates, empty]) expect(readdirSync(dirname(out))).toEqual([]);
});

test("an export of an archive without rows has no files of quotes", async () => {
  const { url } = await freshDatabase();

  const { out, exitCode } = await exported("--format parquet", { url });

  expect(exitCode).toBe(0);
  expect(manifestOf(out).tables.find(({ name }) => name === "quotes")).toMatchObject({
    rows: 0,
    files: [],
  });
  expect(await duckdbRows(`select count(*) as n from '${out}/instruments/*.parquet'`)).toEqual([{ n: "0" }]);
});

test("an export never replaces what it did not write", async () => {
  const finished = await exported("--format csv");
  const before = readFileSync(join(finished.out, "manifest.json"), "utf8");
  const [strange, file] = [join(tempDir(), "photos"), join(tempDir(), "file")];
  mkdirSync(strange);
  writeFileSync(join(strange, "a.jpg"), "");
  writeFileSync(file, "mine");

  const again = await exported("--format csv", { out: finished.out });
  const intoStrange = await exported("--format csv --replace", { out: strange });
  const intoFile = await exported("--format csv --replace", { out: file });

  expect([again, intoStrange, intoFile].map(({ exitCode }) => exitCode)).toEqual([1, 1, 1]);
  expect(again.stderr).toContain("EXPORT_EXISTS");
  expect(readFileSync(join(finished.out, "manifest.json"), "utf8")).toBe(before);
  expect(readdirSync(strange)).toEqual(["a.jpg"]);
  expect(readFileSync(file, "utf8")).toBe("mine");
});

test("with --replace an export takes the place of a finished one, of which nothing is left", async () => {
  const { out } = await exported("--format csv --tables all");

  const { exitCode } = await exported("--format parquet --tables sources --replace", { out });

  expect(exitCode).toBe(0);
  expect(readdirSync(out).sort()).toEqual(["manifest.json", "sources"]);
  expect(readdirSync(dirname(out))).toEqual(["out"]);
});

test("an export is written into an empty directory, and into directories that are not there yet", async () => {
  const [empty, deep] = [join(tempDir(), "empty"), join(tempDir(), "a", "b", "c")];
  mkdirSync(empty);

  const outcomes = [
    await exported("--format csv", { out: empty }),
    await exported("--format csv", { out: deep }),
  ];

  expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect(existsSync(join(empty, "manifest.json")) && existsSync(join(deep, "manifest.json"))).toBe(true);
});

test("an export names a directory that it cannot write", async () => {
  const file = join(tempDir(), "file");
  writeFileSync(file, "");

  const { exitCode, stderr } = await exported("--format csv", { out: join(file, "below") });

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^EXPORT_WRITE_FAILED: .*below: E[A-Z]+\. Free space/m);
});

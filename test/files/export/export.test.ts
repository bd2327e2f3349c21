import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { digestsQuery, rowsQuery } from "../../../src/archive/export/exportQueries.ts";
import { EXPORT_TABLES, type ExportTable } from "../../../src/archive/export/tables.ts";
import { readColumns } from "../../../src/archive/export/exportColumns.ts";
import { exportArchive } from "../../../src/files/export/exportArchive.ts";
import { PROCESSES } from "../../../src/ground/processes.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { duckdbRows } from "./duckdb.ts";
import { exportableArchive, exporterOf, manifestOf } from "./world.ts";
import { unlessOnCitus } from "../../support/unlessOnCitus.ts";

// Every value of an archive is compared, which takes as long as the machine is slow.
jest.setTimeout(300_000);

handOnDatabases();

const archive = await exportableArchive();

const testSnapshot = unlessOnCitus(
  "whose nodes have no common snapshot, and plan by themselves: an export beside a load, its plan.",
);

const exported = exporterOf(archive);

/** All tables of the archive in Parquet, exported once for all tests that only read them. */
const whole = await exported("--format parquet --tables all --json");

/** CopyDone; CommandComplete comes next. */
const COPY_DONE = Buffer.from("c\0\0\0\x04", "latin1");

/** @returns the archive's address through a wire that brings what follows a CopyDone in a later packet */
async function lateCounts(): Promise<{ url: string; close: () => void }> {
  const { hostname, port } = new URL(archive.url);
  const server = createServer((client) => {
    const database = connect(Number(port), hostname);
    client.on("error", () => database.destroy()).on("close", () => database.destroy());
    database.on("error", () => client.destroy());
    client.pipe(database);
    database.on("data", (bytes: Buffer) => {
      const done = bytes.indexOf(COPY_DONE);
      const end = done === -1 ? bytes.length : done + COPY_DONE.length;
      client.write(bytes.subarray(0, end));
      if (end < bytes.length) setTimeout(() => client.write(bytes.subarray(end)), 20);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const through = new URL(archive.url);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: through.href, close: () => server.close() };
}

test("an export counts its rows by the server's count, also when that comes after the last row's packet", async () => {
  const late = await lateCounts();

  const { exitCode, stderr } = await exported("--format csv --tables quotes", { url: late.url });
  late.close();

  expect([exitCode, exitCode === 0 ? "" : stderr]).toEqual([0, ""]);
});

test("DuckDB reads decimals of Parquet as DECIMAL, times as TIMESTAMP WITH TIME ZONE and dates as DATE", async () => {
  const { out } = whole;

  const types = async (table: string): Promise<Record<string, string | null>> =>
    Object.fromEntries(
      (await duckdbRows(`describe select * from read_parquet('${out}/${table}')`)).map((row) => [
        row["column_name"],
        row["column_type"] ?? null,
      ]),
    );

  expect(await types("quotes/*/*.parquet")).toEqual({
    observed_at: "TIMESTAMP WITH TIME ZONE",
    instrument_id: "INTEGER",
    instrument: "VARCHAR",
    source_id: "INTEGER",
    source: "VARCHAR",
    delayed: "BOOLEAN",
    bid: "DECIMAL(18,4)",
    ask: "DECIMAL(18,4)",
    // Some of these have more than four places.
    last: "DECIMAL(18,8)",
    change: "DECIMAL(18,4)",
    pct_change: "DECIMAL(18,8)",
    quoted_at: "TIMESTAMP WITH TIME ZONE",
    traded_at: "TIMESTAMP WITH TIME ZONE",
    date: "DATE",
  });
  expect(await types("instruments/*.parquet")).toMatchObject({
    expiration: "DATE",
    strike: "DECIMAL(18,8)",
  });
  expect(await types("bars_1d/*/*.parquet")).toMatchObject({
    volume: "BIGINT",
    mean_spread: "DECIMAL(38,23)",
    date: "DATE",
  });
  expect(await types("bars_5m/*/*.parquet")).toMatchObject({ log_return: "DECIMAL(38,12)" });
});

test("DuckDB reads every exported table, compressed with Zstandard, with as many rows as the database", async () => {
  const { out, stderr, exitCode } = whole;
  const { tables } = manifestOf(out);

  expect({ exitCode, warned: stderr.includes('"level":40') }).toEqual({ exitCode: 0, warned: false });
  expect(tables.map(({ name }) => name)).toHaveLength(19);
  for (const { name, rows, files } of tables) {
    const [counted] = await rowsOfQuery(archive.pool, `select count(*) as n from ${name}`);
    expect({ name, rows: String(rows) }).toEqual({ name, rows: counted?.["n"] });
    const [read] = await duckdbRows(
      `select count(*) as n from read_parquet([${files.map(({ path }) => `'${out}/${path}'`).join(", ")}])`,
    );
    expect({ name, ...read }).toEqual({ name, n: String(rows) });
  }
  expect(
    await duckdbRows(`select distinct compression from parquet_metadata('${out}/quotes/*/*.parquet')`),
  ).toEqual([{ compression: "ZSTD" }]);
  expect(await duckdbRows(`select instruments from '${out}/due_sets/*.parquet'`)).toEqual([
    { instruments: '["AAPL", "MSFT"]' },
  ]);
});

test("every value of every row in Parquet is the one that the database writes as CSV", async () => {
  const { pool, url } = await exportableArchive();
  // Values that repeat and values that do not, absent ones in runs and here and there, in eight row groups and a bit.
  await pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change)
     select '2026-11-20 15:00+00'::timestamptz + n * interval '7 microseconds', 1 + n % 3, 1 + n % 2, n % 5 = 0,
       nullif(n % 90, 7) / 100.0, case when n % 4000 < 1500 then n / 10000.0 end, 90071000 + n / 8.0, -n, hashint4(n) / 1e8
     from generate_series(1, 70000) n;
     select recompute_session_bars('1990-01-01', '2100-01-01')`,
  );
  const [csv, parquet] = [
    await exported("--format csv --raw", { url }),
    await exported("--format parquet", { url }),
  ];

  for (const { name, columns: all, files } of manifestOf(parquet.out).tables) {
    // Where each date is a directory, that is where it stands.
    const columns = all.filter(
      (column) => column.name !== "date" || !files.some(({ date }) => date !== null),
    );
    const types = columns.map((column) => `'${column.name}': '${column.type}'`).join(", ");
    const names = columns.map((column) => `"${column.name}"`).join(", ");
    const listed = (out: string, end: string): string =>
      `[${files.map(({ path }) => `'${join(out, path.replace(/parquet$/, end))}'`).join(", ")}]`;
    const texts = `select ${names} from read_csv(${listed(csv.out, "csv")}, auto_detect = false, header = true, quote = '"', escape = '"', allow_quoted_nulls = false, columns = {${types}})`;
    const values = `select ${names} from read_parquet(${listed(parquet.out, "parquet")}, hive_partitioning = false)`;
    const [difference] = await duckdbRows(
      `select count(*) as n from ((${texts} except all ${values}) union all (${values} except all ${texts}))`,
    );
    expect({ name, ...difference }).toEqual({ name, n: "0" });
  }
  const bounds = `select bool_and(stats_min_value::decimal(18,8) = least and stats_max_value::decimal(18,8) = greatest) as told
    from (select row_group_id, stats_min_value, stats_max_value from parquet_metadata('${parquet.out}/quotes/date=2026-11-20/*.parquet') where path_in_schema = 'change') m
    join (select file_row_number // 8192 as row_group_id, min(change) as least, max(change) as greatest
      from read_parquet('${parquet.out}/quotes/date=2026-11-20/*.parquet', file_row_number = true) group by 1) v using (row_group_id)`;
  expect(await duckdbRows(bounds)).toEqual([{ told: "true" }]);
});

test("decimals that need more than eighteen digits make their column wider in all files of the table, with a warning", async () => {
  const world = await exportableArchive();
  await world.pool.query(
    "update quotes set last = 12345678901234567890.123456789012345678 where instrument_id = 3",
  );

  const { out, stderr } = await exported("--format parquet --tables quotes", { url: world.url });

  expect(
    await duckdbRows(
      `select last, typeof(last) as type, typeof(bid) as bid from '${out}/quotes/*/*.parquet' order by last desc nulls last limit 1`,
    ),
  ).toEqual([
    { last: "12345678901234567890.123456789012345678", type: "DECIMAL(38,18)", bid: "DECIMAL(18,4)" },
  ]);
  expect(await duckdbRows(`select count(*) as n from '${out}/quotes/*/*.parquet'`)).toEqual([{ n: "5" }]);
  expect(stderr).toContain('"column":"last"');
  // Rows that are written again count once, and headings do not count.
  for (const format of ["parquet", "csv"] as const) {
    const progress: number[] = [];
    await exportArchive({
      ...{ pool: world.pool, out: join(tempDir(), "out"), format, raw: false, replace: false },
      ...{ from: null, to: null, symbols: null, program: "", writtenAt: "", processes: PROCESSES },
      tables: EXPORT_TABLES.filter(({ name }) => name === "quotes"),
      signal: new AbortController().signal,
      onProgress: ({ rows }) => progress.push(rows),
      onWidened: () => undefined,
    });
    expect(progress.at(-1)).toBe(5);
  }
});

test("CSV of an export follows RFC 4180, tells NULL from an empty text, and keeps the digits of the database", async () => {
  const { out } = await exported("--format csv --tables instruments,quotes");
  const text = (path: string): string => readFileSync(join(out, path), "utf8");

  expect(text("quotes/date=2026-11-20/quotes.csv").split("\r\n")).toEqual([
    "observed_at,instrument_id,instrument,source_id,source,delayed,bid,ask,last,change,pct_change,quoted_at,traded_at",
    "2026-11-20T05:00:00.000000Z,1,AAPL,2,simulated,true,0.0001,700000.00,12345678.12345678,0,0,,",
    "2026-11-20T20:59:00.000000Z,2,MSFT,1,account,false,,,,,,,",
    "2026-11-20T21:00:00.000000Z,3,AAPL:2026-12-18:CALL:150.5,1,account,false,4.2,4.3,4.25,0.1,2.4,,",
    "",
  ]);
  expect(text("instruments/instruments.csv")).toContain('1,CS,AAPL,,"Äpfel, ""Inc""",');
  expect(text("instruments/instruments.csv")).toContain('2,CS,MSFT,,"",');
  expect(text("instruments/instruments.csv")).toContain('"two\nlines"');
});

testSnapshot("an export is of one state of the database, whatever is loaded meanwhile", async () => {
  const world = await exportableArchive();
  const loading = world.pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, last)
       select '2026-11-20 16:00+00'::timestamptz + n * interval '1 microsecond', 1, 1, false, 1 from generate_series(1, 20000) n;
     select recompute_session_bars('1990-01-01', '2100-01-01')`,
  );

  const { out } = await exported("--format parquet --tables quotes,bars_1d", { url: world.url });
  await loading;

  const [{ n } = {}] = await duckdbRows(`select count(*) as n from '${out}/quotes/*/*.parquet'`);
  const [{ bars } = {}] = await duckdbRows(
    `select sum(quote_count) as bars from '${out}/bars_1d/*/*.parquet'`,
  );
  expect(["5", "20005"]).toContain(n);
  expect(bars).toBe(n);
});

test("the manifest names every file with its rows, its size and its SHA-256, and is what --json prints", () => {
  const { out, stdout } = whole;
  const manifest = manifestOf(out);

  expect(JSON.parse(stdout)).toEqual({ out, ...manifest });
  const files = manifest.tables.flatMap((table) => table.files);
  for (const { path, bytes, sha256 } of files) {
    const content = readFileSync(join(out, path));
    expect({ bytes, sha256 }).toEqual({
      bytes: content.length,
      sha256: createHash("sha256").update(content).digest("hex"),
    });
  }
  const onDisk = (
    readdirSync(out, { recursive: true, withFileTypes: true }) as { isFile: () => boolean }[]
  ).filter((entry) => entry.isFile());
  expect(onDisk).toHaveLength(files.length + 1);
});

testSnapshot(
  "a day that the server's statistics do not know yet is read with one look at each row's instrument",
  async () => {
    const { pool } = await freshDatabase();
    const [instruments, minutes] = [50, 60];
    await pool.query(
      `insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at)
     select n, 'CS', 'S' || n, now(), now() from generate_series(1, ${instruments}) n`,
    );
    const fill = (date: string) =>
      pool.query(
        `insert into quotes (observed_at, instrument_id, source_id, delayed, last)
       select $1::timestamptz + m * interval '1 minute', i, 1, false, 1
       from generate_series(1, ${instruments}) i cross join generate_series(1, ${minutes}) m`,
        [`${date} 15:00+00`],
      );
    await fill("2026-11-18");
    await pool.query("analyze");
    await fill("2026-11-20");
    const table = EXPORT_TABLES.find(({ name }) => name === "quotes") as ExportTable;
    const client = await pool.connect();
    const columns = await readColumns(client, "quotes");
    client.release();
    const day = { from: "2026-11-20", to: "2026-11-20", symbols: null };

    for (const query of [
      digestsQuery(table, columns, day),
      rowsQuery(table, columns, { range: day, format: "binary" }),
    ]) {
      const [plan] = await rowsOfQuery(pool, `explain (analyze, timing off, format json) ${query}`);

      const looked = nodesOf(plan?.["QUERY PLAN"]).filter((node) => node["Relation Name"] === "instruments");
      const rows = looked.map((node) => Number(node["Actual Rows"]) * Number(node["Actual Loops"]));
      expect(rows.length).toBeGreaterThan(0);
      expect(Math.max(...rows)).toBeLessThanOrEqual(instruments * minutes);
    }
  },
);

/** All nodes of a plan. */
function nodesOf(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.values(value).flatMap(nodesOf);
  return "Node Type" in value ? [value as Record<string, unknown>, ...below] : below;
}

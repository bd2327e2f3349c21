/** An export comes back: exported, wiped, taken back and exported again, it is the same files. */
import { createHash } from "node:crypto";
import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { loadAll } from "../../../src/archive/load/loader.ts";
import type { Manifest } from "../../../src/files/export/manifest.ts";
import { run } from "../../cli/edges.ts";
import { exportableArchive, manifestOf } from "../../files/export/world.ts";
import { contentOf, followOwnRows, rowsOfQuery } from "../../support/archive.ts";
import { createTestClock } from "../../support/clock.ts";
import { handOnDatabases } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { type BackfillWorld, backfillWorld, journal } from "../world.ts";

handOnDatabases();

/** An archive with what an export could lose: see each statement. */
async function archiveToExport() {
  const archive = await exportableArchive();
  const { pool } = archive;
  // Numbers with holes, sources of every kind, one without a row, names that a spreadsheet would run.
  await pool.query(
    `insert into sources (id, kind, name) values (7, 'import', '=vendor'), (9, 'import', 'nothing yet')`,
  );
  await pool.query(`
    insert into instruments (id, security_type, symbol, exchange, description, underlying_id, expiration, option_type, strike, contract_size, first_seen_at, last_seen_at) values
      (41, 'ETF', 'SPY', '', E'\\uFEFF@"a", b\\r\\n''=c', null, null, null, null, null, '2026-11-18 09:00:00.000001+00', '2026-11-18 15:00:00.000001+00'),
      (40, 'OPT', 'SPY', null, null, 41, '2027-01-15', 'PUT', 600.1250, 100, '2026-11-18 09:00+00', '2026-11-21 01:00+00'),
      (50, 'UNKNOWN', 'AAPL:2026-12-18:CALL:375', null, null, null, null, null, null, null, '2026-11-19 09:00+00', '2026-11-19 09:00+00')`);
  await pool.query("update instruments set type_assumed = true where id = 50");
  await pool.query(`
    insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change) values
      ('2026-11-20 21:00:00.000001+00', 40, 7, true, 123456789012345.123456789, 1e14, 0.000000001, -0.5, -0.5000),
      ('2026-11-20 21:00:00.000001+00', 40, 1, false, 1.00, 1.10, 1.0500, null, null)`);
  await pool.query(`
    insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, ask_size, open, high, low, previous_close, volume,
      session_volume, earnings_per_share, pe_ratio, high_52_week, low_52_week, contract_high, contract_low, contract_size, delta) values
      ('2026-11-20 21:00:00.000001+00', 40, 7, 1, 2, 3.10, 4, 5, 6, 7, 8, -9.5, 10, 11, 12, 13, 14, 100, -0.5)`);
  // One that says what the one before it says, and one whose quote retention has dropped.
  await pool.query(`
    insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield) values
      ('2026-11-20 04:59:59.999999+00', 1, 1, '2026-11-25', 0.260, 0.0045), ('2026-11-18 15:00+00', 41, 7, null, 1.5, null)`);
  await followOwnRows(pool);
  return archive;
}

type Report = Record<string, number>;

async function exported(url: string, format: string, ...argv: string[]): Promise<string> {
  const out = join(tempDir(), "out");
  const { exitCode, stderr } = await run(["export", "--format", format, "--out", out, ...argv], {
    DATABASE_URL: url,
  });
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  return out;
}

/** Each file's digest. */
function filesOf(out: string): Record<string, string> {
  const files = manifestOf(out).tables.flatMap((table) => table.files);
  return Object.fromEntries(files.map(({ path, sha256 }) => [path, sha256]));
}

async function takenBack(world: BackfillWorld, format: string, out: string, ...argv: string[]) {
  const { exitCode, stdout, stderr } = await run(
    ["backfill", `--${format}`, out, "--json", ...argv],
    world.env,
  );
  const { report, kind } = JSON.parse(stdout === "" ? "{}" : stdout) as { report?: Report; kind?: string };
  return { exitCode, report, kind, stderr };
}

/** What the tables that come back hold, to the letter; without the source of the export's own pieces. */
async function rowsOf(pool: pg.Pool) {
  const { instruments, quotes, extended_quotes, dividends, session_bars } = await contentOf(pool);
  const sources = await rowsOfQuery(pool, "select * from sources where id <> 0 order by id");
  return { sources, instruments, quotes, extended_quotes, dividends, session_bars };
}

describe.each([
  ["parquet", []],
  ["csv", []],
  ["csv", ["--raw"]],
] as const)("an export in %s %j", (format, options) => {
  test("an export that is imported into an empty archive is the same when it is made again; imported twice it adds nothing", async () => {
    const archive = await archiveToExport();
    const out = await exported(archive.url, format, ...options);
    const world = await backfillWorld();

    const trial = await takenBack(world, format, out, "--dry-run");
    const first = await takenBack(world, format, out);
    const again = await exported(world.env["DATABASE_URL"] ?? "", format, ...options);
    const second = await takenBack(world, format, out);

    expect(first).toMatchObject({
      ...{ exitCode: 0, kind: format },
      report: { read: 7, stored: 7, repeated: 0, deadLettered: 0, dividends: 3 },
    });
    expect(trial).toMatchObject({ exitCode: 0, kind: format, report: { read: 7, deadLettered: 0 } });
    expect(filesOf(again)).toEqual(filesOf(out));
    expect(second).toMatchObject({
      exitCode: 0,
      report: { newAnswers: 0, read: 7, stored: 0, repeated: 7, deadLettered: 0, dividends: 0 },
    });
    // CSV has the digits of the database, Parquet its own number of them.
    if (format === "csv") expect(await rowsOf(world.pool)).toEqual(await rowsOf(archive.pool));
    const next =
      "insert into instruments (security_type, symbol, first_seen_at, last_seen_at) values ('CS', 'NEW', now(), now()) returning id";
    expect(await rowsOfQuery(world.pool, next)).toEqual([{ id: 51 }]);
    const source = "insert into sources (kind, name) values ('import', 'next') returning id";
    expect(await rowsOfQuery(world.pool, source)).toEqual([{ id: 10 }]);
  });
});

test("of an export that has dates more than the one before, the pieces of the dates before are known", async () => {
  const { url, pool } = await archiveToExport();
  // Without them the quotes of one date follow those of the other.
  await pool.query("delete from dividends");
  const world = await backfillWorld();
  const first = await takenBack(world, "csv", await exported(url, "csv", "--to", "2026-11-19"));

  const second = await takenBack(world, "csv", await exported(url, "csv"));

  const pieces = [first, second].map(({ report }) => [report?.["answers"], report?.["newAnswers"]]);
  expect(pieces).toEqual([
    [3, 3],
    [4, 1],
  ]);
});

test("the journal alone makes the archive again, and a rebuild of it changes nothing", async () => {
  const out = await exported((await archiveToExport()).url, "csv");
  const [world, lost] = [await backfillWorld(), await backfillWorld()];
  await takenBack(world, "csv", out);
  const env = { ...world.env, DATABASE_URL: lost.env["DATABASE_URL"] ?? "" };

  const { exitCode } = await run(["backfill", "--journal"], env);
  const restored = await rowsOf(lost.pool);
  const rebuilt = await run(["backfill", "--journal", "--rebuild"], env);

  expect([exitCode, rebuilt.exitCode]).toEqual([0, 0]);
  expect(restored).toEqual(await rowsOf(world.pool));
  expect(await rowsOf(lost.pool)).toEqual(restored);
});

test("an archive that has numbered its instruments otherwise keeps its numbers, and its quotes where they differ", async () => {
  const live = await backfillWorld();
  await journal(live.journalDir);
  await loadAll({ pool: live.pool, journalDir: live.journalDir, clock: createTestClock() });
  const out = await exported(live.env["DATABASE_URL"] ?? "", "csv");
  const other = await backfillWorld();
  await other.pool.query(`
    insert into instruments (security_type, symbol, description, first_seen_at, last_seen_at) values
      ('CS', 'ZZZ', 'stays', '2026-01-01', '2026-01-01'), ('CS', 'MSFT', 'older', '2026-01-01', '2026-01-01')`);
  await other.pool.query(`
    insert into quotes (observed_at, instrument_id, source_id, delayed, last)
    select '2026-11-18T14:30:01.250001Z', id, 1, false, 1 from instruments where symbol = 'MSFT'`);
  const named = `select i.symbol, i.option_type, i.description, s.name, q.observed_at, q.last
    from quotes q join instruments i on i.id = q.instrument_id join sources s on s.id = q.source_id
    where i.symbol <> 'MSFT' or q.observed_at <> '2026-11-18T14:30:01.250001Z' order by 5, 1, 2`;

  const { exitCode, report } = await takenBack(other, "csv", out);

  expect({ exitCode, report }).toMatchObject({
    exitCode: 1,
    report: { read: 20, stored: 19, repeated: 0, deadLettered: 1 },
  });
  expect(await rowsOfQuery(other.pool, named)).toEqual(await rowsOfQuery(live.pool, named));
  expect(
    await rowsOfQuery(other.pool, "select id, symbol, description from instruments order by id limit 2"),
  ).toEqual([
    { id: 1, symbol: "ZZZ", description: "stays" },
    { id: 2, symbol: "MSFT", description: "MSFT COM" },
  ]);
  expect(
    await rowsOfQuery(other.pool, "select source_id, instrument, reason, detail from dead_letters"),
  ).toEqual([
    {
      ...{ source_id: 1, instrument: "MSFT", reason: "answered_twice" },
      detail: expect.stringMatching(
        /^a row of an export: the archive has other values at 2026-11-18T14:30:01\.250001Z: bid none there and [\d.]+ here, /,
      ),
    },
  ]);
});

test("a directory that is no whole export is refused before anything is changed, and the error says what is wrong", async () => {
  const { url } = await archiveToExport();
  const [whole, csv, few] = [
    await exported(url, "parquet"),
    await exported(url, "csv"),
    await exported(url, "parquet", "--tables", "quotes"),
  ];
  const changed = (change: (dir: string) => void): string => {
    const dir = join(tempDir(), "copy");
    cpSync(whole, dir, { recursive: true });
    change(dir);
    return dir;
  };
  const file = "quotes/date=2026-11-20/quotes.parquet";
  const edited = (edit: (manifest: Manifest) => void) =>
    changed((dir) => {
      const manifest = manifestOf(dir);
      edit(manifest);
      writeFileSync(join(dir, "manifest.json"), JSON.stringify(manifest));
    });
  const world = await backfillWorld();
  const before = await contentOf(world.pool);
  const met: string[] = [];

  for (const dir of [
    tempDir(),
    csv,
    few,
    changed((dir) => appendFileSync(join(dir, file), "x")),
    changed((dir) => rmSync(join(dir, file))),
    changed((dir) => writeFileSync(join(dir, "manifest.json"), '{"kind": "something"}')),
    edited(({ tables }) => (tables[3]?.files ?? []).forEach((one) => (one.path = "../../etc/passwd"))),
  ]) {
    const { exitCode, stderr } = await takenBack(world, "parquet", dir);
    const { detail = "", code = "" } = (JSON.parse(stderr) as { error: { detail?: string; code?: string } })
      .error;
    met.push(
      `${exitCode} ${code} ${detail.replaceAll(/\S*\/(?=manifest\.json|quotes\/)/gu, "").replaceAll(dir, "DIR")}`,
    );
  }

  expect(met).toEqual([
    "2 BACKFILL_NOTHING manifest.json cannot be read (ENOENT): every export has one",
    "2 BACKFILL_EXPORT_INVALID DIR is an export in csv: give it to --csv",
    "2 BACKFILL_EXPORT_INVALID DIR holds no sources, instruments, extended_quotes, dividends: only an export of sources, instruments, quotes, extended_quotes, dividends is taken back",
    `2 BACKFILL_EXPORT_INVALID ${file} is not what the manifest says: its SHA-256 differs`,
    `2 BACKFILL_EXPORT_INVALID ${file} cannot be read (ENOENT)`,
    expect.stringContaining("2 BACKFILL_EXPORT_INVALID manifest.json is no manifest of an export: kind"),
    "2 BACKFILL_EXPORT_INVALID manifest.json names ../../etc/passwd, which is no file of an export",
  ]);
  expect(await contentOf(world.pool)).toEqual(before);
});

test.each([
  ["before", "0"],
  ["behind", "999"],
])(
  "an export with a row of extended_quotes that belongs to no quote, %s all of them, is refused",
  async (_where, id) => {
    const out = await exported((await archiveToExport()).url, "csv");
    const path = "extended_quotes/date=2026-11-20/extended_quotes.csv";
    const [header = "", ...lines] = readFileSync(join(out, path), "utf8").split("\r\n").slice(0, -1);
    const place = header.split(",").indexOf("instrument_id");
    const stray = (lines[0] ?? "").split(",").with(place, id).join(",");
    const text = [header, ...[...lines, stray].sort(byNumberAt(place)), ""].join("\r\n");
    writeFileSync(join(out, path), text);
    const manifest = manifestOf(out);
    const files = manifest.tables.flatMap((table) => table.files);
    const sha256 = createHash("sha256").update(text).digest("hex");
    Object.assign(files.find((file) => file.path === path) ?? {}, { sha256, rows: lines.length + 1 });
    writeFileSync(join(out, "manifest.json"), JSON.stringify(manifest));

    const { exitCode, stderr } = await takenBack(await backfillWorld(), "csv", out);

    expect(exitCode).toBe(2);
    expect(stderr).toContain(`BACKFILL_EXPORT_INVALID`);
    expect(stderr).toContain(`extended_quotes has instrument ${id} at `);
  },
);

/** Lines of CSV by the number in a cell. */
function byNumberAt(place: number): (one: string, other: string) => number {
  const number = (line: string): number => Number(line.split(",")[place]);
  return (one, other) => number(one) - number(other);
}

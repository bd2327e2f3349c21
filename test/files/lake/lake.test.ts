/** A lake is written, changed, dropped behind and brought back; each time the truth is looked up another way. */
import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { DayManifest } from "../../../src/files/lake/lakeFiles.ts";
import { duckdbRows } from "../export/duckdb.ts";
import { exportableArchive } from "../export/world.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { handOnDatabases } from "../../support/database.ts";
import { see } from "../../support/observations.ts";
import { dayOf, lakeOf, late, old, refused } from "./lakeWorld.ts";

handOnDatabases();

describe("a lake", () => {
  test("has each day that is over, in files that hold what the database has", async () => {
    const { pool, out, lake } = lakeOf(await exportableArchive());

    const first = await lake("--through 2026-11-20");
    const again = await lake("--through 2026-11-20");

    expect(first).toMatchObject({
      exitCode: 0,
      json: { written: ["2026-11-19", "2026-11-20"], rewritten: [], through: "2026-11-20" },
    });
    expect(again).toMatchObject({ exitCode: 0, json: { written: [], rewritten: [], files: 0 } });
    const sums = (double: string): string => `select count(*)::text as n, sum(bid)::${double}::text as bid`;
    const [ours] = await rowsOfQuery(pool, `${sums("float8")} from quotes`);
    expect(await duckdbRows(`${sums("double")} from read_parquet('${out}/quotes/*/*.parquet')`)).toEqual([
      ours,
    ]);
    expect(dayOf(out, "2026-11-20")).toMatchObject({
      ...{ complete: true, replacing: null },
      source: { from: "2026-11-20T05:00:00.000Z", to: "2026-11-21T05:00:00.000Z" },
    });
    expect((await lake("verify")).json).toMatchObject({ dates: 2, faults: [] });
    expect(readdirSync(out)).not.toContain(".writing");
  });

  test("has digests that any engine can check: values, and sums by the rows' order", async () => {
    const { out, lake } = await old();
    await lake();

    const columns = dayOf(out, "2026-01-12").tables.find(({ name }) => name === "quotes")?.columns ?? [];
    const [found] = await duckdbRows(
      `select count("last") as values, sum((coalesce("last", -1) + 1) * n) as sum, sum((epoch_us(observed_at)::hugeint + 1) * n) as times,
         sum((('0x' || left(md5(instrument), 8))::bigint + 1) * n) as texts
       from (select *, row_number() over (order by instrument_id, observed_at, source_id) as n
             from read_parquet('${out}/quotes/date=2026-01-12/*.parquet'))`,
    );

    const digestOf = (name: string) => columns.find((column) => column.name === name);
    expect(found).toMatchObject({
      values: String(digestOf("last")?.values),
      texts: digestOf("instrument")?.sum,
    });
    expect(Number(found?.["sum"])).toBe(Number(digestOf("last")?.sum));
    expect(found?.["times"]).toBe(digestOf("observed_at")?.sum);
  });

  test("gets a day's files anew when rows of it came late, and only those that are not the same", async () => {
    const { pool, out, lake } = await old();
    await lake();
    const before = dayOf(out, "2026-01-12");

    await pool.query("update quotes set last = last where observed_at < '2026-01-13'");
    const unmarked = await lake();
    await see(pool, { at: "2026-01-12 12:00", bid: "1.5", ask: "1.6", last: "1.55" });
    await late(pool, "2026-01-31", "2026-01-13");
    const marked = await lake();
    const again = await lake();

    expect(unmarked.json).toMatchObject({ rewritten: [] });
    expect(marked.json).toMatchObject({ written: [], rewritten: ["2026-01-12"] });
    expect(again.json).toMatchObject({ rewritten: [], files: 0 });
    const after = dayOf(out, "2026-01-12");
    const revisions = (day: DayManifest) =>
      Object.fromEntries(day.tables.map(({ name, revision }) => [name, revision]));
    expect(revisions(before)).toMatchObject({ quotes: 1, extended_quotes: 1 });
    expect(revisions(after)).toMatchObject({ quotes: 2, extended_quotes: 2, bars_1d: 2 });
    expect((await lake("verify")).json).toMatchObject({ faults: [] });
    // The same day changes once more, and again in a database that was restored and numbers its transactions anew.
    for (const minute of ["01", "02"]) {
      await see(pool, { at: `2026-01-12 12:${minute}`, bid: "1.5", ask: "1.6", last: "1.55" });
      await late(pool, "2026-01-12");
      if (minute === "02") await pool.query("update late_days set changed_by = '3'");
      expect((await lake()).json).toMatchObject({ rewritten: ["2026-01-12"] });
    }
  });

  test("has one type for each column: a price with more places has all files of its table written again", async () => {
    const { pool, out, lake } = await old();
    await lake("--drop-hot --through 2026-01-30");
    const typeOf = (date: string) =>
      dayOf(out, date)
        .tables.find(({ name }) => name === "quotes")
        ?.columns.find(({ name }) => name === "bid")?.type;
    const narrow = typeOf("2026-01-12");

    await see(pool, { at: "2026-02-02 12:00", bid: "1.000005", ask: "1.6", last: "1.55" });
    const { exitCode, json } = await lake();

    expect([narrow, exitCode]).toEqual(["DECIMAL(18,4)", 0]);
    expect(json).toMatchObject({
      written: ["2026-01-31", "2026-02-02"],
      rewritten: ["2026-01-05", "2026-01-12"],
    });
    expect(["2026-01-05", "2026-01-12", "2026-01-31", "2026-02-02"].map(typeOf)).toEqual(
      Array.from({ length: 4 }, () => "DECIMAL(18,8)"),
    );
    const [theirs] = await duckdbRows(
      `select sum(bid) as bid, count(*) as n from read_parquet('${out}/quotes/*/*.parquet')`,
    );
    const [ours] = await rowsOfQuery(
      pool,
      "select sum(bid)::numeric(38,8)::text as bid, count(*)::text as n from quotes",
    );
    expect(theirs).toEqual(ours);
    expect((await lake()).json).toMatchObject({ files: 0 });
  });

  test("of another archive, or a directory with other files, is left alone", async () => {
    const { pool, out, lake } = await old();
    await lake();
    await pool.query("update archive_identity set id = gen_random_uuid()");
    const another = await lake();
    rmSync(join(out, "lake.json"));
    const none = await lake();

    expect(another).toEqual(refused("is the lake of another archive"));
    expect(none).toEqual(refused("has files in it, and is no lake"));
  });

  test("that was cut short goes on: what no manifest names is written again, and a file is one of two", async () => {
    const { out, lake } = await old();
    await lake();
    const whole = dayOf(out, "2026-02-02");
    const quotes = join(out, "quotes/date=2026-02-02/quotes.parquet");

    // Killed before the date was complete, with a file that no manifest names.
    const manifest = join(out, "days/2026-02-02.json");
    writeFileSync(manifest, JSON.stringify({ ...whole, complete: false, tables: whole.tables.slice(0, 1) }));
    const first = await lake();
    const healed = dayOf(out, "2026-02-02");
    // Killed between naming a file beside another and putting it there.
    const [other] = dayOf(out, "2026-01-05").tables.filter(({ name }) => name === "quotes");
    writeFileSync(
      manifest,
      JSON.stringify({ ...healed, replacing: { ...other, path: "quotes/date=2026-02-02/quotes.parquet" } }),
    );
    await lake();
    const kept = dayOf(out, "2026-02-02");
    // Killed behind that.
    const mine = healed.tables.find(({ name }) => name === "quotes");
    copyFileSync(join(out, "quotes/date=2026-01-05/quotes.parquet"), quotes);
    writeFileSync(manifest, JSON.stringify({ ...healed, replacing: { ...other, path: mine?.path } }));
    await lake();
    const put = dayOf(out, "2026-02-02");

    expect(first.exitCode).toBe(0);
    expect(healed.complete).toBe(true);
    expect(healed.tables.map(({ sha256 }) => sha256).sort()).toEqual(
      whole.tables.map(({ sha256 }) => sha256).sort(),
    );
    expect(kept).toMatchObject({ replacing: null });
    expect(kept.tables.find(({ name }) => name === "quotes")?.sha256).toBe(mine?.sha256);
    expect(put.tables.find(({ name }) => name === "quotes")?.sha256).toBe(other?.sha256);
  });

  test("whose file was changed, cut or lost says so, and names it", async () => {
    const { out, lake } = await old();
    await lake();
    const path = (date: string) => join(out, `quotes/date=${date}/quotes.parquet`);
    truncateSync(path("2026-01-05"), 100);
    rmSync(path("2026-01-12"));
    const bytes = readFileSync(path("2026-01-31"));
    bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
    writeFileSync(path("2026-01-31"), bytes);

    const { exitCode, json } = await lake("verify");

    expect(exitCode).toBe(1);
    expect((json["faults"] as { path: string }[]).map((fault) => fault.path)).toEqual(
      ["2026-01-05", "2026-01-12", "2026-01-31"].map((date) => `quotes/date=${date}/quotes.parquet`),
    );
  });

  test.each([
    ["--through 2099-01-01", 2, "is not over in New York"],
    ["restore --from 2026-02-01 --to 2026-01-01", 2, "is later than"],
  ])("%s is refused", async (args, code, why) => {
    const { lake } = await old();

    const { exitCode, stderr } = await lake(args);

    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(why)]);
  });
});

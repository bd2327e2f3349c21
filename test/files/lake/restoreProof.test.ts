/** What comes back from a lake is proven before it is there: files that somebody has changed leave the archive as it was. */
import { createHash } from "node:crypto";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { fileDigests } from "../../../src/files/lake/fileDigests.ts";
import { duckdbRows } from "../export/duckdb.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { see } from "../../support/observations.ts";
import { ALL, BARS, dayOf, late, lakeOf, old, refused, type World } from "./lakeWorld.ts";

const DATE = "2026-01-12";

/**
 * A copy of the lake in which a date's quotes are other ones, and whose manifest says the file's bytes and SHA-256.
 *
 * @param rows SQL of the quotes, from the table `genuine`
 * @param agreeing whether the manifest's rows and digests are the file's, too, and its revision a later one
 */
async function forged(world: World, rows: string, { agreeing = false } = {}): Promise<World> {
  const out = `${world.out}-forged`;
  cpSync(world.out, out, { recursive: true });
  const path = join(out, `quotes/date=${DATE}/quotes.parquet`);
  const genuine = `read_parquet('${join(world.out, `quotes/date=${DATE}/quotes.parquet`)}', hive_partitioning = false)`;
  await duckdbRows(
    `copy (with genuine as (from ${genuine}) ${rows}) to '${path}' (format parquet, compression zstd)`,
  );
  const bytes = readFileSync(path);
  const named = { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  const day = dayOf(out, DATE);
  const tables = [];
  for (const table of day.tables) {
    if (table.name !== "quotes") tables.push(table);
    else if (!agreeing) tables.push({ ...table, ...named });
    else {
      const [counted] = await duckdbRows(`select count(*)::int as n from '${path}'`);
      const { rows: count, columns } = await fileDigests(path, Number(counted?.["n"]));
      const described = columns.map((digest, place) => ({ ...table.columns[place], ...digest }));
      tables.push({ ...table, ...named, rows: count, columns: described, revision: table.revision + 1 });
    }
  }
  writeFileSync(join(out, `days/${DATE}.json`), JSON.stringify({ ...day, tables }));
  return lakeOf(world, out);
}

/** Another row: which columns it has in place of the genuine one's. */
const EXTRA = (columns: string): string =>
  `select * from genuine union all by name (select * replace (${columns}) from genuine limit 2)`;

const DAY = `restore --from ${DATE} --to ${DATE}`;

describe("a file whose manifest has only its bytes and SHA-256 right", () => {
  test.each([
    [
      "with rows of another date beside the genuine ones",
      EXTRA("observed_at - interval 300 days as observed_at"),
    ],
    ["with more rows of its date", EXTRA("observed_at + interval 1 minute as observed_at, 7777 as bid")],
    ["with other prices", "select * replace (bid + 1000 as bid) from genuine"],
    ["with fewer rows", "select * from genuine limit 3"],
    [
      "with a text in place of numbers that ends COPY's text",
      "select * replace ('\\N' || chr(10) || '\\.' || chr(10) as pct_change) from genuine",
    ],
  ])("%s brings nothing back, and the genuine one all of it", async (_what, rows) => {
    const world = await old();
    const [quotes, bars] = [await rowsOfQuery(world.pool, ALL), await rowsOfQuery(world.pool, BARS)];
    await world.lake("--drop-hot");
    const lake = await forged(world, rows);
    // Nobody noted what was dropped there: the manifest alone can tell.
    await world.pool.query("update dropped_days set files = null");
    await world.pool.query("update session_bars set quote_count = 1");

    const asked = await lake.lake(DAY);
    const left = await rowsOfQuery(world.pool, ALL);
    const dropped = await rowsOfQuery(world.pool, "select date::text from dropped_days order by 1");
    const restored = await world.lake("restore --from 2026-01-01 --to 2026-12-31");

    expect(asked).toEqual(refused("LAKE_UNPROVEN"));
    expect([left, dropped.length]).toEqual([[], 4]);
    expect(restored).toMatchObject({ exitCode: 0, json: { rows: { quotes: 24, extended_quotes: 24 } } });
    expect(await rowsOfQuery(world.pool, ALL)).toEqual(quotes);
    expect(await rowsOfQuery(world.pool, BARS)).toEqual(bars);
  });
});

describe("a file whose manifest agrees with it", () => {
  test("is not the one that quotes were dropped behind, and nothing comes back", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    const lake = await forged(world, "select * replace (bid + 1000 as bid) from genuine", { agreeing: true });
    const path = join(lake.out, `days/${DATE}.json`);
    const day = dayOf(lake.out, DATE);
    writeFileSync(
      path,
      JSON.stringify({ ...day, tables: day.tables.map((table) => ({ ...table, revision: 1 })) }),
    );

    const { exitCode, json } = await lake.lake(DAY);

    expect({ exitCode, json }).toMatchObject({ exitCode: 1, json: { dates: [], missing: [DATE] } });
    expect(await rowsOfQuery(world.pool, ALL)).toEqual([]);
  });

  test.each([
    [
      "with rows of another date",
      `from (${EXTRA("observed_at - interval 300 days as observed_at")}) order by instrument_id, observed_at`,
      /LAKE_UNPROVEN.*not what the manifest says of that date/su,
    ],
    [
      "with a text in place of a number that ends COPY's text",
      "select * replace ('\\N' || chr(10) || '\\.' || chr(10) as pct_change) from genuine",
      /invalid input syntax for type numeric/,
    ],
  ])("%s brings nothing back", async (_what, rows, said) => {
    const world = await old();
    await world.lake("--drop-hot");
    const lake = await forged(world, rows, { agreeing: true });

    expect(await lake.lake(DAY)).toEqual(refused(said));
    expect(await rowsOfQuery(world.pool, ALL)).toEqual([]);
    expect(await rowsOfQuery(world.pool, "select from dropped_days")).toHaveLength(4);
  });
});

describe("restore", () => {
  test("tells of quotes that are there with other values, and forgets nothing", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    await see(world.pool, { at: `${DATE} 16:00`, bid: "1101.1", ask: "1101.3", last: "1101.2" });

    const asked = await world.lake(DAY);

    expect(asked).toEqual(refused(/LAKE_UNPROVEN.*the archive has other quotes of that date/su));
    expect(await rowsOfQuery(world.pool, "select from quotes")).toHaveLength(1);
    expect(await rowsOfQuery(world.pool, "select from dropped_days")).toHaveLength(4);
  });

  test("leaves values as they are that came late, and the lake has them afterwards", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    await see(world.pool, { at: `${DATE} 16:00`, bid: "9.1", ask: "9.3", last: "9.2", volume: "1000" });
    await late(world.pool, DATE);

    const restored = await world.lake(DAY);
    const written = await world.lake();

    expect(restored).toMatchObject({ exitCode: 0, json: { rows: { quotes: 5, extended_quotes: 5 } } });
    expect(written).toMatchObject({ exitCode: 0, json: { rewritten: [DATE] } });
    expect(
      await rowsOfQuery(
        world.pool,
        "select bid::text from quotes where bid < 10 and observed_at > '2026-01-12'",
      ),
    ).toEqual([{ bid: "9.1" }]);
  });

  test("brings quotes back whose instrument has another name since, or whose table another column", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    await world.pool.query("update instruments set symbol = 'AAPL.A' where id = 1");
    await world.pool.query("alter table quotes add column seen_by text");

    const restored = await world.lake("restore --from 2026-01-01 --to 2026-12-31");

    expect(restored).toMatchObject({ exitCode: 0, json: { rows: { quotes: 24, extended_quotes: 24 } } });
    expect(await rowsOfQuery(world.pool, "select from quotes where seen_by is null")).toHaveLength(24);
  });

  test("of a directory that holds no lake says so", async () => {
    const world = await old();

    const asked = await world.lake(DAY);
    rmSync(world.out, { recursive: true, force: true, maxRetries: 10 });

    expect(asked).toEqual(refused("holds no lake"));
  });
});

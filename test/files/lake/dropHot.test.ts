/** Quotes that are dropped behind proven files, and come back. */
import { truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { readTier } from "../../../src/archive/tiers/tier.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { freshDatabase, handOnDatabases } from "../../support/database.ts";
import { see } from "../../support/observations.ts";
import { ALL, BARS, dayOf, type Lake, late, old } from "./lakeWorld.ts";

handOnDatabases();

describe("quotes", () => {
  test("are dropped by whole partitions behind proven files, and come back the same; bars stay meanwhile", async () => {
    const { pool, lake } = await old();
    const [rows, bars] = [await rowsOfQuery(pool, ALL), await rowsOfQuery(pool, BARS)];

    const dropped = await lake("--drop-hot");
    const left = await rowsOfQuery(pool, ALL);
    const barsLeft = await rowsOfQuery(pool, BARS);
    const again = await lake("--drop-hot");
    const restored = await lake("restore --from 2026-01-01 --to 2026-12-31");

    // Months on plain PostgreSQL, chunks of 28 days on hypertables.
    const quotes = (dropped.json["dropped"] as { quotes: number }[]).map((range) => range.quotes);
    expect([dropped.exitCode, dropped.json["notDropped"], quotes.length]).toEqual([0, [], 2]);
    expect(quotes.reduce((sum, count) => sum + count, 0)).toBe(24);
    expect(left).toEqual([]);
    expect(barsLeft).toEqual(bars);
    expect(again).toMatchObject({ exitCode: 0, json: { dropped: [], rewritten: [], files: 0 } });
    expect(restored).toMatchObject({ exitCode: 0, json: { rows: { quotes: 24, extended_quotes: 24 } } });
    expect(await rowsOfQuery(pool, ALL)).toEqual(rows);
    expect(await rowsOfQuery(pool, BARS)).toEqual(bars);
    expect((await pool.query("select from dropped_days")).rowCount).toBe(0);
  });

  test("quotes stay in the database where their extended quotes differ from the file's, also without a note of the change", async () => {
    const { pool, lake } = await old();
    await lake();
    await pool.query("update extended_quotes set volume = 7 where observed_at < '2026-01-06'");

    const { json } = await lake("--drop-hot --through 2026-01-30");

    const why =
      "extended_quotes/date=2026-01-05/extended_quotes.parquet does not have all extended_quotes of 2026-01-05";
    expect(json["notDropped"]).toMatchObject([{ why }]);
    expect((await pool.query("select from quotes where observed_at < '2026-01-31'")).rowCount).toBe(12);
  });

  test("stay where a date has changed, or a file is not whole", async () => {
    const { pool, out, lake } = await old();
    await lake();
    await see(pool, { at: "2026-02-02 12:00", bid: "1.5", ask: "1.6", last: "1.55" });
    truncateSync(join(out, "quotes/date=2026-01-12/quotes.parquet"), 100);

    const { json } = await lake("--drop-hot --through 2026-01-30");

    expect(json).toMatchObject({
      dropped: [],
      notDropped: [
        { why: "quotes/date=2026-01-12/quotes.parquet is not what its manifest says" },
        { why: "2026-02-02 has changed since it was written" },
      ],
    });
    expect((await pool.query("select from quotes")).rowCount).toBe(25);
  });

  test("that come late to a day that was dropped join the others, and the day goes again", async () => {
    const { pool, out, lake } = await old();
    await lake("--drop-hot");

    await see(pool, { at: "2026-01-12 12:00", bid: "1.5", ask: "1.6", last: "1.55" });
    await late(pool, "2026-01-12", "2026-01-05");
    const rewritten = await lake();
    const rows = await rowsOfQuery(pool, ALL);
    const dropped = await lake("--drop-hot");

    // The other day that was dropped has fewer quotes in the archive, as it should.
    expect(rewritten.json).toMatchObject({ rewritten: ["2026-01-12"], kept: [] });
    expect(rows).toHaveLength(7);
    expect(dayOf(out, "2026-01-12").tables.find(({ name }) => name === "quotes")).toMatchObject({
      rows: 7,
      revision: 2,
    });
    expect(dropped.json).toMatchObject({ dropped: [{ quotes: 7 }], notDropped: [] });
    expect((await pool.query("select from quotes")).rowCount).toBe(0);
  });

  test("that somebody has deleted stay in the lake", async () => {
    const { pool, out, lake } = await old();
    await lake();

    await pool.query("delete from quotes where observed_at < '2026-01-06'");
    await late(pool, "2026-01-05");
    const { exitCode, json } = await lake();

    expect({ exitCode, json }).toMatchObject({ exitCode: 1, json: { kept: ["2026-01-05"] } });
    expect(dayOf(out, "2026-01-05").tables.find(({ name }) => name === "quotes")).toMatchObject({
      rows: 6,
      revision: 1,
    });
  });
});

const { pool: offered } = await freshDatabase();
const tier = (await readTier(offered)).name;

async function compress(pool: pg.Pool): Promise<void> {
  await pool.query(
    `select compress_chunk(c, if_not_compressed => true)
     from unnest('{quotes,extended_quotes,intraday_bars,responses}'::regclass[]) t cross join show_chunks(t) c`,
  );
}

(tier === "apache" || tier === "community" ? test : test.skip)(
  "quotes go by weeks where the operator has made chunks so short",
  async () => {
    // Chunks that are there, of another test, keep their length.
    const { lake } = await old(
      `select drop_chunks(t, timestamptz 'infinity') from unnest('{quotes,extended_quotes}'::regclass[]) t;
       select set_chunk_time_interval(t, interval '7 days') from unnest('{quotes,extended_quotes}'::regclass[]) t`,
    );

    const { json } = await lake("--drop-hot");

    const dropped = json["dropped"] as { from: string; to: string; quotes: number }[];
    expect(dropped.map(({ from, to }) => (Date.parse(to) - Date.parse(from)) / 86_400_000)).toEqual([
      7, 7, 7,
    ]);
    expect(dropped.map(({ quotes }) => quotes)).toEqual([6, 6, 12]);
  },
);

(tier === "community" ? test : test.skip)(
  "compressed quotes are dropped and come back as others do, a single day of a chunk and late ones too; bars stay",
  async () => {
    const { pool, out, lake } = await old();
    await compress(pool);
    const [rows, bars] = [await rowsOfQuery(pool, ALL), await rowsOfQuery(pool, BARS)];
    const quotesOf = ({ json }: Awaited<ReturnType<Lake>>): number =>
      (json["dropped"] as { quotes: number }[]).reduce((sum, { quotes }) => sum + quotes, 0);

    const dropped = await lake("--drop-hot");
    const barsLeft = await rowsOfQuery(pool, BARS);
    // One day of its chunk, compressed again beside what is not there.
    await lake("restore --from 2026-01-12 --to 2026-01-12");
    await compress(pool);
    const again = await lake("--drop-hot");
    // A late quote makes a chunk of its own, which has been compressed when the lake is written.
    await see(pool, { at: "2026-01-12 12:00", bid: "1.5", ask: "1.6", last: "1.55" });
    await late(pool, "2026-01-12");
    await compress(pool);
    const rewritten = await lake("--drop-hot");
    const restored = await lake("restore --from 2026-01-01 --to 2026-12-31");
    await compress(pool);
    const twice = await lake("restore --from 2026-01-01 --to 2026-12-31");

    expect([quotesOf(dropped), quotesOf(again), quotesOf(rewritten)]).toEqual([24, 6, 7]);
    expect([dropped, again, rewritten].map(({ json }) => json["notDropped"])).toEqual([[], [], []]);
    expect(barsLeft).toEqual(bars);
    expect(rewritten.json).toMatchObject({ rewritten: ["2026-01-12"] });
    expect([restored.json["rows"], twice.json["rows"]]).toEqual([
      { quotes: 25, extended_quotes: 25 },
      { quotes: 0, extended_quotes: 0 },
    ]);
    expect((await lake("verify")).json).toMatchObject({ faults: [] });
    expect(dayOf(out, "2026-01-12").tables.find(({ name }) => name === "quotes")).toMatchObject({
      ...{ rows: 7, revision: 2 },
    });
    await pool.query("delete from quotes where last = 1.55");
    await pool.query("delete from extended_quotes where observed_at = '2026-01-12 17:00+00'");
    expect(await rowsOfQuery(pool, ALL)).toEqual(rows);
  },
);

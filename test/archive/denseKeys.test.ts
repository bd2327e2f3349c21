/** Keys of months that are over: as large as a count of their rows says, and never in the way of rows that come. */
import { expect, jest, test } from "@jest/globals";
import { rebuildKeys } from "../../src/archive/schema/denseKeys.ts";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import { listsOfQuery, rowsOfQuery } from "../support/archive.ts";
import { plainDatabase } from "../support/tierWorld.ts";
import { until } from "../support/until.ts";

// Sixty thousand rows are stored twice, which takes as long as the machine is slow.
jest.setTimeout(60_000);

const { pool } = await plainDatabase();
const signal = new AbortController().signal;

/** Quotes of 100 series, one after the other at each of 300 times. */
async function fill(from: string): Promise<void> {
  const client = await pool.connect();
  await ensurePartitions(client, `${from}T14:30:00.000000Z`, `${from}T20:00:00.000000Z`);
  client.release();
  for (const table of [
    "quotes (observed_at, instrument_id, source_id, delayed)",
    "extended_quotes (observed_at, instrument_id, source_id)",
  ])
    await pool.query(
      `insert into ${table}
       select $1::timestamptz + n * interval '1 minute', i, 1 ${table.startsWith("quotes") ? ", false" : ""}
       from generate_series(0, 299) n cross join generate_series(1, 100) i order by n, i`,
      [`${from} 14:30Z`],
    );
  await pool.query("analyze quotes, extended_quotes");
}

const bytesARow = async (month: string): Promise<number[]> => {
  const sizes = await listsOfQuery(
    pool,
    `select (pg_relation_size('quotes_${month}_pkey') / 30000)::int, (pg_relation_size('extended_quotes_${month}_pkey') / 30000)::int`,
  );
  return sizes.flat().map(Number);
};

test("the keys of a month that is over are rebuilt once, with their rows as they were; others stay", async () => {
  await fill("2026-09-01");
  await fill("2026-10-01");
  const count =
    "select count(*)::int as rows, sum(instrument_id)::int as ids from quotes where observed_at < '2026-10-01'";
  const before = await rowsOfQuery(pool, count);
  const loose = await bytesARow("2026_10");

  const early = await rebuildKeys(pool, { now: new Date("2026-10-02T23:00:00Z"), signal });
  const rebuilt = await rebuildKeys(pool, { now: new Date("2026-10-03T01:00:00Z"), signal });
  const again = await rebuildKeys(pool, { now: new Date("2026-10-03T02:00:00Z"), signal });

  expect([early, again]).toEqual([[], []]);
  expect(rebuilt).toEqual(["extended_quotes_2026_09_pkey", "quotes_2026_09_pkey"]);
  for (const bytes of await bytesARow("2026_09")) expect(bytes).toBeLessThan(42);
  expect(await bytesARow("2026_10")).toEqual(loose);
  for (const bytes of loose) expect(bytes).toBeGreaterThan(50);
  expect(await rowsOfQuery(pool, count)).toEqual(before);
  await expect(
    pool.query(
      "insert into quotes (observed_at, instrument_id, source_id, delayed) values ('2026-09-01 14:30Z', 1, 1, false)",
    ),
  ).rejects.toMatchObject({ code: "23505" });
});

test("what a rebuild that was killed has left behind goes with the next", async () => {
  await pool.query("create index quotes_2026_09_pkey_ccnew on quotes_2026_09 (instrument_id)");
  await pool.query(
    "update pg_index set indisvalid = false where indexrelid = 'quotes_2026_09_pkey_ccnew'::regclass",
  );

  await rebuildKeys(pool, { now: new Date("2026-10-03T01:00:00Z"), signal });

  expect(await rowsOfQuery(pool, "select to_regclass('quotes_2026_09_pkey_ccnew') as there")).toEqual([
    { there: null },
  ]);
});

test("a rebuild that waits for a reader ends when it is told to, and the key stays", async () => {
  const reader = await pool.connect();
  await reader.query("begin isolation level repeatable read; select from quotes limit 1");
  const ending = new AbortController();
  const rebuild = rebuildKeys(pool, { now: new Date("2026-11-03T01:00:00Z"), signal: ending.signal });
  const stopped = expect(rebuild).rejects.toMatchObject({ code: "57014" });
  await until(async () => {
    const waiting = "select from pg_stat_progress_create_index where phase like 'waiting%'";
    return (await rowsOfQuery(pool, waiting)).length > 0;
  }, "the rebuild waiting for the reader");
  ending.abort();
  await stopped;
  await reader.query("rollback");
  reader.release();

  expect(await rebuildKeys(pool, { now: new Date("2026-11-03T01:00:00Z"), signal })).toEqual([
    "extended_quotes_2026_10_pkey",
    "quotes_2026_10_pkey",
  ]);
});

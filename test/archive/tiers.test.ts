import { afterAll, expect, test } from "@jest/globals";
import type pg from "pg";
import { readRelations } from "../../scripts/docs/columns.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { moveToHypertables } from "../../src/archive/tiers/hypertables.ts";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import { readRetention } from "../../src/archive/tiers/community.ts";
import { describeTier, readTier } from "../../src/archive/tiers/tier.ts";
import { run } from "../cli/edges.ts";
import { contentOf, rowsOfQuery } from "../support/archive.ts";
import { addStocks } from "../support/observations.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { execute } from "../support/postgres/server.ts";
import { tempDir } from "../support/tempDir.ts";
import { journalOf, plainDatabase, viewsOf } from "../support/tierWorld.ts";

const NOW = "2026-11-20T22:50:00.000000Z";

const offered = await readTier((await freshDatabase()).pool);
const onTimescale = offered.timescaledb !== null;
const onCommunity = offered.name === "community";
const timescaleTest = onTimescale ? test : test.skip;
const communityTest = onCommunity ? test : test.skip;

afterAll(() => {
  const missing = onTimescale ? "the Community edition of TimescaleDB" : "TimescaleDB";
  const left = onTimescale
    ? "compression and retention"
    : "hypertables, moving to them, compression and retention";
  if (!onCommunity)
    process.stderr.write(`Left out, because the server does not offer ${missing}: the cases of ${left}.\n`);
});

const compressAll = (pool: pg.Pool) =>
  pool.query(
    "select compress_chunk(c) from unnest('{quotes,extended_quotes,intraday_bars}'::regclass[]) t cross join show_chunks(t) c",
  );

/** As the default of 100,000 rows a statement is for a day of thousands of instruments. */
const limitDecompression = (pool: pg.Pool, database: string) =>
  pool.query(`alter database ${database} set timescaledb.max_tuples_decompressed_per_dml_transaction = 10`);

test("a migrated database says which storage tier it has", async () => {
  expect(describeTier(offered)).toMatch(
    onTimescale
      ? /^TimescaleDB [\d.]+ (Apache|Community) on PostgreSQL \d+\.\d+$/
      : offered.citus === null
        ? /^plain PostgreSQL \d+\.\d+/
        : /^Citus [\d.]+ on PostgreSQL \d+\.\d+/,
  );
});

test("the storage tier is plain if the server offers nothing else, or if nothing else is wanted", async () => {
  const { pool } = await plainDatabase();

  expect(await readTier(pool)).toMatchObject({ name: "plain", timescaledb: null, canMove: onTimescale });
});

(onTimescale ? test.skip : test)(
  "a move to a TimescaleDB that is not there is refused, and nothing changes",
  async () => {
    const { pool } = await freshDatabase();

    await expect(migrate(pool, NOW, { toTimescaledb: true })).rejects.toMatchObject({
      code: "DATABASE_REFUSED",
      message: expect.stringContaining("TimescaleDB"),
    });
    expect(await readTier(pool)).toMatchObject({ name: offered.name });
  },
);

// Everywhere: what stands in for TimescaleDB leaves the new tables as they are, and all else is exchanged as on a server with it.
test("the exchange of tables keeps every column of tables and views, what is said of it, and whose it is", async () => {
  const { pool } = await plainDatabase();
  await pool.query(
    "create view not_ours as select rolpassword from pg_authid; alter view not_ours owner to quotekeeper_reader",
  );
  const relations = await readRelations(pool);
  await pool.query(
    `create schema stand_in;
     create function stand_in.create_hypertable(
       regclass, text, chunk_time_interval interval, create_default_indexes boolean
     ) returns void language sql as ''`,
  );

  await inTransaction(pool, async (client) => {
    await client.query("set local search_path = public, stand_in");
    await moveToHypertables(client);
  });

  expect(await readRelations(pool)).toEqual(relations);
  // It reads with the rights of its owner.
  expect(
    await rowsOfQuery(pool, "select relowner::regrole::text from pg_class where relname = 'not_ours'"),
  ).toEqual([{ relowner: "quotekeeper_reader" }]);
  expect(await rowsOfQuery(pool, "select relkind from pg_class where oid = 'quotes'::regclass")).toEqual([
    { relkind: "r" },
  ]);
});

timescaleTest("an empty database on TimescaleDB gets hypertables at once", async () => {
  const { pool } = await freshDatabase({ migrated: false });

  await migrate(pool, NOW);

  expect(
    await rowsOfQuery(
      pool,
      "select hypertable_name as name from timescaledb_information.hypertables where hypertable_schema = 'public' order by 1",
    ),
  ).toEqual(
    ["dividends", "extended_quotes", ...(onCommunity ? ["intraday_bars"] : []), "quotes", "responses"].map(
      (name) => ({ name }),
    ),
  );
});

timescaleTest(
  "a database that holds rows stays plain on TimescaleDB until the move is asked for",
  async () => {
    const { pool } = await plainDatabase();
    await (await journalOf(pool, 2)).load();

    await migrate(pool, NOW);

    expect(await readTier(pool)).toMatchObject({ name: "plain", canMove: true });
  },
);

timescaleTest(
  "the move to TimescaleDB keeps every row, every view and every right, and loads go on",
  async () => {
    const { pool } = await plainDatabase();
    const journal = await journalOf(pool, 50);
    await journal.load();
    const [content, views] = [await contentOf(pool), await viewsOf(pool)];
    const relations = await readRelations(pool);

    await migrate(pool, NOW, { toTimescaledb: true });

    expect(await readTier(pool)).toMatchObject({ name: offered.name });
    expect(await readRelations(pool)).toEqual(relations);
    expect(await contentOf(pool)).toEqual(content);
    expect(await viewsOf(pool)).toEqual(views);
    expect(
      await rowsOfQuery(
        pool,
        "select has_table_privilege('quotekeeper_reader', 'quotes', 'select') as q, has_table_privilege('quotekeeper_reader', 'bars_1m', 'select') as b",
      ),
    ).toEqual([{ q: true, b: true }]);
    expect((await journal.replay()).quotes).toBe(0);
    await journal.append(5);
    expect((await journal.load()).quotes).toBe(20);
    expect(await rowsOfQuery(pool, "select sum(quote_count) as n from session_bars")).toEqual([{ n: "220" }]);
  },
);

timescaleTest("twenty moves to TimescaleDB at the same time are one", async () => {
  const { pool, url } = await plainDatabase();
  await (await journalOf(pool, 5)).load();
  const content = await contentOf(pool);
  // One connection each, as programs have: those of one pool would queue for its few, and no longer than it lets them.
  const pools = Array.from({ length: 20 }, () => poolOn(url, { max: 1 }));

  await Promise.all(pools.map((one) => migrate(one, NOW, { toTimescaledb: true })));

  expect(await contentOf(pool)).toEqual(content);
});

/** The number of the type: PostgreSQL, pg_type.dat. */
const NUMERIC = 1700;

communityTest(
  "quotes are compressed on TimescaleDB Community after seven days, by instrument and source",
  async () => {
    const { pool } = await freshDatabase();

    expect(
      await rowsOfQuery(
        pool,
        "select hypertable_name as name, config->>'compress_after' as after from timescaledb_information.jobs where proc_name = 'policy_compression' order by 1",
      ),
    ).toEqual(
      ["extended_quotes", "intraday_bars", "quotes", "responses"].map((name) => ({ name, after: "7 days" })),
    );
    expect(
      await rowsOfQuery(
        pool,
        "select hypertable::text as name, segmentby from timescaledb_information.hypertable_compression_settings where segmentby <> '' order by 1",
      ),
    ).toEqual([
      { name: "extended_quotes", segmentby: "instrument_id,source_id" },
      { name: "intraday_bars", segmentby: "minutes" },
      { name: "quotes", segmentby: "instrument_id,source_id" },
    ]);
  },
);

communityTest(
  "decimals that recur are compressed as a dictionary, and drivers are told they are numeric",
  async () => {
    const { pool } = await freshDatabase();
    await (await journalOf(pool, 390)).load();
    await pool.query("update quotes set bid = 100 + extract(minute from observed_at)::int % 7 / 4.0");
    await compressAll(pool);

    const [chunk] = await rowsOfQuery(
      pool,
      `select format('%I.%I', c.schema_name, c.table_name) as name from _timescaledb_catalog.chunk f
     join _timescaledb_catalog.chunk c on c.id = f.compressed_chunk_id
     join _timescaledb_catalog.hypertable h on h.id = f.hypertable_id where h.table_name = 'quotes' limit 1`,
    );
    const found = await rowsOfQuery(
      pool,
      `select distinct (_timescaledb_functions.compressed_data_info(bid)).algorithm::text as kept from ${String(chunk?.["name"])}`,
    );
    const { fields } = await pool.query("select q.bid, l.bid from quotes q, latest_quotes l limit 0");

    expect(found).toEqual([{ kept: "DICTIONARY" }]);
    expect(fields.map(({ dataTypeID }) => dataTypeID)).toEqual([NUMERIC, NUMERIC]);
  },
);

communityTest(
  "a full day replayed into compressed chunks leaves row count and digest unchanged",
  async () => {
    const { pool } = await freshDatabase();
    const journal = await journalOf(pool, 390);
    await journal.load();
    const [content, views] = [await contentOf(pool), await viewsOf(pool)];
    await compressAll(pool);
    expect(await contentOf(pool)).toEqual(content);

    const report = await journal.replay();

    expect(report).toMatchObject({ quotes: 0, responses: 0, dividends: 0 });
    expect(await contentOf(pool)).toEqual(content);
    expect(await viewsOf(pool)).toEqual(views);
  },
);

communityTest(
  "rows missing from a compressed day are filled in by a replay, the others stay single",
  async () => {
    const { pool } = await freshDatabase();
    const journal = await journalOf(pool, 390);
    await journal.load();
    const [content, views] = [await contentOf(pool), await viewsOf(pool)];
    for (const table of ["quotes", "extended_quotes"])
      await pool.query(`delete from ${table} where extract(minute from observed_at)::int % 10 = 3`);
    await pool.query("select recompute_session_bars('2026-11-19', '2026-11-22')");
    await compressAll(pool);

    const { quotes } = await journal.replay();

    expect(quotes).toBe(4 * 39);
    expect(await contentOf(pool)).toEqual(content);
    expect(await viewsOf(pool)).toEqual(views);
  },
);

communityTest(
  "a rebuild of compressed days is not held up by the rows that TimescaleDB lets a statement decompress",
  async () => {
    const { pool, url, name } = await freshDatabase();
    const journal = await journalOf(pool, 60);
    await journal.load();
    const content = await contentOf(pool);
    await compressAll(pool);
    await limitDecompression(pool, name);

    const { exitCode, stderr } = await run(["backfill", "--journal", journal.dir, "--rebuild"], {
      ...{ DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() },
    });

    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining("decompression limit")]);
    const { backfills, ...rebuilt } = await contentOf(pool);
    expect(backfills).toBeDefined();
    expect(content).toMatchObject(rebuilt);
  },
);

communityTest("the key is enforced in compressed chunks", async () => {
  const { pool } = await freshDatabase();
  await (await journalOf(pool, 30)).load();
  await compressAll(pool);

  await expect(pool.query("insert into quotes select * from quotes limit 1")).rejects.toMatchObject({
    code: "23505",
  });
});

communityTest("quotes are kept for ever unless retention is set, and again when it is unset", async () => {
  const { pool } = await freshDatabase();
  expect(await readRetention(pool)).toBeNull();

  await migrate(pool, NOW, { retentionDays: 400 });
  await migrate(pool, NOW);
  expect(await readRetention(pool)).toBe(400);

  await migrate(pool, NOW, { retentionDays: null });
  expect(await readRetention(pool)).toBeNull();
});

communityTest(
  "retention keeps the bars of quotes that a loader brought, before it drops them, compressed ones too",
  async () => {
    const { pool, url, name } = await freshDatabase();
    await (await journalOf(pool, 200)).load();
    const before = await viewsOf(pool);
    await compressAll(pool);
    await limitDecompression(pool, name);

    // All that is older than a day a century from now.
    await execute(url, ["call drop_old_quotes(0, '{\"days\": -36500}')"]);

    expect(await rowsOfQuery(pool, "select count(*) as n from quotes")).toEqual([{ n: "0" }]);
    const after = await viewsOf(pool);
    for (const view of ["bars_5m", "bars_1h", "bars_1d"]) expect(after[view]).toEqual(before[view]);
    expect(before["bars_5m"]?.length).toBeGreaterThan(100);
  },
);

communityTest(
  "retention drops old quotes; bars of five minutes and more, dividends and answers stay",
  async () => {
    const { pool } = await freshDatabase();
    await migrate(pool, NOW, { retentionDays: 30 });
    await addStocks(pool, ["OLD"]);
    await pool.query(
      `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
     select now() - interval '100 days' + n * interval '1 minute', 1, 1, false, 1.00, 1.02, 1 + n / 100.0 from generate_series(0, 50) n`,
    );
    await pool.query(
      "insert into extended_quotes (observed_at, instrument_id, source_id, volume) select observed_at, 1, 1, 7000000000000000 + extract(minute from observed_at)::int from quotes",
    );
    await pool.query("select recompute_session_bars('1990-01-01', '2100-01-01')");
    const before = await viewsOf(pool);

    await pool.query("call drop_old_quotes(0, '{\"days\": 30}')");

    expect(await rowsOfQuery(pool, "select count(*) as n from quotes")).toEqual([{ n: "0" }]);
    const after = await viewsOf(pool);
    for (const view of ["bars_5m", "bars_1h", "bars_1d"]) expect(after[view]).toEqual(before[view]);
    expect(before["bars_1d"]).not.toEqual([]);
  },
);

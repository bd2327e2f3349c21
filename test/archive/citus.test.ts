import { afterAll, expect, test } from "@jest/globals";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { readHistory } from "../../src/archive/schema/history.ts";
import { commitsSettled, settleCitus } from "../../src/archive/tiers/citus/door.ts";
import { describeTier, readTier } from "../../src/archive/tiers/tier.ts";
import { contentOf, rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { journalOf, plainDatabase, VIEWS, viewsOf } from "../support/tierWorld.ts";

const NOW = "2026-11-20T22:50:00.000000Z";
const isOffered = Boolean(process.env["TEST_CITUS_URL"]);
const citusTest = isOffered ? test : test.skip;

afterAll(() => {
  if (!isOffered)
    process.stderr.write(
      "Left out, because TEST_CITUS_URL names no coordinator of Citus: moving to it, its bars, its reader.\n",
    );
});

const EVERY_VIEW = [
  ...VIEWS,
  "option_surface",
  "quotes_at('2100-01-01')",
  "asof('2100-01-01', '{AAPL,MSFT}')",
  "chain_at('MRDN', '2026-11-21 12:00Z')",
  "surface_at('MRDN', '2026-11-21 12:00Z')",
  ...["7 minutes", "30 minutes", "1 day", "1 month"].map(
    (width) => `bars('AAPL', '${width}', '2000-01-01', '2100-01-01')`,
  ),
  "returns('AAPL', '15 minutes', '2000-01-01', '2100-01-01')",
  "spread_stats('AAPL', '2000-01-01', '2100-01-01')",
];

citusTest("an empty database on a server with Citus stays plain until the move is asked for", async () => {
  const { pool } = await plainDatabase();

  expect(await readTier(pool)).toMatchObject({ name: "plain", citus: null });
  await migrate(pool, NOW, { toCitus: true });

  const tier = await readTier(pool);
  expect(tier).toMatchObject({ name: "citus", citus: { workers: expect.any(Number) } });
  expect(describeTier(tier)).toMatch(/^Citus [\d.]+ on PostgreSQL [\d.]+, \d+ nodes? holds? the quotes$/);
  expect((await migrate(pool, NOW)).applied).toEqual([]);
});

citusTest("each view of bars can be asked beside another table, as exports and the lake ask it", async () => {
  const { pool } = await plainDatabase();
  await migrate(pool, NOW, { toCitus: true });

  for (const view of ["bars_1m", "bars_5m", "bars_1h", "bars_1d", "bars_1d_regular"])
    expect(
      await rowsOfQuery(
        pool,
        `select count(*)::int as bars from ${view} b
         left join lateral (select i.symbol from instruments i where i.id = b.instrument_id offset 0) i on true
         where b.date >= date '2026-11-20'`,
      ),
    ).toEqual([{ bars: 0 }]);
});

citusTest(
  "the move to Citus keeps every row and every view, and later loads store the same rows as on a plain archive",
  async () => {
    const [plain, moved] = [await plainDatabase(), await plainDatabase()];
    const [one, other] = [await journalOf(plain.pool, 40), await journalOf(moved.pool, 40)];
    await one.load();
    await other.load();
    const content = await contentOf(moved.pool);

    await migrate(moved.pool, NOW, { toCitus: true });

    expect(await contentOf(moved.pool)).toEqual(content);
    const views = await viewsOf(plain.pool, EVERY_VIEW);
    expect(await viewsOf(moved.pool, EVERY_VIEW)).toEqual(views);
    // Two of them tell of now, and by now the contract may have expired.
    const full = EVERY_VIEW.filter((view) => !["option_chain_latest", "option_surface"].includes(view));
    expect(full.filter((view) => views[view]?.length === 0)).toEqual([]);
    for (const journal of [one, other]) {
      await journal.append(10);
      expect((await journal.load()).quotes).toBe(40);
    }
    expect(await viewsOf(moved.pool, EVERY_VIEW)).toEqual(await viewsOf(plain.pool, EVERY_VIEW));
    await commitsSettled(moved.pool);
  },
);

citusTest("a move to TimescaleDB is refused on Citus", async () => {
  const { pool } = await freshDatabase();

  await expect(migrate(pool, NOW, { toTimescaledb: true })).rejects.toMatchObject({
    code: "DATABASE_REFUSED",
  });
});

citusTest("the reader on Citus reads all and writes nothing, shards included", async () => {
  const { pool } = await freshDatabase();
  await (await journalOf(pool, 3)).load();
  const client = await pool.connect();

  try {
    await client.query("set role quotekeeper_reader");
    for (const view of [...EVERY_VIEW, "quotes", "session_bars", "instruments"])
      await client.query(`select * from ${view} limit 1`);
    for (const table of ["quotes", "session_bars", "instruments", "sources"])
      await expect(client.query(`delete from ${table}`)).rejects.toMatchObject({ code: "42501" });
    await expect(client.query("select make_due_bars(1)")).rejects.toMatchObject({
      code: "42501",
    });
  } finally {
    client.release(true);
  }
});

test("the views and functions made for Citus answer on one machine as those in force do", async () => {
  if (isOffered) return;
  const { pool } = await plainDatabase();
  await (await journalOf(pool, 40)).load();
  const before = await viewsOf(pool);
  const client = await pool.connect();
  try {
    // The only function of Citus itself that is called.
    await client.query(
      "create function create_distributed_function(regprocedure) returns void language sql as 'select null'",
    );
    const { repeated } = await readHistory();
    await settleCitus(client, repeated.map(({ sql }) => sql).join("\n"));
  } finally {
    client.release(true);
  }

  expect(await viewsOf(pool)).toEqual(before);
  expect(await rowsOfQuery(pool, "select to_regproc('chain_rows') is not null as made")).toEqual([
    { made: true },
  ]);
});

test("a move to a Citus that is not there is refused, and nothing changes", async () => {
  if (isOffered) return;
  const { pool } = await freshDatabase();

  await expect(migrate(pool, NOW, { toCitus: true })).rejects.toMatchObject({
    code: "DATABASE_REFUSED",
    message: expect.stringContaining("Citus"),
  });
  expect(await readTier(pool)).toMatchObject({ citus: null });
});

/** Feeds of one service as sources of their own: a chain's spot and its open interest are of other sources than its quotes. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { readChain } from "../../src/archive/ask/chainRows.ts";
import { loadAll } from "../../src/archive/load/loader.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { answerRecord, appendAll } from "../support/journal.ts";
import { tempDir } from "../support/tempDir.ts";
import { plainDatabase } from "../support/tierWorld.ts";

/** An answer of a recorded shape, as the collector keeps it. */
function kept(at: string, name: string, changed: (body: string) => string = (body) => body) {
  const file = (of: string): string =>
    readFileSync(new URL(`../services/alpaca/${name}/${of}.json`, import.meta.url), "utf8");
  const asked = JSON.parse(file("asked")) as QuoteCall;
  const stockFeed = "feed" in asked && asked.feed !== "indicative" ? asked.feed : "iex";
  const options = { stockFeed: stockFeed ?? "iex" };
  const request = ALPACA.complete?.(asked, { options, today: "2026-11-24" }) ?? asked;
  return answerRecord(`2026-11-24T${at}.000000Z`, changed(file("response")), {
    service: "alpaca",
    source: { kind: "account", name: "alpaca", ...ALPACA.sourceOf?.(request) },
    request,
  });
}

async function load(pool: pg.Pool): Promise<void> {
  const dir = tempDir();
  await appendAll(dir, [
    kept("13:30:00", "first-page-of-contracts"),
    kept("15:42:07", "open-market"),
    kept("15:42:08", "first-page-of-a-chain"),
    kept("15:42:09", "last-page-without-the-token"),
    // What comes later than the quotes is not theirs.
    kept("15:50:00", "first-page-of-contracts", (body) => body.replace('"417"', '"999"')),
    kept("15:55:00", "open-market", (body) => body.replaceAll("61.2", "62.2")),
  ]);
  await loadAll({ pool, journalDir: dir, clock: createTestClock() });
}

const SPOT = {
  spot: "61.275",
  spot_source: "alpaca iex",
  source_name: "alpaca indicative beside iex",
  delayed: true,
};

async function expectBeside(pool: pg.Pool): Promise<void> {
  const at = "2026-11-24T16:00:00Z";
  const chain = `select option_type, trim_scale(spot)::text as spot, spot_source, source_name, delayed, open_interest, open_interest_date::text as date
    from chain_at('ACME', '${at}') order by 1`;
  expect(await rowsOfQuery(pool, chain)).toEqual([
    { option_type: "CALL", ...SPOT, open_interest: "417", date: "2026-11-23" },
    { option_type: "PUT", ...SPOT, open_interest: null, date: null },
  ]);
  expect(
    await rowsOfQuery(
      pool,
      `select option_type, trim_scale(spot)::text as spot, spot_source, open_interest, iv_mid > 0 as volatile from surface_at('ACME', '${at}') order by 1`,
    ),
  ).toMatchObject([
    { option_type: "CALL", spot: "61.275", spot_source: "alpaca iex", open_interest: "417", volatile: true },
    { option_type: "PUT", spot: "61.275", spot_source: "alpaca iex", open_interest: null },
  ]);
  const client = await pool.connect();
  try {
    await client.query(`set quotekeeper.as_of = '${at}'`);
    const { rows } = await client.query(
      "select spot_source, underlying_last::text as last, call_open_interest, put_open_interest from option_chain_latest where underlying = 'ACME'",
    );
    expect(rows).toEqual([
      { spot_source: "alpaca iex", last: "62.27", call_open_interest: "417", put_open_interest: null },
    ]);
  } finally {
    client.release(true);
  }
  const [{ id } = {}] = await rowsOfQuery(
    pool,
    "select id from sources where name = 'alpaca indicative beside iex'",
  );
  const query = { symbol: "ACME", expiration: "2026-12-18", sourceId: Number(id), delayed: true };
  const view = await readChain(pool, { ...query, at: "2026-11-24T15:45:00.000000Z" });
  expect(view.underlyingLast).toBe("61.27");
  expect(view.contracts.map(({ openInterest, spot }) => [openInterest, spot])).toEqual([
    ["417", "61.275"],
    [null, "61.275"],
  ]);
  expect(
    await rowsOfQuery(
      pool,
      `select s.name, e.open_interest, e.open_interest_date::text as date from extended_quotes e
       left join quotes q using (instrument_id, observed_at, source_id) join sources s on s.id = e.source_id
       where q.observed_at is null order by e.observed_at`,
    ),
  ).toEqual([
    { name: "alpaca", open_interest: "417", date: "2026-11-23" },
    { name: "alpaca", open_interest: "999", date: "2026-11-23" },
  ]);
}

test("a chain shows its underlying's price by the stock feed that stood beside it, and the newest open interest at or before its quotes", async () => {
  const { pool } = await freshDatabase();

  await load(pool);

  await expectBeside(pool);
});

test("a rebuild of such an archive changes no row, and each answer of pages says whether more came", async () => {
  const { pool } = await freshDatabase();
  await load(pool);
  const all = `select to_jsonb(e)::text as row from extended_quotes e union all select to_jsonb(q)::text from quotes q order by 1`;
  const before = await rowsOfQuery(pool, all);

  await pool.query("delete from journal_positions");
  await load(pool);

  expect(await rowsOfQuery(pool, all)).toEqual(before);
  expect(
    await rowsOfQuery(
      pool,
      "select request ->> 'form' as form, request ->> 'page' as page, has_more from responses where request ? 'underlying' order by observed_at",
    ),
  ).toEqual([
    { form: "expirations", page: null, has_more: true },
    { form: "chain", page: null, has_more: true },
    { form: "chain", page: "ACME QUNNRQ==", has_more: null },
    { form: "expirations", page: null, has_more: true },
  ]);
});

const citusTest = process.env["TEST_CITUS_URL"] ? test : test.skip;

citusTest("the same holds on Citus", async () => {
  const { pool } = await plainDatabase();
  await migrate(pool, "2026-11-20T22:50:00.000000Z", { toCitus: true });

  await load(pool);

  await expectBeside(pool);
});

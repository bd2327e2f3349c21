import { afterEach, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { freshDatabase } from "../support/database.ts";
import { type Pooler, startPooler } from "../support/pooler.ts";
import { until } from "../support/until.ts";

// A pooler is started and an archive is migrated through it, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const opened: { pool: pg.Pool; pooler: Pooler }[] = [];

async function behind(mode: Parameters<typeof startPooler>[1], options?: Parameters<typeof createPool>[1]) {
  const { url, pool: direct } = await freshDatabase({ migrated: false });
  const pooler = await startPooler(url, mode);
  const pool = createPool(pooler.url, options);
  opened.push({ pool, pooler });
  return { pool, pooler, direct };
}

afterEach(async () => {
  for (const { pool, pooler } of opened.splice(0)) {
    await pool.end();
    await pooler.close();
  }
});

test("an archive is migrated and read in UTC behind a pooler in session mode", async () => {
  const { pool, direct } = await behind("session");
  await direct.query("set timezone to 'Asia/Tokyo'");

  const { applied } = await migrate(pool, "2026-11-20T14:30:00.000000Z");
  const { rows } = await pool.query(
    "select timestamptz '2026-11-20 09:30-05' as at, current_setting('jit') as jit",
  );

  expect(applied.length).toBeGreaterThan(0);
  expect(rows).toEqual([{ at: "2026-11-20 14:30:00+00", jit: "off" }]);
});

test("a reader cannot write behind a pooler in session mode", async () => {
  const { pool } = await behind("session", { readOnly: true });

  await expect(pool.query("create table mine (id int)")).rejects.toMatchObject({ code: "25006" });
});

test("a pooler in transaction mode is named with the remedy, and no setting is left for other programs", async () => {
  const { pool } = await behind("transaction", { readOnly: true });

  const failure = await pool.query("select 1").catch((error: unknown) => error);

  expect(failure).toMatchObject({ code: "DATABASE_POOLED" });
  expect(String(failure)).toContain("pool_mode = session");
  const { pooler } = opened[0] as { pooler: Pooler };
  const other = createPool(pooler.url);
  await expect(other.query("select 1")).rejects.toMatchObject({ code: "DATABASE_POOLED" });
  await other.end();
});

test("a pooler in statement mode is named too, and no connection that was made to find out stays open", async () => {
  const { pool, pooler } = await behind("statement");

  await expect(pool.query("select 1")).rejects.toMatchObject({ code: "DATABASE_POOLED" });

  await until(() => pooler.clients() === 0, "the end of all connections");
});

test("without a pooler a connection has its settings after one question", async () => {
  const { url } = await freshDatabase({ migrated: false });
  const pool = createPool(url, { readOnly: true, plannedOnce: true });
  try {
    const { rows } = await pool.query(
      `select name, setting from pg_settings
       where name in ('TimeZone', 'jit', 'default_transaction_read_only', 'plan_cache_mode') order by lower(name)`,
    );

    expect(rows.map(({ setting }) => setting)).toEqual(["on", "off", "force_generic_plan", "UTC"]);
  } finally {
    await pool.end();
  }
});

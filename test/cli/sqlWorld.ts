/** The archive of docs/sql.md with a border through it: a day in the lake alone, one in both, one that came late, one hot. */
import { join } from "node:path";
import type pg from "pg";
import { fillFixture } from "../../scripts/sql/fixture.ts";
import { markLate } from "../../src/archive/schema/lateDays.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { type Outcome, run } from "./edges.ts";

/** A statement of `quotekeeper sql`, with words before it. */
export type AskSql = (statement: string, ...words: string[]) => Promise<Outcome>;

/** Marks dates as a load does that comes when they are over. */
export async function late(pool: pg.Pool, ...dates: string[]): Promise<void> {
  const client = await pool.connect();
  await markLate(client, dates);
  client.release();
}

/** Fills an archive whose days can be dropped one by one. */
async function fillByDays(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query("select from pg_class where oid = 'quotes'::regclass and relkind = 'p'");
  if (rows.length === 0)
    await pool.query(
      "select set_chunk_time_interval(t, interval '1 day') from unnest('{quotes,extended_quotes}'::regclass[]) t",
    );
  await fillFixture(pool);
  if (rows.length > 0) await cutIntoDays(pool);
}

/** Partitions of a day each, in place of November's. */
async function cutIntoDays(pool: pg.Pool): Promise<void> {
  for (const table of ["quotes", "extended_quotes"]) {
    const { rows } = await pool.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits
       where inhparent = $1::regclass and pg_get_expr((select relpartbound from pg_class where oid = inhrelid), inhrelid) like '%2026-11-01%TO%'`,
      [table],
    );
    const [whole] = rows;
    await pool.query(`alter table ${table} detach partition ${whole?.name}`);
    for (let day = 1; day <= 30; day++) {
      const at = (of: number): string =>
        of === 31 ? "2026-12-01 00:00+00" : `2026-11-${String(of).padStart(2, "0")} 00:00+00`;
      await pool.query(
        `create table ${table}_day_${day} partition of ${table} for values from ('${at(day)}') to ('${at(day + 1)}')`,
      );
    }
    // A partition's columns have an order of their own.
    await pool.query(
      `insert into ${table} select (jsonb_populate_record(null::${table}, to_jsonb(w))).* from ${whole?.name} w`,
    );
    await pool.query(`drop table ${whole?.name}`);
  }
}

/** As of the fixture's end. */
export const AS_OF = "2026-11-21T00:00:00Z";

/** What comes late to 19 November, and shows: a lower low, a quote of another hour. */
export const LATE_ROWS = `
  insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
  values ('2026-11-19 15:02:03+00', 1, 1, false, 140.01, 140.03, 140.02), ('2026-11-19 15:02:03+00', 2, 1, false, 400.5, 401.25, 401);
  insert into extended_quotes (observed_at, instrument_id, source_id, volume) values ('2026-11-19 15:02:03+00', 1, 1, 7000);
  select recompute_session_bars('2026-11-19', '2026-11-19')`;

/** The archive across the border, and the same in PostgreSQL alone. */
export async function acrossTheBorder(): Promise<{
  alone: pg.Pool;
  pool: pg.Pool;
  url: string;
  lake: string;
  ask: AskSql;
  askAsOf: (asOf: string, statement: string, ...words: string[]) => Promise<Outcome>;
}> {
  const alone = (await freshDatabase()).pool;
  await fillFixture(alone);
  await alone.query(LATE_ROWS);
  const { pool, url } = await freshDatabase();
  await fillByDays(pool);
  const lake = join(tempDir(), "lake");
  const env = {
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: tempDir(),
    QUOTEKEEPER_LAKE_HOT_DAYS: "1",
    QUOTEKEEPER_LAKE_DIR: lake,
  };
  const clock = { ...systemClock, now: () => new Date("2026-11-20T06:00:00Z") };
  const written = await run(["lake", "--through", "2026-11-19", "--drop-hot", "--json"], env, clock);
  if (written.exitCode !== 0) throw new Error(written.stderr);
  await pool.query(LATE_ROWS);
  await late(pool, "2026-11-19");
  const askAsOf = (asOf: string, statement: string, ...words: string[]): Promise<Outcome> =>
    run(["sql", ...words, "--as-of", asOf, statement], env);
  const ask: AskSql = (statement, ...words) => askAsOf(AS_OF, statement, ...words);
  return { alone, pool, url, lake, ask, askAsOf };
}

/** Numbers as numbers, times as instants: whatever they look like. */
export function plain(value: unknown): unknown {
  if (typeof value === "string" && /^-?\d+(\.\d+)?(e[-+]?\d+)?$/u.test(value)) return plain(Number(value));
  if (typeof value === "number") return Number(value.toPrecision(9));
  if (typeof value === "string" && /^\d{4}-\d\d-\d\d[ T]\d\d:/u.test(value))
    return value
      .replace(" ", "T")
      .replace(/\+00$/u, "Z")
      .replace(/\.(\d+?)0*Z$/u, ".$1Z")
      .replace(/\.0?Z$/u, "Z");
  return value;
}

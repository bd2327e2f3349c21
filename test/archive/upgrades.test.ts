/** Archives as earlier checkouts made them (scripts/record-archive.js) become those of this one, and the journal of one is read. */
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { dumpSchema } from "../../scripts/schema/dump.ts";
import { readHistory } from "../../src/archive/schema/history.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { run } from "../cli/edges.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { plainDatabase } from "../support/tierWorld.ts";
import { unlessOnCitus } from "../support/unlessOnCitus.ts";

const NOW = "2026-11-28T02:00:00.000000Z";
const EARLIER = "test/archive/earlier";

const recorded = readdirSync(EARLIER)
  .filter((file) => file.endsWith(".sql.gz"))
  .map((file) => ({ name: file.replace(".sql.gz", ""), file: join(EARLIER, file) }));

const KEPT = [
  ...[
    "quotes",
    "extended_quotes",
    "dividends",
    "responses",
    "slots",
    "misses",
    "instruments",
    "session_bars",
  ],
  ...["intraday_bars", "bars_1d", "bars_5m", "latest_quotes", "journal_positions"],
];

/** What dumpSchema leaves out because versions of PostgreSQL print it differently; one of them prints both archives here. Rights are not in the records. */
const TEXTS = `
select c.oid::regclass::text as name, pg_get_viewdef(c.oid) as text
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'v'
union all select p.oid::regprocedure::text, pg_get_functiondef(p.oid)
from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prokind = 'f' and not exists (
  select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
union all select c.oid::regclass::text, array_to_string(c.reloptions, ',')
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'i', 'I', 'S')
order by 1`;

const testUpgrade = unlessOnCitus(
  "whose tables a plain archive does not have: upgrades of recorded archives.",
);

async function keptRows(pool: pg.Pool): Promise<Record<string, Record<string, unknown>[]>> {
  const rows: Record<string, Record<string, unknown>[]> = {};
  for (const table of KEPT) rows[table] = await rowsOfQuery(pool, `select * from ${table}`);
  return rows;
}

/** In one order, without columns that the earlier release does not know. */
function sorted(rows: Record<string, unknown>[], columns: readonly string[]): string[] {
  return rows.map((row) => JSON.stringify(columns.map((name) => row[name]))).sort();
}

testUpgrade.each(recorded)(
  "the archive of $name keeps every row and bar, and its schema becomes that of an empty database",
  async ({ file }) => {
    const [{ pool }, fresh] = [await freshDatabase({ migrated: false }), await plainDatabase()];
    const sql = gunzipSync(readFileSync(file)).toString("utf8");
    await pool.query(`set check_function_bodies = off; ${sql}; reset check_function_bodies`);
    const before = await keptRows(pool);

    const { version } = await migrate(pool, NOW);

    const after = await keptRows(pool);
    for (const [table, rows] of Object.entries(before)) {
      const columns = Object.keys(rows[0] ?? {});
      expect({ table, columns: columns.length }).not.toEqual({ table, columns: 0 });
      expect(sorted(after[table] ?? [], columns)).toEqual(sorted(rows, columns));
    }
    expect(version).toBe((await readHistory()).migrations.at(-1)?.version);
    expect(await dumpSchema(pool)).toBe(readFileSync("test/schema.sql", "utf8"));
    expect(await rowsOfQuery(pool, TEXTS)).toEqual(await rowsOfQuery(fresh.pool, TEXTS));
    expect((await migrate(pool, NOW)).applied).toEqual([]);
  },
);

test("a journal that an earlier checkout wrote is undamaged, and makes the archive again", async () => {
  const data = tempDir();
  cpSync(join(EARLIER, "journal"), join(data, "journal"), { recursive: true });
  const { url, pool } = await freshDatabase();
  const env = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: data };

  const verified = await run(["journal", "verify", "--json"], env);
  const refilled = await run(["backfill", "--journal", "--json"], env);

  expect(JSON.parse(verified.stdout)).toMatchObject({ strangers: [] });
  expect(verified.exitCode).toBe(0);
  expect(JSON.parse(refilled.stdout)).toMatchObject({ report: { answers: 4, deadLettered: 0 } });
  const rows = await rowsOfQuery(pool, "select distinct symbol from instruments order by 1");
  expect(rows).toEqual(["AAPL", "GE", "SPY"].map((symbol) => ({ symbol })));
});

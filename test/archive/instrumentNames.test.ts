/** Which instruments a name of the ledger means, and that looking for one does not look at all of its underlying's. */
import { beforeAll, expect, test } from "@jest/globals";
import { isNamed } from "../../src/archive/schema/instrumentNames.ts";
import { freshDatabase } from "../support/database.ts";

const { pool } = await freshDatabase();

const CONTRACTS = 3_000;

beforeAll(async () => {
  await pool.query(
    `insert into instruments (security_type, symbol, first_seen_at, last_seen_at)
     select 'CS', symbol, now(), now() from unnest(array['XYZ', 'XYZW', 'A:B']) as symbol`,
  );
  await pool.query(
    `insert into instruments (security_type, symbol, root, expiration, option_type, strike, first_seen_at, last_seen_at)
     select 'OPT', 'XYZ', nullif(root, ''), '2026-12-18', 'CALL', n * 0.5, now(), now()
     from generate_series(1, $1) n cross join unnest(array['', 'XYZW']) as root`,
    [CONTRACTS],
  );
  await pool.query("analyze instruments");
});

const FOUND = `select n.name, coalesce(i.root, '-') as root, trim_scale(i.strike)::text as strike
  from unnest($1::text[]) as n (name) join instruments i on ${isNamed("n.name")} order by 1, 2`;

test.each([
  ["a security", "XYZ", [["-", null]]],
  ["a contract", "XYZ:2026-12-18:CALL:10.5", [["-", "10.5"]]],
  ["a contract of another root", "XYZ/XYZW:2026-12-18:CALL:10.5", [["XYZW", "10.5"]]],
  ["a contract by its root alone", "XYZW:2026-12-18:CALL:7", [["XYZW", "7"]]],
  ["a contract of another type", "XYZ:2026-12-18:PUT:10.5", []],
  ["a contract of another day", "XYZ:2026-12-19:CALL:10.5", []],
  ["a strike that is written in another way", "XYZ:2026-12-18:CALL:10.50", []],
  ["a day that there is not", "XYZ:2026-02-31:CALL:10.5", []],
  ["a month that there is not", "XYZ:2026-13-01:CALL:10.5", []],
  ["a chain", "chain XYZ:2026-12-18", []],
  ["a watchlist that looks like a contract", "watchlist a:b:CALL:d", []],
  ["a security with a colon", "A:B", [["-", null]]],
  ["all that was due", "*", []],
  ["nothing", "", []],
])("%s: %s", async (_, name, found) => {
  const { rows } = await pool.query<{ root: string; strike: string | null }>(FOUND, [[name]]);

  expect(rows.map(({ root, strike }) => [root, strike])).toEqual(found);
});

test("a contract is found without a look at the others of its underlying", async () => {
  const names = Array.from({ length: 400 }, (_, n) => `XYZ:2026-12-18:CALL:${n + 1}`);

  const { rows } = await pool.query<{ "QUERY PLAN": unknown }>(`explain (analyze, format json) ${FOUND}`, [
    names,
  ]);

  const looked = JSON.stringify(rows).matchAll(/"Rows Removed by [^"]*":\s*(\d+)/g);
  const others = [...looked].reduce((sum, [, removed]) => sum + Number(removed), 0);
  expect(others).toBeLessThanOrEqual(2 * names.length);
});

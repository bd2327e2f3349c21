/** A lake whose first days were written before living services' columns were there, and whose last days have them. */
import { expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { migrate } from "../../../src/archive/schema/migrations.ts";
import { EXTENDED_FIELDS, NUMBER_FIELDS, PRICE_FIELDS } from "../../../src/quotes/fields.ts";
import { run } from "../../cli/edges.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { see } from "../../support/observations.ts";
import { ALL, dayOf, old, type World } from "./lakeWorld.ts";

// Files are written, proven and read again by several programs.
jest.setTimeout(180_000);

/** What no answer of the specification's service has. */
const isNew = ({ element }: { element?: string }): boolean => element === undefined;
const COLUMNS = NUMBER_FIELDS.filter(isNew).map(({ column }) => column as string);
const TABLES = { quotes: PRICE_FIELDS.filter(isNew), extended_quotes: EXTENDED_FIELDS.filter(isNew) };
const TYPES = {
  date: "date",
  instant: "timestamptz",
  integer: "bigint",
  decimal: "numeric",
};

/** Makes of an archive one of the release before, and the other way round. */
async function without(pool: pg.Pool): Promise<void> {
  for (const [table, fields] of Object.entries(TABLES))
    await pool.query(
      `alter table ${table} ${fields.map(({ column }) => `drop column ${column} cascade`).join(", ")}`,
    );
}
async function withThem(pool: pg.Pool): Promise<void> {
  for (const [table, fields] of Object.entries(TABLES))
    await pool.query(
      `alter table ${table} ${fields.map(({ column, type }) => `add column ${column} ${TYPES[type]}`).join(", ")}`,
    );
  await pool.query("delete from schema_texts");
  await migrate(pool, "2026-02-10T00:00:00.000000Z");
}

const SAID = {
  ...{ quotedAt: "2026-02-09T15:29:41.000000Z", tradedAt: "2026-02-09T15:28:00.250000Z" },
  ...{ openInterest: "20417", averageVolume: "1234", impliedVolatility: "0.31", bidIv: "0.3", askIv: "0.32" },
  ...{ gamma: "0.0123", theta: "-0.051", vega: "0.204", rho: "0.11" },
  ...{ greeksAt: "2026-02-09T15:00:07.000000Z", openInterestDate: "2026-02-06" },
};

/** An answer of `quotekeeper sql`. */
async function sql({ url, out }: World, statement: string, ...more: string[]): Promise<unknown[]> {
  const { exitCode, stdout, stderr } = await run(["sql", "--json", "--lake", out, ...more, statement], {
    DATABASE_URL: url,
  });
  expect([exitCode, exitCode === 0 ? "" : stderr]).toEqual([0, ""]);
  return (JSON.parse(stdout) as { rows: unknown[] }).rows;
}

test("days that were written before a column was there have NULL in it, in every question and when they come back", async () => {
  const world = await old();
  const { pool, out, lake } = world;
  await without(pool);
  await lake();
  await withThem(pool);
  await see(pool, { at: "2026-02-09 10:30", id: 1, bid: "1", ask: "2", last: "1.5", ...SAID });

  const written = await lake("--through 2026-02-09");

  expect(written).toMatchObject({ exitCode: 0, json: { written: ["2026-02-09"], rewritten: [] } });
  expect((await lake("verify")).json).toMatchObject({ faults: [] });
  const columnsOf = (date: string): string[] =>
    dayOf(out, date).tables.flatMap(({ columns }) => columns.map(({ name }) => name));
  expect(columnsOf("2026-01-12").filter((name) => COLUMNS.includes(name))).toEqual([]);
  expect(columnsOf("2026-02-09")).toEqual(expect.arrayContaining(COLUMNS));
  const counts = COLUMNS.map((column) => `count(${column}) as ${column}`).join(", ");
  const once = Object.fromEntries(COLUMNS.map((column) => [column, 1]));
  const joined = "from quotes q join extended_quotes e using (instrument_id, observed_at, source_id)";
  const newest =
    "select symbol, quoted_at, open_interest::varchar as n, gamma::varchar as gamma from latest_quotes order by 1";
  for (const argv of [["--lake-only"], []]) {
    expect(await sql(world, `select count(*) as n, ${counts} ${joined}`, ...argv)).toEqual([
      { n: 25, ...once },
    ]);
    expect(await sql(world, newest, ...argv)).toEqual([
      { symbol: "AAPL", quoted_at: SAID.quotedAt, n: "20417", gamma: expect.stringMatching(/^0\.01230*$/) },
      { symbol: "MSFT", quoted_at: null, n: null, gamma: null },
    ]);
  }
  const before = await rowsOfQuery(pool, ALL);
  expect((await lake("--drop-hot")).json).toMatchObject({ notDropped: [] });
  expect(await rowsOfQuery(pool, ALL)).toEqual([]);
  expect(await sql(world, newest)).toHaveLength(2);
  await lake("restore --from 2026-01-01 --to 2026-02-28");
  expect(await rowsOfQuery(pool, ALL)).toEqual(before);
});

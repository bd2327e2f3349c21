/** Files beside an import: whatever is kept of bars says what the quotes beside it say, at every moment and for ever. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { expect, jest, test } from "@jest/globals";
import { makeDueBars } from "../../../src/archive/schema/makeBars.ts";
import { duckdbRows } from "../export/duckdb.ts";
import { run } from "../../cli/edges.ts";
import { listsOfQuery, rowsOfQuery } from "../../support/archive.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { freshDatabase, poolOn } from "../../support/database.ts";
import { load } from "../../support/observations.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";
import { lakeOf, old, type World } from "./lakeWorld.ts";

// Programs are started beside each other, which takes as long as the machine is slow.
jest.setTimeout(600_000);

const EXTREMES = "min(low)::float8 as low, max(high)::float8 as high, sum(quote_count)::int as n";

/** What quotes and each kind of bars say of each date, by where it was read; they have to be one. */
async function saidBy({ pool, out }: Pick<World, "pool" | "out">): Promise<unknown[]> {
  const said: unknown[] = [
    await rowsOfQuery(
      pool,
      `select (observed_at at time zone 'America/New_York')::date::text as date, min(last)::float8 as low, max(last)::float8 as high,
         count(*)::int as n from quotes group by 1 order by 1`,
    ),
    await duckdbRows(
      `select date::varchar as date, min("last")::double as low, max("last")::double as high, count(*)::int as n
       from read_parquet('${out}/quotes/*/*.parquet') group by 1 order by 1`,
    ),
  ];
  for (const view of ["bars_5m", "bars_1h", "bars_1d"])
    said.push(
      await rowsOfQuery(pool, `select date::text as date, ${EXTREMES} from ${view} group by 1 order by 1`),
      await duckdbRows(
        `select date::varchar as date, ${EXTREMES.replaceAll("float8", "double")} from read_parquet('${out}/${view}/*/*.parquet')
         group by 1 order by 1`,
      ),
    );
  return said.map((rows) =>
    (rows as Record<string, unknown>[]).map(({ date, low, high, n }) => [
      date,
      Number(low),
      Number(high),
      Number(n),
    ]),
  );
}

const DATES = ["2026-10-05", "2026-10-06", "2026-10-07"];

/** Two stocks at each minute of two hours. */
function fileOf(dir: string, above: number): string {
  const lines = DATES.flatMap((date) =>
    ["AAPL", "MSFT"].flatMap((symbol) =>
      Array.from({ length: 120 }, (_, minute) => {
        const at = new Date(Date.parse(`${date}T15:00Z`) + minute * 60_000).toISOString().slice(0, 19);
        return `${symbol},${at}Z,${above + (minute % 40) / 100},${100 * minute}`;
      }),
    ),
  );
  const file = join(dir, `${above}.csv`);
  writeFileSync(file, ["instrument,observed_at,last,volume", ...lines].join("\n"));
  return file;
}

test("a lake that is written beside an import that replaces, and after a kill of it, has the bars of its quotes in the end", async () => {
  const [dir, bin] = [tempDir(), compileProgram(tempDir())];
  const world = lakeOf(await freshDatabase());
  const env = { DATABASE_URL: world.url, QUOTEKEEPER_DATA_DIR: join(dir, "data") };
  expect((await run(["backfill", "--csv", fileOf(dir, 100), "--name", "vendor"], env)).exitCode).toBe(0);
  expect((await world.lake()).json).toMatchObject({ written: DATES });

  const replace = ["backfill", "--csv", fileOf(dir, 150), "--name", "vendor", "--replace"];
  const child = spawn(process.execPath, [bin, ...replace], {
    env: { ...process.env, ...env },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  await until(
    async () => (await world.pool.query("select from quotes where last >= 150 limit 1")).rowCount === 1,
    "rows that are replaced",
  );
  child.kill("SIGKILL");
  await world.lake();
  await ended;
  await world.lake();
  const cut = await saidBy(world);
  expect((await run(replace, env)).exitCode).toBe(0);
  await world.lake();
  const whole = await saidBy(world);

  for (const said of [cut, whole]) expect(said).toEqual(said.map(() => said[0]));
  expect(whole[0]).toEqual(DATES.map((date) => [date, 150, 150.39, 240]));
  expect((await world.lake()).json).toMatchObject({ files: 0, waiting: [] });
});

test("bars that are due, and that nobody may make, are those of the quotes; their date waits with the lake, and is late when they are made", async () => {
  const world = await old();
  await world.lake();
  const reader = poolOn(world.url, { readOnly: true });
  // A function that makes nothing stands for an import that is still at work.
  const [{ made = "" } = {}] = await rowsOfQuery(
    world.pool,
    "select pg_get_functiondef('make_due_bars(integer)'::regprocedure) as made",
  );
  await world.pool.query(
    "create or replace function make_due_bars(most integer) returns integer language sql as 'select 0'",
  );
  await load(world.pool, [
    { at: "2026-01-12 09:32", bid: "900", ask: "901", last: "900.5", volume: "7777" },
    { at: "2026-01-12 16:02", bid: "900", ask: "901", last: "10.5", volume: null },
  ]);

  const bars = (view: string): Promise<unknown[][]> =>
    listsOfQuery(
      reader,
      `select max(high)::float8, min(low)::float8, sum(quote_count)::int from ${view} where instrument_id = 1 and date = '2026-01-12'`,
    );
  for (const view of ["bars_1m", "bars_5m", "bars_1h", "bars_1d"])
    expect([view, await bars(view)]).toEqual([view, [[900.5, 10.5, 5]]]);
  const waits = await world.lake("--through 2026-01-30");
  const exported = join(tempDir(), "out");
  await run(["export", "--format", "parquet", "--tables", "quotes,bars_5m", "--out", exported], {
    DATABASE_URL: world.url,
  });
  const inExport = await duckdbRows(
    `select (select max("last") from read_parquet('${exported}/quotes/*/*.parquet'))::double as quotes,
       (select max(high) from read_parquet('${exported}/bars_5m/*/*.parquet'))::double as bars`,
  );
  await world.pool.query(String(made));
  await world.pool.query("delete from late_days");
  await makeDueBars(world.pool);
  const late = await listsOfQuery(world.pool, "select date::text from late_days");
  const next = await world.lake();

  expect(waits).toMatchObject({ exitCode: 0, json: { waiting: ["2026-01-12"], rewritten: [] } });
  expect(inExport.map(({ quotes, bars: all }) => [Number(quotes), Number(all)])).toEqual([[900.5, 900.5]]);
  expect(late).toEqual([["2026-01-12"]]);
  expect(next.json).toMatchObject({ rewritten: ["2026-01-12"], waiting: [] });
  const said = await saidBy(world);
  expect(said).toEqual(said.map(() => said[0]));
});

test("the volume of a session's bar is right while bars are due", async () => {
  const { pool } = await old();
  const volume = (): Promise<unknown[][]> =>
    listsOfQuery(pool, "select volume::int from bars_1d where instrument_id = 1 and date = '2026-01-12'");

  // The newest quotes show none, and the newest volume lies among those that a bar was made of.
  await load(pool, [
    { at: "2026-01-12 19:31", last: "1.5", volume: null },
    { at: "2026-01-12 19:30:30", last: "1.5", volume: "5000" },
  ]);
  const due = await volume();
  await makeDueBars(pool);

  expect([due, await volume()]).toEqual([[[5000]], [[5000]]]);
});

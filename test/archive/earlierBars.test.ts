/** What the migration to schema 36 makes of bars that an earlier release has left. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { makeDueBars } from "../../src/archive/schema/makeBars.ts";
import { PACKAGE_ROOT } from "../../src/ground/packageRoot.ts";
import { listsOfQuery } from "../support/archive.ts";
import { archive, see } from "../support/observations.ts";

test("bars of a date whose close is not at whole five minutes are made again, and every date is noted for the lake", async () => {
  const pool = await archive("AAPL");
  await pool.query(
    `insert into sessions (date, kind, reason, pre_at, open_at, close_at, post_at)
     values ('2005-06-01', 'early', null, '2005-06-01 08:00Z', '2005-06-01 13:30Z', '2005-06-01 19:56Z', '2005-06-02 00:00Z')
     on conflict (date) do update set close_at = excluded.close_at`,
  );
  await see(
    pool,
    { at: "2005-06-01 15:55:30", last: "7" },
    { at: "2005-06-01 15:58:00", last: "9" },
    { at: "2005-06-03 10:00", last: "5" },
  );
  const bars = (): Promise<unknown[][]> =>
    listsOfQuery(
      pool,
      "select bar_at, session, high::float8 from bars_5m where date = '2005-06-01' order by 1",
    );
  const right = await bars();
  // As an earlier release made them: one bar over the close.
  await pool.query("delete from intraday_bars where date = '2005-06-01' and bar_at >= '2005-06-01 19:56Z'");
  await pool.query(
    "update intraday_bars set high = 9, quote_count = 2 where date = '2005-06-01' and minutes = 5",
  );
  await pool.query("delete from late_days");
  expect(await bars()).not.toEqual(right);

  await pool.query(readFileSync(join(PACKAGE_ROOT, "migrations", "0037_bars_that_are_due.sql"), "utf8"));
  const due = await bars();
  await makeDueBars(pool);

  expect(right).toHaveLength(2);
  expect([due, await bars()]).toEqual([right, right]);
  expect(await listsOfQuery(pool, "select date::text from late_days order by 1")).toEqual([
    ["2005-06-01"],
    ["2005-06-03"],
  ]);
});

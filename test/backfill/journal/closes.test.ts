/** Closes that nobody saw, derived from the next session's previous close. */
import { expect, test } from "@jest/globals";
import { contentOf } from "../../support/archive.ts";
import { handOnDatabases } from "../../support/database.ts";
import { missed } from "../../support/ledger.ts";
import { run } from "../../cli/edges.ts";
import { backfillWorld } from "../world.ts";
import { answer, DAY, loaded, NEXT_DAY, slots } from "./holes.ts";

handOnDatabases();

test("a close that nobody saw is derived from the next session's previous close, apart from the quotes", async () => {
  const world = await backfillWorld();
  await loaded(world, [
    answer(DAY, "20:59:30", "AAPL", "150.00"),
    answer(DAY, "15:00:00", "MSFT", "300.00"),
    slots(DAY, ["20:59"], missed("AAPL transport", "MSFT down", "IBM down"), ["AAPL", "MSFT", "IBM"]),
    // Before the open the service may still say the day before's; two sessions later it says another one's.
    answer(NEXT_DAY, "13:00:00", "MSFT", "300.00", "298.00"),
    answer(NEXT_DAY, "14:31:00", "MSFT", "301.00", "302.50"),
    answer(NEXT_DAY, "14:31:01", "AAPL", "151.00", "150.10"),
    answer("2026-11-20", "15:00:00", "IBM", "250.00", "249.00"),
  ]);
  const quotes = (await contentOf(world.pool))["quotes"];

  const { stdout } = await run(["backfill", "--gaps"], world.env);

  expect(stdout).toMatch(/^1 close derived from the next session, in derived_closes$/m);
  const { rows } = await world.pool.query(
    "select i.symbol, date, source_id, close, derived_from from derived_closes d join instruments i on i.id = d.instrument_id",
  );
  expect(rows).toEqual([
    { symbol: "MSFT", date: DAY, source_id: 1, close: "302.50", derived_from: "2026-11-19 14:31:00+00" },
  ]);
  expect((await contentOf(world.pool))["quotes"]).toEqual(quotes);
});

test("previous closes that contradict each other derive none; those of another source neither contradict nor stand for it", async () => {
  const world = await backfillWorld();
  const other = { source: { kind: "account", name: "other" } } as const;
  await loaded(world, [
    slots(DAY, ["20:59"], missed("AAPL down", "IBM down", "MSFT down"), ["AAPL", "IBM", "MSFT"]),
    answer(NEXT_DAY, "14:31:00", "AAPL", "151.00", "150.10"),
    answer(NEXT_DAY, "14:32:00", "AAPL", "151.00", "150.20"),
    { ...answer(DAY, "20:50:00", "IBM", "250.00"), ...other },
    answer(NEXT_DAY, "14:31:01", "IBM", "251.00", "249.00"),
    answer(NEXT_DAY, "14:31:02", "MSFT", "301.00", "302.50"),
    { ...answer(NEXT_DAY, "14:32:02", "MSFT", "301.00", "302.25"), ...other },
  ]);

  await run(["backfill", "--gaps"], world.env);

  const { rows } = await world.pool.query(
    `select i.symbol, s.name as source, close from derived_closes d
     join instruments i on i.id = d.instrument_id join sources s on s.id = d.source_id order by 1, 2`,
  );
  expect(rows).toEqual([
    { symbol: "IBM", source: "account", close: "249.00" },
    { symbol: "MSFT", source: "account", close: "302.50" },
    { symbol: "MSFT", source: "other", close: "302.25" },
  ]);
});

test("--gaps --to DATE derives no close of a later date", async () => {
  const world = await backfillWorld();
  await loaded(world, [
    slots(DAY, ["20:59"], missed("MSFT down"), ["MSFT"]),
    slots(NEXT_DAY, ["20:59"], missed("MSFT down"), ["MSFT"]),
    answer(NEXT_DAY, "14:31:00", "MSFT", "301.00", "302.50"),
    answer("2026-11-20", "14:31:00", "MSFT", "305.00", "303.75"),
  ]);

  await run(["backfill", "--gaps", "--from", DAY, "--to", DAY], world.env);

  const { rows } = await world.pool.query("select to_char(date, 'YYYY-MM-DD') as date from derived_closes");
  expect(rows).toEqual([{ date: DAY }]);
});

test("a derived close is removed when the session's own quotes come", async () => {
  const world = await backfillWorld();
  await loaded(world, [
    slots(DAY, ["20:59"], missed("MSFT down"), ["MSFT"]),
    answer(NEXT_DAY, "14:31:00", "MSFT", "301.00", "302.50"),
  ]);
  await run(["backfill", "--gaps"], world.env);
  const derived = (await contentOf(world.pool))["derived_closes"]?.rows;
  await loaded(world, [answer(DAY, "21:05:00", "MSFT", "302.50")], `${DAY}T21:05:00.000Z`);

  await run(["backfill", "--gaps"], world.env);

  expect(derived).toBe(1);
  expect((await contentOf(world.pool))["derived_closes"]?.rows).toBe(0);
});

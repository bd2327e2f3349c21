/** Files in the shapes of vendors, `recorded/<vendor>/quotes.csv`, become `rows.json` by the maps that ship, `docs/maps/<vendor>.sql`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { handOnDatabases } from "../../support/database.ts";
import { backfillWorld } from "../world.ts";
import { backfill, letters, rows } from "./csvFiles.ts";

handOnDatabases();

const RECORDED = join(import.meta.dirname, "recorded");
const MAPS = fileURLToPath(new URL("../../../docs/maps/", import.meta.url));

/** What a file becomes: rows as below, and dead letters. */
type Expected = { rows: string[]; letters: string[]; repeated?: number };

const VALUES = `q.delayed, q.bid, q.ask, e.open, e.high, e.low, q.last, e.volume, e.bid_size, e.ask_size,
  e.contract_size, e.delta, e.open_interest, e.implied_volatility, e.gamma, e.theta, e.vega, e.rho`;

test.each(readdirSync(RECORDED))("a file in the shape of %s becomes its quotes", async (vendor) => {
  const world = await backfillWorld();
  const at = (name: string): string => join(RECORDED, vendor, name);
  const expected = JSON.parse(readFileSync(at("rows.json"), "utf8")) as Expected;

  const { exitCode, report } = await backfill(
    world,
    at("quotes.csv"),
    ...["--map", join(MAPS, `${vendor}.sql`)],
  );

  expect({ rows: await rows(world, VALUES), letters: await letters(world) }).toEqual({
    rows: expected.rows,
    letters: expected.letters,
  });
  expect(report).toMatchObject({
    stored: expected.rows.length,
    repeated: expected.repeated ?? 0,
    deadLettered: expected.letters.length,
  });
  expect(exitCode).toBe(expected.letters.length > 0 ? 1 : 0);
  // No contract has become a stock: by another rule than the reader's.
  const { rows: stocks } = await world.pool.query<{ symbol: string }>(
    "select symbol from instruments where option_type is null and symbol ~ '[0-9]'",
  );
  expect(stocks).toEqual([]);
});

test("each map that ships is tried here", () => {
  expect(
    readdirSync(MAPS)
      .map((file) => file.replace(/\.sql$/u, ""))
      .toSorted(),
  ).toEqual(readdirSync(RECORDED).toSorted());
});

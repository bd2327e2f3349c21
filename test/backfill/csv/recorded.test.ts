/** Files in the shapes of vendors, with the map of each: `recorded/<vendor>/quotes.csv`, `map.yaml`, `rows.json`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { handOnDatabases } from "../../support/database.ts";
import { backfillWorld } from "../world.ts";
import { backfill, letters, rows } from "./csvFiles.ts";

handOnDatabases();

const RECORDED = join(import.meta.dirname, "recorded");

/** What a file becomes: rows as below, dead letters, and of how many values something was cut. */
type Expected = {
  rows: string[];
  letters: string[];
  cut: { times: number; fractions: number };
  repeated?: number;
};

const VALUES = `q.delayed, q.bid, q.ask, e.open, e.high, e.low, q.last, e.volume, e.bid_size, e.ask_size,
  e.contract_size, e.delta, e.open_interest, e.implied_volatility, e.gamma, e.theta, e.vega, e.rho`;

test.each(readdirSync(RECORDED))("a file in the shape of %s becomes its quotes", async (vendor) => {
  const world = await backfillWorld();
  const at = (name: string): string => join(RECORDED, vendor, name);
  const expected = JSON.parse(readFileSync(at("rows.json"), "utf8")) as Expected;

  const { exitCode, report } = await backfill(world, { file: at("quotes.csv"), map: at("map.yaml") });

  expect({ rows: await rows(world, VALUES), letters: await letters(world) }).toEqual({
    rows: expected.rows,
    letters: expected.letters,
  });
  expect(report).toMatchObject({
    stored: expected.rows.length,
    repeated: expected.repeated ?? 0,
    deadLettered: expected.letters.length,
    cutTimes: expected.cut.times,
    cutFractions: expected.cut.fractions,
  });
  expect(exitCode).toBe(expected.letters.length > 0 ? 1 : 0);
  // No contract has become a stock: by another rule than the reader's.
  const { rows: stocks } = await world.pool.query<{ symbol: string }>(
    "select symbol from instruments where option_type is null and symbol ~ '[0-9]'",
  );
  expect(stocks).toEqual([]);
});

test("the maps of the documentation are those that are tested here, and no others", () => {
  const page = readFileSync(new URL("../../../docs/vendor-maps.md", import.meta.url), "utf8");
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gsu)].map(([, text = ""]) => text);

  const tested = readdirSync(RECORDED).map((vendor) =>
    readFileSync(join(RECORDED, vendor, "map.yaml"), "utf8"),
  );

  expect(new Set(blocks)).toEqual(new Set(tested));
});

import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { readTier } from "../../src/archive/tiers/tier.ts";
import { dumpSchema } from "../../scripts/schema/dump.ts";
import { freshDatabase } from "../support/database.ts";

const kept = readFileSync(new URL("../schema.sql", import.meta.url), "utf8");

test("the migrations make the schema of test/schema.sql, on this server and its storage tier", async () => {
  const { pool } = await freshDatabase();
  // Community has a text of its own for wide_quote_bars.
  const bodies = (await readTier(pool)).name !== "community";
  const expected = bodies ? kept : kept.replaceAll(/, text [0-9a-f]{32}$/gm, "");

  expect(await dumpSchema(pool, { bodies })).toBe(expected);
});

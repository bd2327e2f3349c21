import { readFileSync } from "node:fs";
import { expect } from "@jest/globals";
import { readTier } from "../../src/archive/tiers/tier.ts";
import { dumpSchema } from "../../scripts/schema/dump.ts";
import { freshDatabase } from "../support/database.ts";
import { unlessOnCitus } from "../support/unlessOnCitus.ts";

const kept = readFileSync(new URL("../schema.sql", import.meta.url), "utf8");

const ADMITTING = /^CREATE TRIGGER admit_quotes.*\n|^-- function admit_quotes[^]*?(?=^-- function )/gm;

/** There the move writes functions and views anew, and drops triggers and references: test/archive/citus.test.ts. */
const testDump = unlessOnCitus("where the move changes it: the schema's dump.");

testDump(
  "the migrations make the schema of test/schema.sql, on this server and its storage tier",
  async () => {
    const { pool } = await freshDatabase();
    const { name } = await readTier(pool);
    const expected =
      name === "plain"
        ? kept
        : kept.replaceAll(/^CREATE TRIGGER follow_(deleted|changed|truncated)_.*\n/gm, "");

    // Community has a trigger that lets bars see into compressed chunks.
    const dumped = await dumpSchema(pool);
    expect(name === "community" ? dumped.replaceAll(ADMITTING, "") : dumped).toBe(expected);
  },
);

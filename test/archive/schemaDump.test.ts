import { readFileSync } from "node:fs";
import { expect } from "@jest/globals";
import { dumpSchema } from "../../scripts/schema/dump.ts";
import { freshDatabase } from "../support/database.ts";
import { unlessOnCitus } from "../support/unlessOnCitus.ts";

const kept = readFileSync(new URL("../schema.sql", import.meta.url), "utf8");

/** There the move writes functions and views again, and drops references: test/archive/citus.test.ts. */
const testDump = unlessOnCitus("where the move changes it: the schema's dump.");

testDump(
  "the migrations make the schema of test/schema.sql, on this server and its storage tier",
  async () => {
    const { pool } = await freshDatabase();

    expect(await dumpSchema(pool)).toBe(kept);
  },
);

import { expect, test } from "@jest/globals";
import { freshDatabase } from "../support/database.ts";
import { poisonOne } from "./scenarios/poison.ts";

test.each(["first", "middle", "last"] as const)(
  "a row that the database refuses, the %s of 1,000, costs itself alone",
  async (where) => {
    const { pool } = await freshDatabase();

    const verdict = await poisonOne(pool, { rows: 1_000, where });

    expect(verdict).toMatchObject({ violations: [], figures: { quotes: 999, deadLetters: 1 } });
  },
);

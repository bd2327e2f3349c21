/** What a living service says beyond the specification, when the journal is read again. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { run } from "../../cli/edges.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { createTestClock } from "../../support/clock.ts";
import { answerRecord, appendAll } from "../../support/journal.ts";
import { backfillWorld } from "../world.ts";

const BODY = readFileSync(
  new URL("../../services/tradier/stock-and-put/response.json", import.meta.url),
  "utf8",
);

test("a rebuild brings times, open interest and greeks that an archive had lost", async () => {
  const { pool, journalDir, env } = await backfillWorld();
  const record = answerRecord("2026-11-27T18:00:05.000000Z", BODY, {
    service: "tradier",
    source: { kind: "account", name: "tradier" },
    request: { form: "symbols", symbols: ["ACME", "ACME261218P00095000"], delayed: false },
  });
  await appendAll(journalDir, [record]);
  await loadAll({ pool, journalDir, clock: createTestClock() });
  const all =
    "select to_jsonb(q)::text || to_jsonb(e)::text as row from quotes q join extended_quotes e using (instrument_id, observed_at, source_id) order by 1";
  const loaded = await rowsOfQuery(pool, all);
  await pool.query(
    "update quotes set quoted_at = null; update extended_quotes set open_interest = null, gamma = null, greeks_at = null",
  );
  const lost = await rowsOfQuery(pool, all);

  await run(["backfill", "--journal", "--rebuild"], env);

  expect(lost).not.toEqual(loaded);
  expect(await rowsOfQuery(pool, all)).toEqual(loaded);
  expect(loaded).toHaveLength(2);
  expect(loaded.map(({ row }) => /"open_interest": 873/.test(String(row)))).toContain(true);
});

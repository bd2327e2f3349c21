/** Notes of the ledger that cannot become rows. */
import { expect, test } from "@jest/globals";
import type { JournalRecord } from "../../src/journal/record.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { at } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";

function note(second: number, content: unknown): JournalRecord {
  return { kind: "note", at: at(second), note: content };
}

function slotOf(job: string, slotAt: string): unknown {
  return { type: "slots", source: "account", entries: [{ job, slotAt, due: ["AAPL"], misses: [] }] };
}

test("a note that cannot become rows costs itself alone, and is a dead letter once however often it is loaded", async () => {
  const { pool, append, load, forgetPositions } = await loadingWorld();
  await append(
    note(0, slotOf("first", at(0))),
    note(1, slotOf("impossible time", "2026-13-45T99:00:00.000000Z")),
    note(2, { type: "slots" }),
    note(3, slotOf("last", at(3))),
  );

  const report = await load();
  await forgetPositions();
  const again = await load();

  expect(report).toMatchObject({ slots: 2, deadLetters: 2 });
  expect(again).toMatchObject({ slots: 0, deadLetters: 0 });
  expect(await rowsOfQuery(pool, "select job from slots order by job")).toEqual([
    { job: "first" },
    { job: "last" },
  ]);
  expect(
    await rowsOfQuery(pool, "select reason, detail, fragment from dead_letters order by observed_at"),
  ).toEqual([
    {
      reason: "refused_by_database",
      detail: expect.stringMatching(/^a note of the ledger: 22008: /),
      fragment: expect.stringContaining("2026-13-45"),
    },
    {
      reason: "refused_by_database",
      detail: expect.stringMatching(/^a note of the ledger: /),
      fragment: '{"type":"slots"}',
    },
  ]);
});

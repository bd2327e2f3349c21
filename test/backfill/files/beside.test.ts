/** An import while a collector loads whatever the journal holds. */
import { expect, test } from "@jest/globals";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { importPieces } from "../../../src/backfill/files/importPieces.ts";
import type { Piece } from "../../../src/backfill/files/piece.ts";
import { beginRun } from "../../../src/archive/refill/runs.ts";
import { openJournal } from "../../../src/journal/writer.ts";
import { createTestClock } from "../../support/clock.ts";
import { backfillWorld } from "../world.ts";
import { lasts, saved } from "../xml/saved.ts";

test("what a collector has loaded between journaling and loading is what the import has brought, once", async () => {
  const { pool, journalDir } = await backfillWorld();
  const clock = createTestClock();
  const journal = await openJournal({ dir: journalDir, clock, onProblem: () => undefined });
  const observedAt = "2026-11-18T14:30:00.000000Z";
  const piece: Piece = {
    ...{ requestId: "01890000-0000-8000-8000-000000000001", observedAt, knownIn: null },
    request: { form: "saved", file: "a.xml", delayed: false },
    body: Buffer.from(saved({ AAPL: "1", MSFT: "2" })),
  };
  const quick = {
    ...journal,
    append: async (record: Parameters<typeof journal.append>[0]) => {
      const position = await journal.append(record);
      await loadAll({ pool, journalDir, clock });
      return position;
    },
  };
  const run = await beginRun(pool, { kind: "xml" }, observedAt);
  const batches = async function* () {
    await Promise.resolve();
    yield { pieces: [piece], doing: "a.xml", done: 1 };
  };

  const report = await importPieces(
    {
      ...{ pool, journal: quick, journalDir, clock, run, name: "xml", total: 1 },
      ...{ onProgress: () => undefined, onDamage: () => undefined, signal: new AbortController().signal },
    },
    batches(),
    () => undefined,
  );
  await journal.close();

  expect(report).toMatchObject({ answers: 1, newAnswers: 1, read: 2, stored: 2, repeated: 0 });
  expect(await lasts(pool)).toHaveLength(2);
});

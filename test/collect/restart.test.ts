/** What survives the end of the program: the count of the calls, and the notes of the ledger. */
import { describe, expect, test } from "@jest/globals";
import { createNoteWriter } from "../../src/cli/parts/ledgerNotes.ts";
import { readRecentAnswers } from "../../src/cli/parts/recentAnswers.ts";
import { recentCalls } from "../../src/collect/recentCalls.ts";
import { QuotekeeperError } from "../../src/errors.ts";
import type { LedgerNote } from "../../src/ledger.ts";
import { createTestClock } from "../support/clock.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { tempDir } from "../support/tempDir.ts";
import { contractsOf } from "./due.ts";
import { jobOf, mostInWindow, startWorld, type SeenCall } from "./world.ts";

test("a run that begins 10 s after another one ended keeps both together within 60 calls a minute", async () => {
  const dir = tempDir();
  const answeredAtSeconds = Array.from({ length: 55 }, (_, call) => call);
  await appendAll(
    dir,
    [-30, -5, ...answeredAtSeconds].map((second) => answerRecord(at(second), "")),
    { clock: createTestClock() },
  );
  const now = new Date("2026-11-20T22:51:05Z");
  const answers = await readRecentAnswers(dir, now, 60_000);

  const world = startWorld({
    start: now.toISOString(),
    jobs: [jobOf({ name: "options", options: contractsOf(100) })],
    history: recentCalls(answers, now),
  });
  await world.until("2026-11-20T22:54:00Z");

  const before = answeredAtSeconds.map((second): SeenCall => {
    const ms = Date.parse("2026-11-20T22:50:00Z") + second * 1_000;
    return { ...(world.calls[0] as SeenCall), sentAt: ms, answeredAt: ms };
  });
  expect(answers).toHaveLength(49);
  expect(mostInWindow([...before, ...world.calls], 60_000)).toBeLessThanOrEqual(60);
  expect(world.calls.length).toBeGreaterThan(120);
});

test("a run that begins when nothing was asked for a minute counts from nothing", () => {
  expect(recentCalls([], new Date("2026-11-20T22:51:05Z"))).toBeNull();
});

describe("notes of the ledger", () => {
  const note = (job: string): LedgerNote => ({ type: "down", job, slots: [at(0)], due: ["GE"] });

  /** A journal that fails as it is told, and what it took. */
  function journalThat(fails: (note: LedgerNote) => Error | null) {
    const taken: string[] = [];
    const lost: number[] = [];
    const append = async (record: { note?: unknown }) => {
      const error = fails(record.note as LedgerNote);
      if (error) throw error;
      taken.push((record.note as { job: string }).job);
      return { segment: "segment", offset: 0, end: 1 };
    };
    const writer = createNoteWriter(
      { append } as Parameters<typeof createNoteWriter>[0],
      createTestClock(),
      () => "account",
      () => undefined,
      (count) => void lost.push(count),
    );
    return { writer, taken, lost };
  }

  test("wait while the journal cannot be written, and follow in their order when it can", async () => {
    let full = true;
    const { writer, taken, lost } = journalThat(() =>
      full ? new QuotekeeperError("JOURNAL_FULL", "full") : null,
    );
    writer.write(note("one"));
    writer.write(note("two"));
    await writer.flush();

    full = false;
    writer.write(note("three"));
    await writer.flush();

    expect(taken).toEqual(["one", "two", "three"]);
    expect(lost).toEqual([]);
  });

  test("that no journal can hold are counted as lost, and hold up no other", async () => {
    const { writer, taken, lost } = journalThat((given) =>
      given.type === "down" && given.job === "huge"
        ? new QuotekeeperError("JOURNAL_RECORD_TOO_LARGE", "5 MB")
        : null,
    );

    for (const job of ["one", "huge", "two"]) writer.write(note(job));
    await writer.flush();

    expect(taken).toEqual(["one", "two"]);
    expect(lost).toEqual([1]);
  });
});

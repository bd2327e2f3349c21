/** What a sweep has brought: its answers in the journal, and the rows of them in the archive. */
import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { addLetterCounts, countLetters, isOfQuote } from "../../archive/load/letterCounts.ts";
import {
  type AskedAnswer,
  readStoredAnswers,
  type StoredAnswer,
} from "../../archive/refill/storedAnswers.ts";
import { rowsOf } from "../../read/answerToRows.ts";
import type { DeadLetter } from "../../read/rowTypes.ts";
import { type BackfillReport, NOTHING_DONE } from "../../archive/refill/backfillReport.ts";
import { readSegment } from "../../journal/reader.ts";
import type { ResponseRecord } from "../../journal/record.ts";
import { listSegments } from "../../journal/segments.ts";
import { mayHold } from "../journal/chosenSegments.ts";
import type { SweepRun } from "./runFile.ts";

/** Answers that are looked up together. */
const TOGETHER = 500;

export type SweepCount = {
  /** Of the answers that are in the archive. */
  report: BackfillReport;
  /** Answers that are in the journal and not in the archive. */
  waiting: number;
};

/**
 * Counts by the journal and the archive themselves, not by what this process loaded: a collector that runs beside loads
 * answers of the sweep as well, whoever comes first.
 *
 * @param pool null: the database is away, and nothing of it is counted as stored
 */
export async function countSweep(
  pool: pg.Pool | null,
  journalDir: string,
  run: Pick<SweepRun, "name" | "begunAt">,
): Promise<SweepCount> {
  let report = NOTHING_DONE;
  let waiting = 0;
  let group: Counted[] = [];
  const settle = async (): Promise<void> => {
    const found = pool === null ? new Map<number, StoredAnswer>() : await readStoredAnswers(pool, group);
    for (const [place, { units, deadLetters, missing }] of group.entries()) {
      const stored = found.get(place);
      if (stored === undefined) {
        waiting += 1;
        continue;
      }
      const quotes = Math.min(units, stored.quotes);
      report = {
        ...report,
        answers: report.answers + 1,
        newAnswers: report.newAnswers + 1,
        missing: report.missing + missing,
        read: report.read + units + deadLetters.filter(isOfQuote).length,
        stored: report.stored + quotes,
        deadLettered: report.deadLettered + deadLetters.filter(isOfQuote).length + units - quotes,
        deadLetters: addLetterCounts(report.deadLetters, [
          ...countLetters(deadLetters),
          ...(units > quotes ? [{ ...stored.refused, count: units - quotes }] : []),
        ]),
        dividends: report.dividends + stored.dividends,
      };
    }
    group = [];
  };
  for await (const { record, segment, offset } of answersOfRun(journalDir, run)) {
    const { units, deadLetters, matched } = rowsOf(record, { segment, offset });
    group.push({
      requestId: record.requestId,
      observedAt: record.observedAt,
      units: units.length,
      symbols: [...new Set(units.map(({ instrument }) => instrument.symbol))],
      deadLetters,
      missing: matched.filter(({ fate }) => fate === "unknown" || fate === "absent").length,
    });
    if (group.length >= TOGETHER) await settle();
    await setImmediate();
  }
  await settle();
  return { report, waiting };
}

type Counted = AskedAnswer & { units: number; deadLetters: DeadLetter[]; missing: number };

/** An answer and where it is. */
type Journaled = { record: ResponseRecord; segment: string; offset: number };

/** The answers of a run, in the journal's order. @throws QuotekeeperError JOURNAL_UNREADABLE */
export async function* answersOfRun(
  dir: string,
  { name: job, begunAt }: Pick<SweepRun, "name" | "begunAt">,
): AsyncGenerator<Journaled, void> {
  const segments = await listSegments(dir);
  for (const { name } of segments.filter(mayHold({ from: begunAt, to: null }))) {
    for await (const item of readSegment(dir, name)) {
      if (item.kind !== "record" || item.record.kind !== "response") continue;
      const { record, offset } = item;
      if (record.slotAt === begunAt && record.jobs[0] === job) yield { record, segment: name, offset };
    }
  }
}

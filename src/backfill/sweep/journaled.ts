/** What the journal holds of a sweep. */
import { dateOf, type Instant } from "../../clock.ts";
import { readSegment } from "../../journal/reader.ts";
import type { JournalRecord, ResponseRecord } from "../../journal/record.ts";
import { hourOf, segmentHour } from "../../journal/segmentName.ts";
import { listSegments } from "../../journal/segments.ts";
import type { SweepRun } from "./runFile.ts";

/** How many hours a segment's records may lie before the hour in its name: clocks are set. */
const HOURS_AROUND = 3;

/** An answer and where it is. */
export type Journaled = { record: ResponseRecord; segment: string; offset: number };

/** Whether a record is an answer of a run. */
export function isOfRun(
  { name, begunAt }: Pick<SweepRun, "name" | "begunAt">,
  record: JournalRecord,
): boolean {
  return record.kind === "response" && record.slotAt === begunAt && record.jobs[0] === name;
}

/** The answers of a run, in the journal's order. @throws QuotekeeperError JOURNAL_UNREADABLE */
export async function* answersOfRun(
  dir: string,
  run: Pick<SweepRun, "name" | "begunAt">,
): AsyncGenerator<Journaled, void> {
  for await (const { record, segment, offset } of recordsSince(dir, run.begunAt))
    if (record.kind === "response" && isOfRun(run, record)) yield { record, segment, offset };
}

/** All records of the hours since an instant, and some before it. @throws QuotekeeperError JOURNAL_UNREADABLE */
export async function* recordsSince(
  dir: string,
  since: Instant,
): AsyncGenerator<{ record: JournalRecord; segment: string; offset: number }, void> {
  const first = hourOf(dateOf(since).getTime()) - HOURS_AROUND;
  for (const { name } of await listSegments(dir)) {
    if ((segmentHour(name) ?? 0) < first) continue;
    for await (const item of readSegment(dir, name))
      if (item.kind === "record") yield { record: item.record, segment: name, offset: item.offset };
  }
}

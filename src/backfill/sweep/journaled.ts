/** What the journal holds of a sweep. */
import { dateOf } from "../../clock.ts";
import { readSegment } from "../../journal/reader.ts";
import type { ResponseRecord } from "../../journal/record.ts";
import { hourOf, segmentHour } from "../../journal/segmentName.ts";
import { listSegments } from "../../journal/segments.ts";
import type { SweepRun } from "./runFile.ts";

/** How many hours a segment's records may lie before the hour in its name: clocks are set. */
const HOURS_AROUND = 3;

/** An answer and where it is. */
type Journaled = { record: ResponseRecord; segment: string; offset: number };

/** The answers of a run, in the journal's order. @throws QuotekeeperError JOURNAL_UNREADABLE */
export async function* answersOfRun(
  dir: string,
  { name: job, begunAt }: Pick<SweepRun, "name" | "begunAt">,
): AsyncGenerator<Journaled, void> {
  const first = hourOf(dateOf(begunAt).getTime()) - HOURS_AROUND;
  for (const { name } of await listSegments(dir)) {
    if ((segmentHour(name) ?? 0) < first) continue;
    for await (const item of readSegment(dir, name)) {
      if (item.kind !== "record" || item.record.kind !== "response") continue;
      const { record, offset } = item;
      if (record.slotAt === begunAt && record.jobs[0] === job) yield { record, segment: name, offset };
    }
  }
}

/** What the journal holds of a sweep. */
import { readSegment } from "../../journal/reader.ts";
import type { ResponseRecord } from "../../journal/record.ts";
import { listSegments } from "../../journal/segments.ts";
import { mayHold } from "../journal/chosenSegments.ts";
import type { SweepRun } from "./runFile.ts";

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

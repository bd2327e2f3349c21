/** Which segments of a journal a backfill reads, and which of their records. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { TimeRange } from "../../journal/record.ts";
import { hourOf, mayHold, segmentHour } from "../../journal/segmentName.ts";
import { listSegments, type SegmentInfo } from "../../journal/segments.ts";

/**
 * The segments of a journal that may hold records of a range, in the order of time.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE; BACKFILL_NOTHING when there is no journal at all
 */
export async function chooseSegments(dir: string, range: TimeRange): Promise<SegmentInfo[]> {
  const segments = await listSegments(dir);
  if (segments.length === 0)
    throw new QuotekeeperError("BACKFILL_NOTHING", `${dir} holds no segment of a journal`);
  return segments.filter(mayHold(range));
}

/** The segments that may hold answers to slots of some hours; none where there is no journal. */
export async function segmentsOfHours(dir: string, hours: readonly Date[]): Promise<SegmentInfo[]> {
  const wanted = new Set<number>();
  for (const hour of hours) for (const near of [0, 1]) wanted.add(hourOf(hour.getTime()) + near);
  return (await listSegments(dir)).filter(({ name }) => wanted.has(segmentHour(name) ?? NaN));
}

/** The journal of a directory: the directory itself, or the journal of a data directory. */
export async function journalIn(dir: string): Promise<string> {
  const within = join(dir, "journal");
  const found = await stat(within).catch(() => null);
  return found?.isDirectory() && (await listSegments(dir)).length === 0 ? within : dir;
}

/** Which segments of a journal a backfill reads, and which of their records. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "../../errors.ts";
import { dateOf } from "../../clock.ts";
import type { TimeRange } from "../../journal/record.ts";
import { hourOf, segmentHour } from "../../journal/segmentName.ts";
import { listSegments, type SegmentInfo } from "../../journal/segments.ts";

/** How far a record may lie from the hour in its segment's name, in hours: clocks are set. */
const HOURS_AROUND = 3;

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

export function mayHold({ from, to }: TimeRange): (segment: Pick<SegmentInfo, "name">) => boolean {
  const first = from === null ? -Infinity : hourOf(dateOf(from).getTime()) - HOURS_AROUND;
  const last = to === null ? Infinity : hourOf(dateOf(to).getTime()) + HOURS_AROUND;
  return ({ name }) => {
    const hour = segmentHour(name) ?? 0;
    return hour >= first && hour <= last;
  };
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

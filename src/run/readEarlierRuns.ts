/** Reads from the journal what the runs before this one have asked lately. */
import { EarlierRuns } from "../collect/earlierRuns.ts";
import type { ScheduledJob } from "../schedule/jobSchedule.ts";
import { readSegment } from "../journal/reader.ts";
import { listSegments, type SegmentInfo } from "../journal/segments.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import type { QuoteCall } from "../quotes-api/request.ts";

/** Bytes of the journal that are read at most: a start does not wait for more, and what was asked before is old. */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * @param source the market that is polled: an answer of another one says nothing of its slots
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function readEarlierRuns(
  dir: string,
  { jobs, source, now }: { jobs: readonly Pick<ScheduledJob, "schedule">[]; source: LedgerSource; now: Date },
): Promise<EarlierRuns> {
  const lasting = jobs.flatMap(({ schedule }) => schedule.current(now)?.getTime() ?? []);
  const earlier = new EarlierRuns(Math.min(...lasting, now.getTime()));
  for (const { name } of newest(await listSegments(dir)))
    for await (const item of readSegment(dir, name, { mayBeGone: true })) {
      if (item.kind !== "record" || item.record.kind !== "response") continue;
      const { record } = item;
      // Files that were imported have requests of their own, which say nothing of what was asked when.
      if (record.source.kind === source) earlier.add({ ...record, request: record.request as QuoteCall });
    }
  return earlier;
}

/** The newest segments, the oldest of them first. */
function newest(segments: readonly SegmentInfo[]): SegmentInfo[] {
  let bytes = 0;
  const first = segments.findLastIndex(
    (segment) => (bytes += segment.bytes ?? segment.fileBytes) > MOST_BYTES,
  );
  return segments.slice(first + 1);
}

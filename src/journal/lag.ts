/** How far a reader of the journal lies behind its writers. */
import type { Instant } from "../ground/clock.ts";
import { nodeFs, type JournalFs } from "./fs.ts";
import { readSegment } from "./reader.ts";
import { listSegments, type SegmentInfo } from "./segments.ts";

/** Uncompressed bytes that have not been read, and when the oldest record among them was kept; null when there is none. */
export type Lag = { bytes: number; oldestAt: Instant | null };

/**
 * The lag of a reader that has read each segment up to a position. Bytes without a record, such as the torn end that a
 * killed writer left, are no lag; nor is an unreadable file.
 *
 * @param readTo offsets by segment; none of an absent segment was read
 * @throws QuotekeeperError JOURNAL_UNREADABLE when the directory cannot be read
 */
export async function journalLag(
  dir: string,
  readTo: ReadonlyMap<string, number>,
  { segments, fs = nodeFs }: { segments?: readonly SegmentInfo[]; fs?: JournalFs } = {},
): Promise<Lag> {
  const lag: Lag = { bytes: 0, oldestAt: null };
  for (const { name, bytes, fileBytes, unreadable } of segments ?? (await listSegments(dir, fs))) {
    if (unreadable !== null) continue;
    const from = readTo.get(name) ?? 0;
    const behind = (bytes ?? fileBytes) - from;
    if (behind <= 0) continue;
    // Segments come in the order of time, so the first record found is the oldest.
    lag.oldestAt ??= await firstRecordAt(dir, name, { from, fs });
    if (lag.oldestAt !== null) lag.bytes += behind;
  }
  return lag;
}

async function firstRecordAt(
  dir: string,
  name: string,
  place: { from: number; fs: JournalFs },
): Promise<Instant | null> {
  for await (const item of readSegment(dir, name, { ...place, mayBeGone: true }))
    if (item.kind === "record")
      return item.record.kind === "response" ? item.record.observedAt : item.record.at;
  return null;
}

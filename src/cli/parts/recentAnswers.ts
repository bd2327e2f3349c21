import { dateOf, type Instant } from "../../instant.ts";
import { readSegment } from "../../journal/reader.ts";
import { listSegments } from "../../journal/segments.ts";

/** Arrival times of the answers that the journal holds of the last `windowMs`, whichever process kept them. */
export async function readRecentAnswers(dir: string, now: Date, windowMs: number): Promise<Instant[]> {
  const sinceMs = now.getTime() - windowMs;
  const recent: Instant[] = [];
  for (const { name, mtimeMs } of await listSegments(dir)) {
    if (mtimeMs < sinceMs) continue;
    for await (const item of readSegment(dir, name)) {
      if (item.kind !== "record" || item.record.kind !== "response") continue;
      if (dateOf(item.record.observedAt).getTime() > sinceMs) recent.push(item.record.observedAt);
    }
  }
  return recent;
}

/** Puts new segments on the journal's list, and begins the list of a journal that has none. */
import { frameSaysListed } from "./frame.ts";
import type { Place } from "./fs.ts";
import { namedError, readStart } from "./reader.ts";
import { appendToList, type ListLine, readSegmentList, type SegmentList } from "./segmentList.ts";
import { listSegments, type SegmentInfo } from "./segments.ts";

/**
 * Lists a segment that was just made; begins the list where there is none.
 *
 * @param known segments that the list had before its directory was removed: they are listed again, and so count as missing
 * @returns what the list held before
 * @throws the file system's error, or QuotekeeperError JOURNAL_UNREADABLE
 */
export async function listNewSegment(
  place: Place,
  { segment, known }: { segment: string; known: SegmentList["segments"] },
  now: Date,
): Promise<SegmentList["segments"]> {
  const at = now.toISOString();
  const { standing, segments } = await readSegmentList(place.dir, place.fs);
  if (standing === null) await beginList(place, now);
  const lost = [...known].flatMap(([name, { away, ...facts }]): ListLine[] =>
    segments.has(name)
      ? []
      : [{ at, segment: name, ...(away ? { event: "away" } : { event: "found", ...facts }) }],
  );
  await appendToList(place, [...lost, { at, event: "begun", segment }]);
  // The list's name, which may be new.
  if (standing === null) await place.fs.syncDirectory(place.dir);
  return segments;
}

/** Begins the list of a journal that has none, with the present segments. */
export async function beginList(place: Place, at: Date): Promise<void> {
  const segments = await listSegments(place.dir, place.fs);
  const again = await saysListed(place, segments);
  // Another process may have begun the list meanwhile, and marked those frames.
  if ((await readSegmentList(place.dir, place.fs)).standing !== null) return;
  const now = at.toISOString();
  const found = segments.flatMap((info): ListLine[] => {
    if (info.fileBytes === 0) return [];
    const { name: segment, bytes, fileBytes, mark } = info;
    return [{ at: now, event: "found", segment, ...(info.compressed && { bytes, fileBytes, mark }) }];
  });
  await appendToList(place, [...found, { at: now, event: "listed", again }]);
}

/** Whether the newest readable segment with a record was in a list. */
export async function saysListed({ dir, fs }: Place, segments: readonly SegmentInfo[]): Promise<boolean> {
  for (const { name, fileBytes, bytes, unreadable } of segments.toReversed()) {
    if (fileBytes === 0 || bytes === 0 || unreadable !== null) continue;
    const start = await readStart(dir, name, fs).catch(namedError);
    if (start instanceof Buffer) return frameSaysListed(start);
  }
  return false;
}

/** A person accepts that segments which `verify` names as missing are gone for good, or that the list was lost. */
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { type Completeness, readCompleteness, vanishedOf } from "./completeness.ts";
import { nodeFs, type JournalFs } from "./fs.ts";
import type { Acceptance } from "./journalReports.ts";
import { beginList } from "./listNewSegment.ts";
import { appendToList, SEGMENT_LIST } from "./segmentList.ts";
import { segmentHour } from "./segmentName.ts";

type AcceptRequest = {
  names: readonly string[];
  /** Accepts also all missing segments that were begun before this hour, as `hourOf` counts. */
  beforeHour: number | null;
};

/** `loaded`: names of segments that a database has loaded. Default: none. */
type AcceptOptions = { clock: Clock; fs?: JournalFs; loaded?: Iterable<string> };

/**
 * Writes a person's decisions into the journal's list. No segment is changed.
 *
 * @throws QuotekeeperError USAGE when a name is no missing segment's; JOURNAL_UNREADABLE; the file system's error
 */
export async function acceptMissing(
  dir: string,
  { names, beforeHour }: AcceptRequest,
  { clock, fs = nodeFs, loaded = [] }: AcceptOptions,
): Promise<Acceptance[]> {
  const place = { dir, fs };
  const complete = await readCompleteness(dir, fs);
  const missing = [...complete.findings, ...vanishedOf(complete, loaded)]
    .filter(({ problem }) => problem === "missing")
    .map(({ segment }) => segment);
  const older = missing.filter((name) => beforeHour !== null && (segmentHour(name) ?? Infinity) < beforeHour);
  const accepted = [...new Set([...names, ...older])].map((segment): Acceptance => {
    if (segment === SEGMENT_LIST) return { segment, as: "begun" };
    if (missing.includes(segment) || isAway(complete, segment)) return { segment, as: "away" };
    const advice = "copy its file back if it was changed, move it away if it does not belong there";
    throw new QuotekeeperError("USAGE", `${dir} does not miss ${segment}: ${advice}`);
  });
  if (accepted.length === 0) return [];
  await fs.mkdir(dir);
  if (complete.list.standing === null) await beginList(place, clock.now());
  const at = clock.now().toISOString();
  await appendToList(
    place,
    accepted.map(({ segment, as }) =>
      as === "begun" ? { at, event: "accepted" } : { at, event: "away", segment },
    ),
  );
  return accepted;
}

/** Whether the file of a segment is not there, and that was accepted before. */
function isAway({ segments, list }: Completeness, segment: string): boolean {
  return list.segments.get(segment)?.away === true && segments.every(({ name }) => name !== segment);
}

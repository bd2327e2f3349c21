/** A person accepts what `verify` names as missing, foreign, altered or lost. */
import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import { type Completeness, readCompleteness, vanishedOf } from "./completeness.ts";
import { nodeFs, type JournalFs, type Place } from "./fs.ts";
import type { Accepted, Finding } from "./journalReports.ts";
import { beginList } from "./listNewSegment.ts";
import { readSegment } from "./reader.ts";
import { appendToList, type ListLine, SEGMENT_LIST, type SegmentFacts } from "./segmentList.ts";
import { segmentHour } from "./segmentName.ts";
import type { SegmentInfo } from "./segments.ts";

type AcceptRequest = {
  names: readonly string[];
  /** Accepts also all missing and foreign segments that were begun before this hour, as `hourOf` counts. */
  beforeHour: number | null;
};

/** `loaded`: names of segments that a database has loaded. Default: none. */
type AcceptOptions = { clock: Clock; fs?: JournalFs; loaded?: Iterable<string> };

/**
 * Writes a person's decisions into the journal's list. No segment is changed.
 *
 * @throws QuotekeeperError USAGE when a name is no segment's, or a file has to get its own name back first;
 *   JOURNAL_UNREADABLE; the file system's error
 */
export async function acceptFindings(
  dir: string,
  request: AcceptRequest,
  { clock, fs = nodeFs, loaded = [] }: AcceptOptions,
): Promise<Accepted[]> {
  const place = { dir, fs };
  const complete = await readCompleteness(dir, fs);
  complete.findings.push(...vanishedOf(complete, loaded));
  const names = new Set([...request.names, ...foundBefore(complete, request.beforeHour)]);
  const at = clock.now().toISOString();
  const accepted: Accepted[] = [];
  const lines: ListLine[] = [];
  for (const segment of names) {
    const { as, line } = await acceptedAs(place, segment, complete);
    accepted.push({ segment, as });
    lines.push({ at, ...line });
  }
  if (lines.length === 0) return [];
  await fs.mkdir(dir);
  if (complete.list.standing === null) await beginList(place, clock.now());
  await appendToList(place, lines);
  return accepted;
}

function foundBefore({ findings }: Completeness, beforeHour: number | null): string[] {
  if (beforeHour === null) return [];
  return findings
    .filter(({ problem }) => problem === "missing" || problem === "foreign")
    .map(({ segment }) => segment)
    .filter((segment) => (segmentHour(segment) ?? Infinity) < beforeHour);
}

type Line = ListLine extends infer Each ? (Each extends ListLine ? Omit<Each, "at"> : never) : never;

async function acceptedAs(
  place: Place,
  segment: string,
  { findings, segments, list }: Completeness,
): Promise<{ as: Accepted["as"]; line: Line }> {
  if (segment === SEGMENT_LIST) return { as: "begun", line: { event: "accepted" } };
  const finding: Finding | undefined = findings.find((each) => each.segment === segment);
  const info = segments.find(({ name }) => name === segment);
  const isAway = info === undefined && list.segments.get(segment)?.away === true;
  if (isAway || finding?.problem === "missing") return { as: "away", line: { event: "away", segment } };
  if (finding?.problem === "reordered") {
    const detail = `${segment}: ${finding.detail}: give that file its own name back`;
    throw new QuotekeeperError("USAGE", detail);
  }
  if (info === undefined)
    throw new QuotekeeperError("USAGE", `${place.dir} has and misses no segment ${segment}`);
  return { as: "here", line: { event: "found", segment, ...(await factsOf(place, info)) } };
}

async function factsOf(
  { dir, fs }: Place,
  { name, state, compressed, fileBytes, mark }: SegmentInfo,
): Promise<Partial<SegmentFacts>> {
  if (state === "open") return {};
  const hash = createHash("sha256");
  const onBytes = (bytes: Uint8Array): void => void hash.update(bytes);
  let bytes = 0;
  for await (const item of readSegment(dir, name, { fs, onBytes }))
    if (item.kind === "end") bytes = item.end;
    else if (item.kind === "unreadable") throw item.error;
  const facts = { bytes, sha256: hash.digest("hex") };
  return compressed ? { ...facts, fileBytes, mark } : facts;
}

/** Whether a journal has all of its segments, and no others: its directory held against its list. */
import { idOf } from "./frame.ts";
import { nodeFs, type JournalFs, type Place } from "./fs.ts";
import { saysListed, beginList } from "./listNewSegment.ts";
import { namedError, readStart, readSegment } from "./reader.ts";
import { segmentId, segmentHour } from "./segmentName.ts";
import {
  readSegmentList,
  SEGMENT_LIST,
  type ListedSegment,
  type SegmentList,
  appendToList,
  type ListLine,
  type SegmentFacts,
} from "./segmentList.ts";
import { listSegments, segmentInfo, type SegmentInfo } from "./segments.ts";
import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";

/**
 * What is wrong with a journal as a whole:
 *
 * - `missing`: a segment of the list has no file
 * - `foreign`: a segment is not in the list
 * - `reordered`: a file has the name of another segment than the one it holds
 * - `altered`: a segment can be read, and is not what was written
 * - `unreadable`: a file cannot be read
 * - `list_lost`: the list is not there, or was not there for a time: what went missing before it was begun anew nobody knows
 */
export type FindingKind = "missing" | "foreign" | "reordered" | "altered" | "unreadable" | "list_lost";

/** One thing that is wrong. */
export type Finding = {
  /** Name of the segment; `segments.jsonl` for the list, `damaged` for the folder of damage that was set aside. */
  segment: string;
  problem: FindingKind;
  /** What was expected or found, in words. */
  detail: string;
};

/** The segments of a journal and what is wrong with them as a whole, without having read them. */
type Completeness = { segments: SegmentInfo[]; list: SegmentList; findings: Finding[] };

/**
 * Holds a journal's directory against its list. Safe beside writers: whatever is begun or compressed meanwhile is no
 * finding.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE when the directory cannot be read
 */
export async function readCompleteness(dir: string, fs: JournalFs = nodeFs): Promise<Completeness> {
  // The list first: whatever is in it has had its file before.
  const list = await readSegmentList(dir, fs).catch(namedError);
  const segments = await listSegments(dir, fs);
  const place = { dir, fs };
  const unreadable = segments.flatMap((info) =>
    info.unreadable ? [unreadableOf(info.name, info.unreadable)] : [],
  );
  if (list instanceof QuotekeeperError)
    return { segments, list: NO_LIST, findings: [...unreadable, unreadableOf(SEGMENT_LIST, list)] };
  if (list.standing === null) {
    const lost = (await saysListed(place, segments)) ? [listLost(`${SEGMENT_LIST} is not there`)] : [];
    return { segments, list, findings: [...unreadable, ...lost] };
  }
  const reordered = await findReordered(place, segments, list);
  const foreign = await findForeign(place, segments, list);
  const missing = await findMissing(place, segments, list);
  const held = new Set(reordered.map(({ holds }) => holds));
  const misnamed = new Set(reordered.map(({ segment }) => segment));
  return {
    segments,
    list,
    findings: [
      ...unreadable,
      ...(list.standing === "lost" ? [listLost(`${SEGMENT_LIST} was lost and begun anew`)] : []),
      // A file under another segment's name is neither foreign, nor is the segment missing that it holds.
      ...missing.filter((segment) => !held.has(segment)).map(missingOf),
      ...foreign.filter((segment) => !misnamed.has(segment)).map(foreignOf),
      ...reordered.map(({ segment, holds }): Finding => {
        return { segment, problem: "reordered", detail: `the file holds ${holds}` };
      }),
    ],
  };
}

const NO_LIST: SegmentList = { segments: new Map(), standing: null };

/** The finding of a file that cannot be read. */
export function unreadableOf(segment: string, { detail }: QuotekeeperError): Finding {
  return { segment, problem: "unreadable", detail };
}

function listLost(detail: string): Finding {
  return { segment: SEGMENT_LIST, problem: "list_lost", detail };
}

function missingOf(segment: string): Finding {
  return { segment, problem: "missing", detail: "its file is not there" };
}

function foreignOf(segment: string): Finding {
  return { segment, problem: "foreign", detail: "it was not begun in this journal" };
}

async function findMissing(
  { dir, fs }: Place,
  segments: readonly SegmentInfo[],
  list: SegmentList,
): Promise<string[]> {
  const there = new Set(segments.map(({ name }) => name));
  const missing: string[] = [];
  for (const [name, { away }] of list.segments)
    // One that is renamed while the directory is read may not be found there.
    if (!there.has(name) && !away && (await segmentInfo(dir, name, fs)) === null) missing.push(name);
  if (missing.length === 0) return missing;
  // A writer that could not write takes back the segment it has begun.
  const { segments: still } = await readSegmentList(dir, fs);
  return missing.filter((name) => still.has(name));
}

async function findForeign(
  { dir, fs }: Place,
  segments: readonly SegmentInfo[],
  list: SegmentList,
): Promise<string[]> {
  const unlisted = segments.filter(({ name, bytes }) => bytes !== 0 && !list.segments.has(name));
  if (unlisted.length === 0) return [];
  // Those that were begun since the list was read.
  const { segments: now } = await readSegmentList(dir, fs);
  return unlisted.map(({ name }) => name).filter((name) => !now.has(name));
}

/** Files that hold another segment of the list than the one of their name. */
async function findReordered(
  { dir, fs }: Place,
  segments: readonly SegmentInfo[],
  list: SegmentList,
): Promise<{ segment: string; holds: string }[]> {
  const byId = new Map([...list.segments.keys()].map((name) => [segmentId(name)?.toString("hex"), name]));
  const found: { segment: string; holds: string }[] = [];
  for (const info of segments) {
    if (info.unreadable !== null || isAsListed(info, list.segments.get(info.name))) continue;
    // The file's start may be silent about it: then the file is named where it is read.
    const start = await readStart(dir, info.name, fs).catch(namedError);
    const holds = start instanceof QuotekeeperError ? undefined : byId.get(idOf(start) ?? "");
    if (holds !== undefined && holds !== info.name) found.push({ segment: info.name, holds });
  }
  return found;
}

/** Whether a compressed file is surely the one that was listed: it need not be opened. */
function isAsListed(
  { compressed, mark, fileBytes }: SegmentInfo,
  listed: ListedSegment | undefined,
): boolean {
  return compressed && mark !== null && mark === listed?.mark && fileBytes === listed.fileBytes;
}

// Lets a person say that what `verify` names as missing, foreign, altered or lost is meant to be so.

/** Which findings are meant to be. */
type AcceptRequest = {
  /** Segments by name; `segments.jsonl` for the list itself. */
  names: readonly string[];
  /** Also all that are missing or foreign and were begun before this hour, as `hourOf` counts; null: none. */
  beforeHour: number | null;
};

/** What was accepted: a segment may be `away` from now on, belongs `here` as it is, or the list is `begun` anew. */
export type Accepted = { segment: string; as: "away" | "here" | "begun" };

type AcceptOptions = { clock: Clock; fs?: JournalFs };

/**
 * Writes into the journal's list what a person says of its segments. No segment is changed.
 *
 * @throws QuotekeeperError USAGE when a name is no segment's, or a file has to get its own name back first;
 *   JOURNAL_UNREADABLE; the file system's error
 */
export async function acceptFindings(
  dir: string,
  request: AcceptRequest,
  { clock, fs = nodeFs }: AcceptOptions,
): Promise<Accepted[]> {
  const place = { dir, fs };
  const complete = await readCompleteness(dir, fs);
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

/** A line of the list without its time. */
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

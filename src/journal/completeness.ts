/** Whether a journal has all of its segments, and no others: compares its directory with its list. */
import { idOf } from "./frame.ts";
import { nodeFs, type JournalFs, type Place } from "./fs.ts";
import type { Finding } from "./journalReports.ts";
import { saysListed } from "./listNewSegment.ts";
import { namedError, readStart } from "./reader.ts";
import { segmentId } from "./segmentName.ts";
import { readSegmentList, SEGMENT_LIST, type ListedSegment, type SegmentList } from "./segmentList.ts";
import { listSegments, segmentInfo, type SegmentInfo } from "./segments.ts";
import { QuotekeeperError } from "../ground/errors.ts";

/** The segments of a journal and what is wrong with them as a whole, without having read them. */
export type Completeness = { segments: SegmentInfo[]; list: SegmentList; findings: Finding[] };

/**
 * Compares a journal's directory with its list. Safe while writers run: a segment that is begun or compressed meanwhile
 * is no finding.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE when the directory cannot be read
 */
export async function readCompleteness(dir: string, fs: JournalFs = nodeFs): Promise<Completeness> {
  // The list first: a listed segment had its file before its line.
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

/**
 * Segments that a database has loaded, and of which nothing is left here: neither a file nor a line of the list. Pure.
 *
 * @param loaded their names
 */
export function vanishedOf(
  { segments, list }: Pick<Completeness, "segments" | "list">,
  loaded: Iterable<string>,
): Finding[] {
  const here = new Set([...segments.map(({ name }) => name), ...list.segments.keys()]);
  const detail =
    "the database has loaded it, and neither its file nor its line in the list is here: it is gone, or of another data directory";
  return [...loaded]
    .filter((name) => !here.has(name))
    .map((segment) => ({ segment, problem: "missing", detail }));
}

const NO_LIST: SegmentList = { segments: new Map(), standing: null };

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
    // A file that is renamed while the directory is read may be absent from what was read.
    if (!there.has(name) && !away && (await segmentInfo(dir, name, fs)) === null) missing.push(name);
  if (missing.length === 0) return missing;
  // A writer that could not write removes the segment it has begun.
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
  // Other segments were begun since the list was read.
  const { segments: now } = await readSegmentList(dir, fs);
  return unlisted.map(({ name }) => name).filter((name) => !now.has(name));
}

/** Files that hold another segment of the list than their name says. */
async function findReordered(
  { dir, fs }: Place,
  segments: readonly SegmentInfo[],
  list: SegmentList,
): Promise<{ segment: string; holds: string }[]> {
  const byId = new Map([...list.segments.keys()].map((name) => [segmentId(name)?.toString("hex"), name]));
  const found: { segment: string; holds: string }[] = [];
  for (const info of segments) {
    if (info.unreadable !== null || isAsListed(info, list.segments.get(info.name))) continue;
    // A damaged start does not say it: then the file is a finding where it is read.
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

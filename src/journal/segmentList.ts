/**
 * The list of a journal's segments, `segments.jsonl` in its directory: which segments there must be, and what each held
 * when it was finished. Without the list nobody would notice a lost segment. See docs/decisions/journal-chain.md.
 *
 * Every process of the journal appends to the one file, a line in one write, so lines of several never mix. A segment's
 * line is on the disk before its first record is, and its file's name before that line. So at whatever instant a
 * process is killed, an acknowledged record is in a listed segment, and a listed segment has a file; a segment without
 * a line holds no bytes yet. A line that a kill or a full disk cut short is no JSON, and is passed over.
 *
 * States of a journal: unlisted (made by an older version; the list is absent or was cut short) -> listed, when the
 * first segment is begun. A lost list is noticed by the mark in each frame of the segments that were in it.
 */
import { join } from "node:path";
import { errnoOf, readFully, unreadable, writeAll, type JournalFs, type Place } from "./fs.ts";

export const SEGMENT_LIST = "segments.jsonl";

/** Facts of a finished segment. Null: unknown, because the segment is older than the list or is not finished. */
type SegmentFacts = {
  bytes: number | null;
  /** Of the uncompressed bytes, hexadecimal. */
  sha256: string | null;
  /** Of the compressed file; `mark` as in `SegmentInfo`. */
  fileBytes: number | null;
  mark: string | null;
};

export type ListedSegment = SegmentFacts & {
  /** A person said that its file may be elsewhere. */
  away: boolean;
};

export type SegmentList = {
  /** By name, in the order in which they were begun. */
  segments: ReadonlyMap<string, ListedSegment>;
  /**
   * Null: the journal is of an older version, and nobody knows what is missing. `lost`: the list was lost and begun
   * again, and nobody has accepted that yet.
   */
  standing: "listed" | "lost" | null;
};

/** `at`: when the line was written, ISO 8601 UTC. */
export type ListLine = { at: string } & (
  | { event: "begun" | "dropped" | "away"; segment: string }
  /** The segment was present when the list was begun. */
  | ({ event: "found" } & { segment: string } & Partial<SegmentFacts>)
  | { event: "finished"; segment: string; bytes: number; sha256: string }
  | { event: "compressed"; segment: string; fileBytes: number; mark: string | null }
  /** The list is whole up to this line. `again`: there had been an earlier list. */
  | { event: "listed"; again: boolean }
  /** A person has accepted that the list was lost. */
  | { event: "accepted" }
);

export const JUST_BEGUN: ListedSegment = {
  bytes: null,
  sha256: null,
  fileBytes: null,
  mark: null,
  away: false,
};

/** Reads the lines of a list. Lines that are no JSON, or of another version, are passed over. Pure. */
function listOf(text: string): SegmentList {
  const segments = new Map<string, ListedSegment>();
  let standing: SegmentList["standing"] = null;
  for (const line of text.split("\n")) {
    const read = lineOf(line);
    if (read === null) continue;
    if (read.event === "listed") standing = standing === "lost" || read.again ? "lost" : "listed";
    else if (read.event === "accepted") standing = standing && "listed";
    else if (read.event === "dropped") segments.delete(read.segment);
    else {
      const { event, segment, at: _at, ...facts } = read;
      const before = segments.get(segment) ?? JUST_BEGUN;
      segments.set(segment, {
        ...before,
        ...facts,
        away: event === "away" || (before.away && event !== "found"),
      });
    }
  }
  return { segments, standing };
}

function lineOf(line: string): ListLine | null {
  if (!line.endsWith("}")) return null;
  try {
    const read = JSON.parse(line) as ListLine;
    const named = read.event === "listed" || read.event === "accepted";
    return named || ("segment" in read && typeof read.segment === "string") ? read : null;
  } catch {
    return null;
  }
}

/**
 * An empty list where there is none.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function readSegmentList(dir: string, fs: JournalFs): Promise<SegmentList> {
  return listOf(await textOf(join(dir, SEGMENT_LIST), fs));
}

async function textOf(path: string, fs: JournalFs): Promise<string> {
  try {
    const file = await fs.open(path, "r");
    try {
      const { size } = await fs.stat(path);
      const bytes = Buffer.allocUnsafe(size);
      return bytes.toString("utf8", 0, await readFully(file, bytes, 0));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "";
    throw unreadable(path, error);
  }
}

/**
 * Appends lines, in one write, and waits until they are on the disk.
 *
 * @param options.synced false: does not wait
 * @throws the file system's error; then none of the lines counts, or its sync has failed
 */
export async function appendToList(
  { dir, fs }: Place,
  lines: readonly ListLine[],
  { synced = true } = {},
): Promise<void> {
  const file = await fs.open(join(dir, SEGMENT_LIST), "a");
  try {
    // The line break comes first: so a line that a kill cut short does not run into this one.
    await writeAll(file, Buffer.from(lines.map((line) => `\n${JSON.stringify(line)}`).join("")), null);
    if (synced) await file.datasync();
  } finally {
    await file.close();
  }
}

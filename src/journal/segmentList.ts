/**
 * The list of a journal's segments, `segments.jsonl` in its directory: which there must be, and what each held when it was
 * finished. Without it a segment that is gone would be missed by nobody. See docs/decisions/journal-chain.md.
 *
 * Every process of the journal appends to the one file, a line in one write, so lines of several never mix. A segment's
 * line is on the disk before its first record is, and its file's name before that line. So at whatever instant a process
 * is killed, a record that was acknowledged is in a listed segment, and a listed segment has a file; what has no line yet
 * holds no bytes. A line that a kill or a full disk cut short is no JSON, and is passed over.
 *
 * States of a journal: unlisted (made by an older version; the list is absent or was cut short) -> listed, when the first
 * segment is begun. A list that is gone again is noticed by the mark in each frame of the segments that were in it.
 */
import { join } from "node:path";
import { errnoOf, readFully, unreadable, writeAll, type JournalFs, type Place } from "./fs.ts";

/** The file in the journal's directory. */
export const SEGMENT_LIST = "segments.jsonl";

/** What is known of a segment that was finished. Null: not known, for it was there before the list, or is not finished. */
export type SegmentFacts = {
  /** Its length, uncompressed. */
  bytes: number | null;
  /** SHA-256 of its uncompressed bytes, hexadecimal. */
  sha256: string | null;
  /** Size of the compressed file, and its mark; see `SegmentInfo`. */
  fileBytes: number | null;
  mark: string | null;
};

/** A segment of the list. */
export type ListedSegment = SegmentFacts & {
  /** Its file may be elsewhere: somebody said so. */
  away: boolean;
};

/** The list as it was read. */
export type SegmentList = {
  /** By name, in the order in which they were begun. */
  segments: ReadonlyMap<string, ListedSegment>;
  /**
   * Whether it is there and whole. Null: the journal is of an older version, and nothing can be said of what is missing.
   * `lost`: it was lost and begun anew, and nobody has accepted that yet.
   */
  standing: "listed" | "lost" | null;
};

/** A line of the file. `at`: when it was written, ISO 8601 UTC. */
export type ListLine = { at: string } & (
  | { event: "begun" | "dropped" | "away"; segment: string }
  /** It was there when the list was begun, or somebody said that it belongs here. */
  | ({ event: "found" } & { segment: string } & Partial<SegmentFacts>)
  | { event: "finished"; segment: string; bytes: number; sha256: string }
  | { event: "compressed"; segment: string; fileBytes: number; mark: string | null }
  /** The list is whole up to here. `again`: there had been one before. */
  | { event: "listed"; again: boolean }
  /** Somebody knows that it was lost. */
  | { event: "accepted" }
);

const NOTHING: ListedSegment = { bytes: null, sha256: null, fileBytes: null, mark: null, away: false };

/** What the lines of a list come to. Pure. Lines that are no JSON, or of another version, are passed over. */
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
      const before = segments.get(segment) ?? NOTHING;
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
 * Reads the list; an empty one where there is none.
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
    // The end of a line comes before it: what a kill cut short before is no part of this one.
    await writeAll(file, Buffer.from(lines.map((line) => `\n${JSON.stringify(line)}`).join("")), null);
    if (synced) await file.datasync();
  } finally {
    await file.close();
  }
}

/** The segments of a journal, and how to open one in whatever state it is. */
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { endMarkerBytes, GZIP_TRAILER_BYTES, isGzip, isOwnMember, totalOfEndMarker } from "./compressed.ts";
import { errnoOf, nodeFs, readFully, unreadable, type JournalFile, type JournalFs, type Peek } from "./fs.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { readSegmentList, type SegmentList } from "./segmentList.ts";
import { SEGMENT_STATES, segmentFile, segmentOfFile, type SegmentState } from "./segmentName.ts";

export type SegmentInfo = {
  /** The same in every state; the `segment` of a position. */
  name: string;
  path: string;
  state: SegmentState;
  compressed: boolean;
  /**
   * Uncompressed; null when the end of a compressed file is damaged, or when another program has compressed it and the
   * journal's list does not say what it held.
   */
  bytes: number | null;
  /** Of a compressed file: checksum and length of its last record, 16 hexadecimal digits; null when its end is not ours. */
  mark: string | null;
  fileBytes: number;
  /** Epoch ms of the file system's clock. */
  mtimeMs: number;
  /** JOURNAL_UNREADABLE for an unreadable file, whose other facts are unknown then. */
  unreadable: QuotekeeperError | null;
};

/** How many files are looked at before other work has its turn. */
const TOGETHER = 64;

/** The end of a compressed file, which says how much it holds and distinguishes it from others. */
const TAIL_BYTES = endMarkerBytes + GZIP_TRAILER_BYTES;

/** The beginning of a compressed file, which says who wrote it. */
const GZIP_START_BYTES = 16;

/**
 * The segments of a journal, ordered by name, which is by time. A segment that a crash during its compression left in
 * two states is listed once, in the first of them: each of its files is whole. An unreadable segment is listed like the
 * others.
 *
 * @param wanted which of them; no file of the others is opened
 * @returns an empty list when the directory does not exist
 * @throws QuotekeeperError JOURNAL_UNREADABLE when the directory cannot be read
 */
export async function listSegments(
  dir: string,
  fs: JournalFs = nodeFs,
  wanted: (name: string) => boolean = () => true,
): Promise<SegmentInfo[]> {
  const states = new Map<string, SegmentState>();
  for (const file of await filesOf(dir, fs)) {
    const segment = segmentOfFile(file);
    if (segment === null || !wanted(segment.name)) continue;
    const known = states.get(segment.name);
    if (known === undefined || SEGMENT_STATES.indexOf(segment.state) < SEGMENT_STATES.indexOf(known))
      states.set(segment.name, segment.state);
  }
  const names = [...states.keys()].sort();
  const infos: SegmentInfo[] = [];
  const options = { fs, list: listOnce(dir, fs) };
  for (const [place, name] of names.entries()) {
    if (place % TOGETHER === TOGETHER - 1) await setImmediate();
    // It may have left that state: then all states are tried.
    const state = states.get(name) ?? "open";
    const info = (await infoIn(dir, { name, state }, options)) ?? (await segmentInfo(dir, name, fs));
    if (info !== null) infos.push(info);
  }
  return infos;
}

/**
 * Cheaper than listing the segments.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function journalBytes(dir: string, fs: JournalFs = nodeFs): Promise<number> {
  const files = (await filesOf(dir, fs)).filter((file) => segmentOfFile(file) !== null);
  let bytes = 0;
  for (let first = 0; first < files.length; first += TOGETHER) {
    // A file that is gone has been renamed or removed since the directory was read.
    const sizes = files.slice(first, first + TOGETHER).map((file) =>
      fs.stat(join(dir, file)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    bytes += (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }
  return bytes;
}

/** @returns null when there is no such segment */
export async function segmentInfo(
  dir: string,
  name: string,
  fs: JournalFs = nodeFs,
): Promise<SegmentInfo | null> {
  const options = { fs, list: listOnce(dir, fs) };
  // In this order, as in `openSegment`.
  for (const state of SEGMENT_STATES) {
    const info = await infoIn(dir, { name, state }, options);
    if (info !== null) return info;
  }
  return null;
}

type InfoOptions = { fs: JournalFs; list: () => Promise<SegmentList> };

/** Few segments were compressed by another program: the list is read at most once, for the first of them. */
function listOnce(dir: string, fs: JournalFs): () => Promise<SegmentList> {
  let list: Promise<SegmentList> | null = null;
  return () => (list ??= readSegmentList(dir, fs));
}

/** @returns null when the segment is not in that state */
async function infoIn(
  dir: string,
  { name, state }: { name: string; state: SegmentState },
  { fs, list }: InfoOptions,
): Promise<SegmentInfo | null> {
  const path = join(dir, segmentFile(name, state));
  const compressed = state === "compressed";
  const infoOf = (facts: Pick<SegmentInfo, "bytes" | "mark" | "fileBytes" | "mtimeMs">): SegmentInfo => ({
    name,
    path,
    state,
    compressed,
    unreadable: null,
    ...facts,
  });
  try {
    const { size: fileBytes, mtimeMs, tail } = await fs.peek(path, compressed ? TAIL_BYTES : 0);
    if (!compressed) return infoOf({ bytes: fileBytes, mark: null, fileBytes, mtimeMs });
    const end = endOf(tail);
    if (end !== null) return infoOf({ ...end, fileBytes, mtimeMs });
    const listed = (await isPackedAnew(path, fs)) ? (await list()).segments.get(name) : undefined;
    return infoOf({ bytes: listed?.bytes ?? null, mark: null, fileBytes, mtimeMs });
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return null;
    const { size, mtimeMs } = await fs.stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));
    return {
      ...infoOf({ bytes: null, mark: null, fileBytes: size, mtimeMs }),
      unreadable: error instanceof QuotekeeperError ? error : unreadable(path, error),
    };
  }
}

/** The end marker of a compressed file; null when it has none. */
function endOf(tail: Peek["tail"]): { bytes: number; mark: string | null } | null {
  const marker = tail.subarray(Math.max(0, tail.length - endMarkerBytes));
  const bytes = totalOfEndMarker(marker);
  if (bytes === null) return null;
  const before = tail.subarray(0, tail.length - marker.length);
  return { bytes, mark: before.length === GZIP_TRAILER_BYTES ? before.toString("hex") : null };
}

/** Whether another program has compressed the file. */
async function isPackedAnew(path: string, fs: JournalFs): Promise<boolean> {
  const file = await fs.open(path, "r");
  try {
    const start = Buffer.alloc(GZIP_START_BYTES);
    await readFully(file, start, 0);
    return isGzip(start) && !isOwnMember(start);
  } finally {
    await file.close();
  }
}

type OpenedSegment = { file: JournalFile; state: SegmentState; path: string };

/**
 * Opens a segment for reading. The states are tried in the order it passes through them: a segment that has left one is
 * in a later one, so it cannot be missed however fast it is compressed.
 *
 * @returns null when there is no such segment
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function openSegment(dir: string, name: string, fs: JournalFs): Promise<OpenedSegment | null> {
  for (const state of SEGMENT_STATES) {
    const path = join(dir, segmentFile(name, state));
    try {
      return { file: await fs.open(path, "r"), state, path };
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw unreadable(path, error);
    }
  }
  return null;
}

/** None when the directory does not exist. */
export async function filesOf(dir: string, fs: JournalFs): Promise<string[]> {
  try {
    return await fs.readdir(dir);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw unreadable(dir, error);
  }
}

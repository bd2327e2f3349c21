/** Which segments a journal has, and how to open one whatever state it is in. */
import { join } from "node:path";
import { QuotekeeperError } from "../errors.ts";
import { endMarkerBytes, totalOfEndMarker } from "./compressed.ts";
import { errnoOf, nodeFs, readFully, type JournalFile, type JournalFs } from "./fs.ts";
import { SEGMENT_STATES, segmentFile, segmentOfFile, type SegmentState } from "./segment-name.ts";

/** One segment of a journal. */
export type SegmentInfo = {
  /** Its logical name, the same in every state; the `segment` of a position. */
  name: string;
  /** The file that holds it. */
  path: string;
  state: SegmentState;
  compressed: boolean;
  /** Uncompressed size in bytes; null when the end of a compressed file is damaged. */
  bytes: number | null;
  /** Size of the file in bytes. */
  fileBytes: number;
  /** When the file was last written, epoch ms of the file system's clock. */
  mtimeMs: number;
};

/** How many files are looked at together. */
const TOGETHER = 64;

/**
 * The segments of a journal, ordered by name, which is by time. A segment that lies there in two
 * states (a crash between two steps of its compression) is listed once, in the first of them: each
 * of the files is whole.
 *
 * @returns an empty list when the directory does not exist
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function listSegments(dir: string, fs: JournalFs = nodeFs): Promise<SegmentInfo[]> {
  const states = new Map<string, SegmentState>();
  for (const file of await filesOf(dir, fs)) {
    const segment = segmentOfFile(file);
    if (segment === null) continue;
    const known = states.get(segment.name);
    if (known === undefined || SEGMENT_STATES.indexOf(segment.state) < SEGMENT_STATES.indexOf(known))
      states.set(segment.name, segment.state);
  }
  const names = [...states.keys()].sort();
  const infos: SegmentInfo[] = [];
  for (let first = 0; first < names.length; first += TOGETHER) {
    const some = names.slice(first, first + TOGETHER).map((name) => segmentInfo(dir, name, fs));
    infos.push(...(await Promise.all(some)).filter((info) => info !== null));
  }
  return infos;
}

/**
 * Bytes the segments take on disk; cheaper than listing them.
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
  const opened = await openSegment(dir, name, fs);
  if (opened === null) return null;
  const { file, state, path } = opened;
  try {
    const { size, mtimeMs } = await fs.stat(path);
    const compressed = state === "compressed";
    const bytes = compressed ? await uncompressedBytes(file, size) : size;
    return { name, path, state, compressed, bytes, fileBytes: size, mtimeMs };
  } catch (error) {
    // Compressed between the two steps: look again.
    if (errnoOf(error) === "ENOENT") return segmentInfo(dir, name, fs);
    throw unreadable(path, error);
  } finally {
    await file.close();
  }
}

/** A segment's open file and the state it was found in. */
export type OpenedSegment = { file: JournalFile; state: SegmentState; path: string };

/**
 * Opens a segment for reading. The states are tried in the order it passes through them: when one is
 * gone the segment has moved on to a later one, so it cannot be missed however fast it is compressed.
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

/** All file names in the directory; none when it does not exist. */
export async function filesOf(dir: string, fs: JournalFs): Promise<string[]> {
  try {
    return await fs.readdir(dir);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw unreadable(dir, error);
  }
}

/** The error for something of the journal that cannot be read. */
export function unreadable(path: string, cause: unknown): QuotekeeperError {
  return new QuotekeeperError("JOURNAL_UNREADABLE", `${path} cannot be read: ${errnoOf(cause)}`, { cause });
}

async function uncompressedBytes(file: JournalFile, fileBytes: number): Promise<number | null> {
  const marker = Buffer.alloc(endMarkerBytes);
  if (fileBytes < marker.length) return null;
  const count = await readFully(file, marker, fileBytes - marker.length);
  return count < marker.length ? null : totalOfEndMarker(marker);
}

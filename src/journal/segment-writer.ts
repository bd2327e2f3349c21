/** One segment file being written: at most one process has it, from its creation to its closing. */
import { join } from "node:path";
import { writeFrame, type Content } from "./frame.ts";
import { errnoOf, writeAll, type JournalFile, type JournalFs } from "./fs.ts";
import { newSegmentName, segmentFile, segmentHour, segmentId } from "./segment-name.ts";

/** Where a record lies. Offsets are uncompressed and stay true when the segment is compressed. */
export type Position = {
  /** Name of the segment, relative to the journal's directory, without suffix. */
  segment: string;
  /** Where its frame begins. */
  offset: number;
  /** Where the next frame begins. */
  end: number;
};

/** The file is no longer where it was made, so what was just written to it cannot be found. */
export class SegmentGone extends Error {}

/** A segment that takes records. */
export type SegmentWriter = {
  name: string;
  path: string;
  /** The hour it was opened in, see `hourOf`. */
  hour: number;
  /** Bytes on disk. */
  size: () => number;
  /** Writes the records together and resolves when they are on disk. Rejects with the file system's error, or SegmentGone. */
  write: (contents: Content[]) => Promise<Position[]>;
  /** Closes the file and says in its name that nobody appends any more. */
  finish: () => Promise<void>;
  /** After a failed write: takes back what was not acknowledged, as far as that works, and closes. Never rejects. */
  abandon: () => Promise<void>;
};

/**
 * Creates a segment; resolves when its name is on disk.
 *
 * @param nowMs epoch ms
 * @param randomBytes at least 10 random bytes
 */
export async function createSegment(
  { fs, dir }: { fs: JournalFs; dir: string },
  nowMs: number,
  randomBytes: Uint8Array,
): Promise<SegmentWriter> {
  const name = newSegmentName(nowMs, randomBytes);
  const path = join(dir, segmentFile(name, "open"));
  const id = segmentId(name) ?? Buffer.alloc(16);
  const file = await fs.open(path, "wx");
  let size = 0;

  const abandon = async () => {
    // A record whose append was refused must not be read later: its poll is recorded as missed.
    await quietly(file.truncate(size).then(() => file.datasync()));
    await quietly(file.close());
    await quietly(size > 0 ? fs.rename(path, join(dir, segmentFile(name, "closed"))) : fs.unlink(path));
  };

  try {
    await fs.syncDirectory(dir);
  } catch (error) {
    await abandon();
    throw error;
  }
  return {
    name,
    path,
    hour: segmentHour(name) ?? 0,
    size: () => size,
    abandon,
    write: async (contents) => {
      const positions = await writeTogether({ file, name, id }, contents, size);
      const end = positions.at(-1)?.end ?? size;
      if (!(await isThere(fs, path, end))) throw new SegmentGone(path);
      size = end;
      return positions;
    },
    finish: async () => {
      await file.close();
      await fs.rename(path, join(dir, segmentFile(name, "closed")));
    },
  };
}

async function writeTogether(
  { file, name, id }: { file: JournalFile; name: string; id: Uint8Array },
  contents: Content[],
  offset: number,
): Promise<Position[]> {
  const buffer = Buffer.allocUnsafe(contents.reduce((sum, { frameBytes }) => sum + frameBytes, 0));
  const positions: Position[] = [];
  let at = 0;
  for (const content of contents) {
    const end = writeFrame(buffer, at, content, id);
    positions.push({ segment: name, offset: offset + at, end: offset + end });
    at = end;
  }
  await writeAll(file, buffer, offset);
  await file.datasync();
  return positions;
}

/**
 * Whether the file is still in the directory. It is not when somebody removed it, or when this process
 * was stopped so long between deciding to write and writing that another one took the segment for dead
 * and closed it. The closer renames first and reads then, so whatever is written before this check
 * succeeds is in what it reads.
 */
async function isThere(fs: JournalFs, path: string, atLeast: number): Promise<boolean> {
  try {
    return (await fs.stat(path)).size >= atLeast;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

async function quietly(step: Promise<unknown>): Promise<void> {
  await step.catch(() => undefined);
}

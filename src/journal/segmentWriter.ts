/** A segment file that is written: at most one process has it, from its creation to its closing. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { ownerNote } from "../ground/users.ts";
import { writeFrame, type Content } from "./frame.ts";
import { errnoOf, writeAll, type JournalFs } from "./fs.ts";
import { listNewSegment } from "./listNewSegment.ts";
import { appendToList, readSegmentList, SEGMENT_LIST, type SegmentList } from "./segmentList.ts";
import { newSegmentName, segmentFile, segmentHour, segmentId } from "./segmentName.ts";

/** Where a record lies. Offsets are uncompressed and stay true when the segment is compressed. */
export type Position = {
  /** The name without suffix, relative to the journal's directory. */
  segment: string;
  offset: number;
  end: number;
};

type SegmentPlace = {
  fs: JournalFs;
  dir: string;
  clock: Pick<Clock, "now" | "random">;
  /** Hears of a list whose rights shut this writer out: answers are kept all the same, in an unlisted segment. */
  onProblem: (problem: QuotekeeperError) => void;
  /** Segments that the list had before its directory was removed: they are listed again, and so count as missing. */
  lost: SegmentList["segments"];
};

export type SegmentWriter = {
  name: string;
  /** What the journal's list held when the segment was begun; empty where the list cannot be used. */
  listed: SegmentList["segments"];
  path: string;
  /** As `hourOf` counts. */
  hour: number;
  size: () => number;
  /**
   * Writes the records together and resolves when they are on disk. Rejects with the file system's error.
   *
   * @returns null: the file is no longer where it was made, so nobody can find what was just written to it
   */
  write: (contents: Content[]) => Promise<Position[] | null>;
  finish: () => Promise<void>;
  /** After a failed write: removes what was not acknowledged, as far as that works, and closes. Never rejects. */
  abandon: () => Promise<void>;
};

/** Resolves when the segment's name is on disk, in the directory and in the journal's list. */
export async function createSegment(place: SegmentPlace): Promise<SegmentWriter> {
  const { fs, dir, clock } = place;
  const name = newSegmentName(clock.now().getTime(), clock.random(10));
  const path = join(dir, segmentFile(name, "open"));
  const id = segmentId(name) ?? Buffer.alloc(16);
  const file = await fs.open(path, "wx");
  const hash = createHash("sha256");
  const now = () => clock.now().toISOString();
  let size = 0;
  let listed: SegmentList["segments"];

  const abandon = async () => {
    // A record whose append was refused must not be read later: its poll is recorded as missed.
    await quietly(file.truncate(size).then(() => file.datasync()));
    await quietly(file.close());
    // A listed segment that cannot be removed from the list stays, empty; else it would count as missing.
    const goes = size === 0 && (await takenOff(place, name).catch(() => false));
    await quietly(goes ? fs.unlink(path) : fs.rename(path, join(dir, segmentFile(name, "closed"))));
  };

  try {
    await fs.syncDirectory(dir);
    listed = await putOnList(place, name);
  } catch (error) {
    await abandon();
    throw error;
  }
  return {
    name,
    path,
    listed,
    hour: segmentHour(name) ?? 0,
    size: () => size,
    abandon,
    write: async (contents) => {
      const { bytes, positions } = framesOf(contents, { name, id, offset: size });
      await writeAll(file, bytes, size);
      await file.datasync();
      if (!(await isThere(fs, path, size + bytes.length))) return null;
      hash.update(bytes);
      size += bytes.length;
      return positions;
    },
    finish: async () => {
      await file.close();
      await fs.rename(path, join(dir, segmentFile(name, "closed")));
      // After a kill before this line the process that compresses the segment writes it.
      const line = { event: "finished", segment: name, bytes: size, sha256: hash.digest("hex") } as const;
      await appendToList({ dir, fs }, [{ at: now(), ...line }]);
    },
  };
}

/** Takes a segment off the list again. Does not wait for the disk, which refuses work just now. */
async function takenOff({ dir, fs, clock }: SegmentPlace, segment: string): Promise<true> {
  const { segments } = await readSegmentList(dir, fs);
  const line = { at: clock.now().toISOString(), event: "dropped", segment } as const;
  if (segments.has(segment)) await appendToList({ dir, fs }, [line], { synced: false });
  return true;
}

/** @returns what the list held before; nothing where it cannot be used, which is told */
async function putOnList(
  { dir, fs, clock, lost, onProblem }: SegmentPlace,
  segment: string,
): Promise<SegmentList["segments"]> {
  return listNewSegment({ dir, fs }, { segment, known: lost }, clock.now()).catch((error: unknown) => {
    onProblem(barred(error, dir));
    return new Map<string, never>();
  });
}

/** The error for a list that another user's rights keep from us. @throws any other error, such as a full disk */
function barred(error: unknown, dir: string): QuotekeeperError {
  if (error instanceof QuotekeeperError && error.code === "JOURNAL_UNREADABLE") return error;
  if (!["EACCES", "EPERM", "EISDIR"].includes(errnoOf(error))) throw error;
  const path = join(dir, SEGMENT_LIST);
  const detail = `${path} cannot be written: ${errnoOf(error)}${ownerNote(path, error)}`;
  return new QuotekeeperError("JOURNAL_WRITE_FAILED", detail, { cause: error });
}

function framesOf(
  contents: Content[],
  { name, id, offset }: { name: string; id: Uint8Array; offset: number },
): { bytes: Buffer; positions: Position[] } {
  const bytes = Buffer.allocUnsafe(contents.reduce((sum, { frameBytes }) => sum + frameBytes, 0));
  const positions: Position[] = [];
  let at = 0;
  for (const content of contents) {
    const end = writeFrame(bytes, at, content, id);
    positions.push({ segment: name, offset: offset + at, end: offset + end });
    at = end;
  }
  return { bytes, positions };
}

/**
 * Whether the file is still in the directory. It is not when somebody removed it, or when this process was stopped so
 * long between deciding to write and writing that another one closed the segment as abandoned. The closer renames first
 * and reads then, so it reads whatever is written before this check succeeds.
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

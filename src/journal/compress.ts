/**
 * Compresses segments nobody appends to any more. The steps, each of which may be the last before a crash:
 *
 * 1. `x.journal` is renamed to `x.journal.closed` (a writer does that itself when it goes on to the next)
 * 2. members are written to `x.journal.gz.<uuid>.tmp`, synced, read back and compared
 * 3. what it holds is written to the journal's list; then the file is renamed to `x.journal.gz`, the directory synced
 * 4. `x.journal.closed` is removed
 *
 * Between 3 and 4 both files are there and whole; readers take the plain one. Two processes may
 * compress the same segment: each writes its own file aside, and both files are the same.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { compressMember, endMarker, GZIP_TRAILER_BYTES } from "./compressed.ts";
import { errnoOf, reasonOf, readFully, writeAll, type JournalFile, type JournalFs } from "./fs.ts";
import { ownerNote } from "../ground/users.ts";
import { readSegment } from "./reader.ts";
import { appendToList, readSegmentList } from "./segmentList.ts";
import { hourOf, segmentFile, segmentHour, segmentOfFile } from "./segmentName.ts";
import { uuidBytes, uuidv7 } from "./uuid.ts";
import { filesOf } from "./segments.ts";
import { setAside } from "./quarantine.ts";
import { compressedRanges } from "./byteRanges.ts";

/**
 * How long after the end of its hour an open segment counts as abandoned. Its writer appends to it only within the
 * hour; the rest is for a write that was under way when the hour ended. A rule of time, not of process ids, because
 * processes in two containers may share the directory.
 */
const ABANDONED_AFTER_MS = 10 * 60_000;

/** An unfinished file older than this belongs to a process that died. */
const STALE_ASIDE_MS = 60 * 60_000;

/** Damaged bytes are compressed in members of at most this length. */
const DAMAGED_MEMBER_BYTES = 1024 * 1024;

/** Unfinished compressed files, and the files with which `status` tries the disk. A kill leaves them behind. */
const ASIDE = /^(?:.+\.journal\.gz\.|probe-)([0-9a-f-]{36})(?:\.renamed)?\.tmp$/;

type CompressOptions = {
  dir: string;
  fs: JournalFs;
  clock: Clock;
  onProblem: (problem: QuotekeeperError) => void;
  /** Stops between two steps. */
  signal?: AbortSignal;
};

/**
 * Compresses every closed segment, and every abandoned open one.
 *
 * @returns the names of the segments it compressed
 */
export async function compressClosed(options: CompressOptions): Promise<string[]> {
  const { dir, fs, clock, onProblem, signal } = options;
  const files = await filesOf(dir, fs);
  await removeStaleAsides(files, options);

  const done: string[] = [];
  for (const file of files.sort()) {
    const segment = segmentOfFile(file);
    if (signal?.aborted) break;
    if (segment === null || segment.state === "compressed") continue;
    if (segment.state === "open" && !isAbandoned(segment.name, clock.now().getTime())) continue;
    try {
      if (segment.state === "open")
        await fs.rename(join(dir, file), join(dir, segmentFile(segment.name, "closed")));
      if (await compressSegment(segment.name, options)) done.push(segment.name);
    } catch (cause) {
      // Another process has compressed it meanwhile.
      if (errnoOf(cause) === "ENOENT") continue;
      const path = join(dir, file);
      const detail = `${path} cannot be compressed: ${reasonOf(cause)}${ownerNote(path, cause)}`;
      onProblem(new QuotekeeperError("JOURNAL_COMPRESSION_FAILED", detail, { cause }));
    }
  }
  return done;
}

function isAbandoned(name: string, nowMs: number): boolean {
  const hour = segmentHour(name);
  return hour !== null && hour < hourOf(nowMs - ABANDONED_AFTER_MS);
}

/** @returns false when `signal` stopped it */
async function compressSegment(name: string, options: CompressOptions): Promise<boolean> {
  const { dir, fs, clock, signal } = options;
  const plainPath = join(dir, segmentFile(name, "closed"));
  const gzPath = join(dir, segmentFile(name, "compressed"));
  const asidePath = `${gzPath}.${uuidv7(clock.now().getTime(), clock.random(10))}.tmp`;

  const plain = await fs.open(plainPath, "r");
  let written: Summary | null;
  try {
    const aside = await fs.open(asidePath, "wx");
    try {
      written = await compressInto(aside, plain, { ends: await stretches(dir, name, options), signal });
      if (written !== null) await aside.datasync();
    } finally {
      await aside.close();
    }
    if (written !== null) await compare(asidePath, written, fs);
  } catch (error) {
    await fs.unlink(asidePath).catch(() => undefined);
    throw error;
  } finally {
    await plain.close();
  }
  if (written === null) {
    await fs.unlink(asidePath);
    return false;
  }
  const { size } = await fs.stat(asidePath);
  await list(name, { ...written, fileBytes: size }, options);
  await fs.rename(asidePath, gzPath);
  await fs.syncDirectory(dir);
  await fs.unlink(plainPath);
  return true;
}

/**
 * Lists what a compressed segment holds, and what it was finished with where its writer was killed before it could. A
 * journal without a list stays without.
 */
async function list(
  segment: string,
  { total, sum, mark, fileBytes }: Summary & { fileBytes: number },
  { dir, fs, clock }: CompressOptions,
): Promise<void> {
  const { segments, standing } = await readSegmentList(dir, fs);
  const at = clock.now().toISOString();
  const isFinished = (segments.get(segment)?.sha256 ?? null) !== null;
  if (standing === null || !segments.has(segment)) return;
  await appendToList({ dir, fs }, [
    ...(isFinished ? [] : [{ at, event: "finished", segment, bytes: total, sha256: sum } as const]),
    { at, event: "compressed", segment, fileBytes, mark },
  ]);
}

/** The end of each member: of each frame, and of each `DAMAGED_MEMBER_BYTES` of damaged bytes, which it sets aside. */
async function stretches(dir: string, name: string, { fs }: CompressOptions): Promise<number[]> {
  const ends: number[] = [];
  for await (const item of readSegment(dir, name, { fs })) {
    if (item.kind === "unreadable") throw item.error;
    if (item.kind === "record") ends.push(item.end);
    if (item.kind !== "damage") continue;
    await setAside({ dir, fs }, name, item);
    const { offset, length } = item.damage;
    for (let end = offset + DAMAGED_MEMBER_BYTES; end < offset + length; end += DAMAGED_MEMBER_BYTES)
      ends.push(end);
    ends.push(offset + length);
  }
  return ends;
}

type Summary = { total: number; sum: string; mark: string | null };

async function compressInto(
  aside: JournalFile,
  plain: JournalFile,
  { ends, signal }: { ends: readonly number[]; signal: AbortSignal | undefined },
): Promise<Summary | null> {
  const hash = createHash("sha256");
  let offset = 0;
  let position = 0;
  let mark: string | null = null;
  for (const end of ends) {
    if (signal?.aborted) return null;
    const bytes = Buffer.allocUnsafe(end - offset);
    if ((await readFully(plain, bytes, offset)) < bytes.length) throw failed("it became shorter");
    hash.update(bytes);
    const member = await compressMember(bytes, offset);
    await writeAll(aside, member, position);
    mark = member.toString("hex", member.length - GZIP_TRAILER_BYTES);
    position += member.length;
    offset = end;
  }
  await writeAll(aside, endMarker(offset), position);
  return { total: offset, sum: hash.digest("hex"), mark };
}

/** Reads a compressed segment back. @throws QuotekeeperError JOURNAL_COMPRESSION_FAILED when that is not what was compressed */
async function compare(path: string, written: Summary, fs: JournalFs): Promise<void> {
  const file = await fs.open(path, "r");
  try {
    const hash = createHash("sha256");
    let total = 0;
    for await (const span of compressedRanges(file, 0, Number.MAX_SAFE_INTEGER)) {
      if (span.kind !== "bytes") throw failed(`read back damaged at ${span.offset}`);
      hash.update(span.bytes);
      total += span.bytes.length;
    }
    if (total !== written.total || hash.digest("hex") !== written.sum) throw failed("read back different");
  } finally {
    await file.close();
  }
}

function failed(why: string): QuotekeeperError {
  return new QuotekeeperError("JOURNAL_COMPRESSION_FAILED", why);
}

async function removeStaleAsides(files: string[], { dir, fs, clock }: CompressOptions): Promise<void> {
  for (const file of files) {
    const uuid = ASIDE.exec(file)?.[1];
    if (uuid === undefined) continue;
    const madeMs = uuidBytes(uuid).readUIntBE(0, 6);
    if (clock.now().getTime() - madeMs > STALE_ASIDE_MS)
      await fs.unlink(join(dir, file)).catch(() => undefined);
  }
}

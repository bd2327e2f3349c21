/**
 * Copies damaged bytes to `damaged/` in the journal's directory, with a note that says what they are. The segment
 * itself stays as it is, so no offset in the database ever points elsewhere.
 */
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { QuotekeeperError } from "../ground/errors.ts";
import {
  nodeFs,
  readFully,
  reasonOf,
  unreadable,
  writeAll,
  type JournalFile,
  type JournalFs,
  type Place,
} from "./fs.ts";
import type { DamageItem } from "./reader.ts";
import type { Damage, QuarantineNote } from "./journalReports.ts";
import { filesOf, openSegment } from "./segments.ts";
import { CHUNK_BYTES, compressedRanges, plainRanges } from "./byteRanges.ts";

export const DAMAGED_DIR = "damaged";

export type KnownDamage = (segment: string, damage: Damage) => boolean;

/**
 * Reads the notes of what has been set aside. An unreadable note counts as absent.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function knownDamage(dir: string, fs: JournalFs = nodeFs): Promise<KnownDamage> {
  const folder = join(dir, DAMAGED_DIR);
  const files = new Set(await filesOf(folder, fs));
  const known = new Set<string>();
  for (const file of files) {
    if (!file.endsWith(".json")) continue;
    const note = await readNote(join(folder, file), fs);
    if (note !== null && files.has(note.file)) known.add(keyOf(note.segment, note));
  }
  return (segment, damage) => known.has(keyOf(segment, damage));
}

/**
 * Copies damaged bytes; a second call does the same again. A copy is whole before its note exists.
 *
 * @throws QuotekeeperError JOURNAL_WRITE_FAILED or JOURNAL_UNREADABLE
 */
export async function setAside(
  { dir, fs }: Place,
  segment: string,
  item: Pick<DamageItem, "damage" | "inFile">,
): Promise<QuarantineNote> {
  const { damage, inFile } = item;
  const folder = join(dir, DAMAGED_DIR);
  const base = `${segment}-${damage.offset}`;
  try {
    await fs.mkdir(folder);
    const copied = await writeFile(fs, join(folder, `${base}.bin`), damagedBytes({ dir, fs }, segment, item));
    const note = { segment, ...damage, file: `${base}.bin`, ...copied, inCompressedFile: inFile };
    await writeFile(fs, join(folder, `${base}.json`), [Buffer.from(`${JSON.stringify(note, null, 2)}\n`)]);
    return note;
  } catch (cause) {
    if (cause instanceof QuotekeeperError && cause.code === "JOURNAL_UNREADABLE") throw cause;
    const detail = `${join(folder, base)} cannot be written: ${reasonOf(cause)}`;
    throw new QuotekeeperError("JOURNAL_WRITE_FAILED", detail, { cause });
  }
}

async function* damagedBytes(
  { dir, fs }: Place,
  segment: string,
  { damage, inFile }: Pick<DamageItem, "damage" | "inFile">,
): AsyncGenerator<Uint8Array> {
  const opened = await openSegment(dir, segment, fs);
  if (opened === null) throw unreadable(join(dir, segment), "there is no such segment");
  const { file, state } = opened;
  try {
    const spans = state === "compressed" && inFile === null ? compressedRanges : plainRanges;
    const from = inFile?.at ?? damage.offset;
    for await (const span of spans(file, from, from + (inFile?.length ?? damage.length)))
      if (span.kind === "bytes") yield span.bytes;
  } finally {
    await file.close();
  }
}

/** Writes and syncs a file under another name, then renames it. */
async function writeFile(
  fs: JournalFs,
  path: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<{ fileBytes: number; sha256: string }> {
  // A crash may have left one.
  await fs.unlink(`${path}.tmp`).catch(() => undefined);
  const file = await fs.open(`${path}.tmp`, "wx");
  const hash = createHash("sha256");
  let fileBytes = 0;
  try {
    for await (const piece of pieces) {
      await writeAll(file, piece, fileBytes);
      hash.update(piece);
      fileBytes += piece.length;
    }
    await file.datasync();
  } finally {
    await file.close();
  }
  await fs.rename(`${path}.tmp`, path);
  await fs.syncDirectory(dirname(path));
  return { fileBytes, sha256: hash.digest("hex") };
}

async function readNote(path: string, fs: JournalFs): Promise<QuarantineNote | null> {
  let file: JournalFile | null = null;
  try {
    file = await fs.open(path, "r");
    const bytes = Buffer.alloc(CHUNK_BYTES);
    const note: unknown = JSON.parse(bytes.toString("utf8", 0, await readFully(file, bytes, 0)));
    return typeof note === "object" && note !== null ? (note as QuarantineNote) : null;
  } catch {
    return null;
  } finally {
    await file?.close();
  }
}

function keyOf(segment: string, { offset, length }: { offset: number; length: number }): string {
  return `${segment} ${offset} ${length}`;
}

/** Reads a segment's records in order, in every state, also while it is written. */
import { QuotekeeperError } from "../ground/errors.ts";
import { FRAME_HEADER_BYTES } from "./frame.ts";
import { nodeFs, unreadable, type JournalFs } from "./fs.ts";
import type { Damage } from "./journalReports.ts";
import { FrameScanner, type FoundRecord } from "./scanner.ts";
import { segmentId } from "./segmentName.ts";
import { openSegment } from "./segments.ts";
import { compressedRanges, plainRanges } from "./byteRanges.ts";

/** `inFile`: the damaged bytes of a compressed file that is itself damaged. */
export type DamageItem = {
  kind: "damage";
  damage: Damage;
  inFile: { at: number; length: number } | null;
};

/**
 * The last item. A later read may go on at `end`. In a segment that may still be written, `tail` is what lies behind
 * `end` and is not whole: not yet, or never, when the writer has died.
 */
type EndItem = { kind: "end"; end: number; tail: Damage | null };

/** Instead of the end: the file cannot be read, or not from here on. The items before it are whole. */
type UnreadableItem = { kind: "unreadable"; error: QuotekeeperError };

type JournalItem = FoundRecord | DamageItem | EndItem | UnreadableItem;

/** Offsets are uncompressed and mean the same in every state. */
type ReadOptions = {
  /** 0 or an earlier `end`. */
  from?: number;
  until?: number;
  fs?: JournalFs;
  /** Whether an absent segment counts as empty: a writer removes one that it could not begin. Default: an error. */
  mayBeGone?: boolean;
  /** Hears all bytes that are read, in order, but not those of holes in a compressed file. */
  onBytes?: (bytes: Uint8Array) => void;
};

/**
 * Reads one segment, at most a few MB of it at a time, and nothing while the caller is busy. An unreadable file is an
 * item: like a damaged record it costs itself alone, and readers of many segments go on.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE when there is no such segment and `mayBeGone` is false
 */
export async function* readSegment(
  dir: string,
  name: string,
  { from = 0, until = Number.MAX_SAFE_INTEGER, fs = nodeFs, mayBeGone = false, onBytes }: ReadOptions = {},
): AsyncGenerator<JournalItem, void, undefined> {
  const id = segmentId(name);
  const opened = id === null ? null : await openSegment(dir, name, fs).catch(namedError);
  if (opened instanceof QuotekeeperError) {
    yield { kind: "unreadable", error: opened };
    return;
  }
  if (mayBeGone && id !== null && opened === null) {
    yield { kind: "end", end: from, tail: null };
    return;
  }
  if (id === null || opened === null)
    throw new QuotekeeperError("JOURNAL_UNREADABLE", `there is no segment ${name} in ${dir}`);

  try {
    const scanner = new FrameScanner(id, from);
    const spans = (opened.state === "compressed" ? compressedRanges : plainRanges)(opened.file, from, until);
    let end = from;
    for await (const span of spans) {
      if (span.kind === "bytes") {
        onBytes?.(span.bytes);
        yield* scanner.push(span.bytes).map(withPlace);
        end = span.offset + span.bytes.length;
        continue;
      }
      const { items, tail } = scanner.finish();
      yield* items.map(withPlace);
      if (tail !== null) yield { kind: "damage", damage: tail, inFile: null };
      const { offset, length, inFile } = span;
      const reason = span.kind === "hole" ? "damaged_compression" : "behind_end";
      yield { kind: "damage", damage: { offset, length, reason }, inFile };
      end = offset + length;
      scanner.resume(end);
    }

    const last = scanner.finish();
    yield* last.items.map(withPlace);
    const final = opened.state !== "open" && until === Number.MAX_SAFE_INTEGER;
    if (final && last.tail !== null) yield { kind: "damage", damage: last.tail, inFile: null };
    yield final ? { kind: "end", end, tail: null } : { kind: "end", end: last.end, tail: last.tail };
  } catch (error) {
    yield { kind: "unreadable", error: unreadable(opened.path, error) };
  } finally {
    await opened.file.close();
  }
}

/** @returns an error of ours: the caller goes on without the file. @throws any other */
export function namedError(error: unknown): QuotekeeperError {
  if (error instanceof QuotekeeperError) return error;
  throw error;
}

function withPlace(item: FoundRecord | { kind: "damage"; damage: Damage }): FoundRecord | DamageItem {
  return item.kind === "record" ? item : { ...item, inFile: null };
}

/**
 * The first bytes of a segment, as many as a frame's header has; fewer when it holds fewer.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function readStart(dir: string, name: string, fs: JournalFs): Promise<Buffer> {
  const opened = await openSegment(dir, name, fs);
  if (opened === null) return Buffer.alloc(0);
  const spans = opened.state === "compressed" ? compressedRanges : plainRanges;
  try {
    for await (const span of spans(opened.file, 0, FRAME_HEADER_BYTES))
      if (span.kind === "bytes" && span.offset === 0) return Buffer.from(span.bytes);
    return Buffer.alloc(0);
  } catch (error) {
    throw unreadable(opened.path, error);
  } finally {
    await opened.file.close();
  }
}

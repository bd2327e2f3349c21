/**
 * Finds the frames in a segment's bytes, whatever happened to them. Pure: bytes in, items out.
 *
 * States and moves:
 * - in step: the next byte is where a frame should begin. A whole frame that holds is an item, and
 *   the scanner stays in step behind it; anything else makes it search.
 * - searching: looks for the next header that proves itself. All bytes up to there are one damage,
 *   then it is in step again. A header that proves itself is a frame's true beginning even when its
 *   content does not hold, so each damaged frame is a damage of its own.
 */
import {
  contentHolds,
  FRAME_HEADER_BYTES,
  FRAME_MAGIC,
  readHeader,
  recordOf,
  type HeaderProblem,
} from "./frame.ts";
import type { Damage, DamageReason } from "./journalReports.ts";
import type { JournalRecord } from "./record.ts";

/** A record and where its frame lies: the next one begins at `end`. */
export type FoundRecord = { kind: "record"; record: JournalRecord; offset: number; end: number };

type ScanItem = FoundRecord | { kind: "damage"; damage: Damage };

type Search = { from: number; why: HeaderProblem | "content" | "cut"; claimedEnd: number | null };

export class FrameScanner {
  readonly #segmentId: Uint8Array;
  #buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  /** Offset in the segment of the buffer's first byte. */
  #base: number;
  #search: Search | null = null;

  /**
   * @param segmentId the id its frames carry
   * @param from offset in the segment of the first byte that will be pushed
   */
  constructor(segmentId: Uint8Array, from: number) {
    this.#segmentId = segmentId;
    this.#base = from;
  }

  /** Adds the next bytes of the segment and returns the items they complete. The bytes are copied. */
  push(bytes: Uint8Array): ScanItem[] {
    this.#take(bytes);
    return this.#scan(false);
  }

  /**
   * Ends the segment, or a part of it that can be read in one go.
   *
   * @returns the last items, and the bytes behind the last whole frame, if any: a damage, or, in a segment that is
   *   still written, not whole yet
   */
  finish(): { items: ScanItem[]; tail: Damage | null; end: number } {
    const items = this.#scan(true);
    const total = this.#base + this.#end;
    const from = this.#search?.from ?? this.#base + this.#at;
    return { items, tail: from < total ? this.#tail(from, total) : null, end: from };
  }

  /** Goes on at `offset`, in step; everything before it has been finished. */
  resume(offset: number): void {
    this.#at = this.#end = 0;
    this.#base = offset;
    this.#search = null;
  }

  #take(bytes: Uint8Array): void {
    const kept = this.#end - this.#at;
    if (this.#end + bytes.length > this.#buffer.length) {
      const room =
        kept + bytes.length > this.#buffer.length ? 2 * (kept + bytes.length) : this.#buffer.length;
      const target = room === this.#buffer.length ? this.#buffer : Buffer.allocUnsafeSlow(room);
      this.#buffer.copy(target, 0, this.#at, this.#end);
      this.#buffer = target;
      this.#base += this.#at;
      this.#at = 0;
      this.#end = kept;
    }
    this.#buffer.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #scan(atEnd: boolean): ScanItem[] {
    const items: ScanItem[] = [];
    for (;;) {
      const item = this.#search === null ? this.#step(atEnd) : this.#seek(this.#search);
      if (item === "more") return items;
      if (item !== "searching") items.push(item);
    }
  }

  /** In step: one frame, or the beginning of a search, or a need for more bytes. */
  #step(atEnd: boolean): ScanItem | "more" | "searching" {
    const held = this.#end - this.#at;
    if (held < FRAME_HEADER_BYTES) return "more";
    const offset = this.#base + this.#at;
    const header = readHeader(this.#buffer, this.#at, this.#segmentId);
    const claimedEnd = header.frameBytes === null ? null : offset + header.frameBytes;
    if (header.problem !== null) return this.#lose({ from: offset, why: header.problem, claimedEnd });
    if (held < header.frameBytes)
      return atEnd ? this.#lose({ from: offset, why: "cut", claimedEnd }) : "more";
    if (!contentHolds(this.#buffer, this.#at, header.frameBytes))
      return this.#lose({ from: offset, why: "content", claimedEnd });

    const record = recordOf(this.#buffer, this.#at, header);
    this.#at += header.frameBytes;
    if (record === null)
      return { kind: "damage", damage: { offset, length: header.frameBytes, reason: "unknown_record" } };
    return { kind: "record", record, offset, end: offset + header.frameBytes };
  }

  #lose(search: Search): "searching" {
    this.#search = search;
    this.#at += 1;
    return "searching";
  }

  /** Searching: the damage up to the next header that proves itself, or a need for more bytes. */
  #seek(search: Search): ScanItem | "more" {
    const held = this.#buffer.subarray(0, this.#end);
    for (;;) {
      const found = held.indexOf(FRAME_MAGIC, this.#at);
      if (found === -1) {
        // The end of these bytes may cut the magic.
        this.#at = Math.max(this.#at, this.#end - FRAME_MAGIC.length + 1);
        return "more";
      }
      this.#at = found;
      if (this.#end - found < FRAME_HEADER_BYTES) return "more";
      if (readHeader(held, found, this.#segmentId).problem === null) break;
      this.#at += 1;
    }
    const end = this.#base + this.#at;
    this.#search = null;
    return {
      kind: "damage",
      damage: { offset: search.from, length: end - search.from, reason: reasonOf(search, end) },
    };
  }

  #tail(from: number, total: number): Damage {
    const rest = this.#buffer.subarray(this.#at, this.#end);
    const reason =
      this.#search !== null && this.#search.why !== "cut"
        ? reasonOf(this.#search, total)
        : this.#search === null && rest.every((byte) => byte === 0)
          ? "zeroed"
          : "torn_tail";
    return { offset: from, length: total - from, reason };
  }
}

function reasonOf({ why, claimedEnd }: Search, end: number): DamageReason {
  switch (why) {
    case "zeroed":
    case "foreign":
    case "unknown_version":
      return why;
    case "no_magic":
      return "bad_header";
    case "header_sum":
      return claimedEnd === end ? "bad_checksum" : "bad_length";
    case "content":
    case "cut":
      return "damaged_body";
  }
}

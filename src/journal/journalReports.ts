/** What is told of a journal's health: `quotekeeper journal list|verify|accept|repair` print it with `--json`. */
import { z } from "zod";

const count = z.int().nonnegative();

const state = z.enum(["open", "closed", "compressed"]);

const reason = z.enum([
  "torn_tail",
  "bad_header",
  "bad_length",
  "bad_checksum",
  "damaged_body",
  "zeroed",
  "foreign",
  "unknown_version",
  "unknown_record",
  "damaged_compression",
  "behind_end",
]);

const place = z.strictObject({
  at: count,
  length: count,
});

/** Bytes of a segment that hold no readable record. */
const damage = z.strictObject({
  offset: count,
  length: count,
  reason: reason,
});

export const journalListJson = z.array(
  z.strictObject({
    name: z.string(),
    state,
    bytes: count.nullable(),
    fileBytes: count,
    writtenAt: z.iso.datetime(),
  }),
);

export const journalVerifyJson = z.strictObject({
  segments: z.array(
    z.strictObject({
      name: z.string(),
      state,
      bytes: count,
      records: count,
      damages: z.array(
        z.strictObject({
          damage: damage,
          inFile: place.nullable(),
          isSetAside: z.boolean(),
        }),
      ),
      unfinished: damage.nullable(),
    }),
  ),
  records: count,
  bytes: count,
  damages: z.strictObject({
    setAside: count,
    fresh: count,
  }),
  findings: z.array(
    z.strictObject({
      segment: z.string(),
      problem: z.enum(["missing", "foreign", "reordered", "altered", "unreadable", "list_lost"]),
      detail: z.string(),
    }),
  ),
  // Journals of older versions have none until something is appended.
  listed: z.boolean(),
  strangers: z.array(z.string()),
});

export const journalAcceptJson = z.strictObject({
  accepted: z.array(
    z.strictObject({
      segment: z.string(),
      as: z.enum(["away", "begun"]),
    }),
  ),
});

export const journalRepairJson = z.strictObject({
  records: count,
  setAside: z.array(
    z.strictObject({
      segment: z.string(),
      offset: count,
      length: count,
      reason: reason,
      file: z.string(),
      fileBytes: count,
      sha256: z.string(),
      inCompressedFile: place.nullable(),
    }),
  ),
  strangers: z.array(z.string()),
});

export type Damage = z.infer<typeof damage>;

/**
 * What happened to bytes of a segment, as far as can be known:
 * - `torn_tail`: the segment ends inside a frame
 * - `bad_header`: no magic where a frame should begin
 * - `bad_length`: the lengths in the header, or its own checksum, are damaged
 * - `bad_checksum`: one of the header's checksums is damaged, its lengths are right
 * - `damaged_body`: the header holds; head or body of the record do not
 * - `zeroed`: zeros where a frame should begin
 * - `foreign`: a frame of another segment
 * - `unknown_version`, `unknown_record`: undamaged, from another version of this program
 * - `damaged_compression`: the bytes cannot be decompressed
 * - `behind_end`: bytes in a compressed file behind the segment's end
 */
export type DamageReason = Damage["reason"];
export type JournalReport = z.infer<typeof journalVerifyJson>;
export type SegmentReport = JournalReport["segments"][number];

/**
 * What is wrong with a journal as a whole:
 * - `missing`: a segment of the list has no file
 * - `foreign`: a segment is not in the list
 * - `reordered`: a file has the name of another segment than the one it holds
 * - `altered`: a segment can be read, and is not what was written
 * - `unreadable`: a file cannot be read
 * - `list_lost`: the list is or was absent, and nobody knows what went missing before the present one was begun
 */
export type Finding = JournalReport["findings"][number];

/** `<segment>-<offset>.json`, next to the copy. */
export type QuarantineNote = z.infer<typeof journalRepairJson>["setAside"][number];

export type Acceptance = z.infer<typeof journalAcceptJson>["accepted"][number];

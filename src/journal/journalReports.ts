/** What is told of a journal's health: `quotekeeper journal list|verify|accept|repair` print it with `--json`. */
import { z } from "zod";

const count = z.int().nonnegative();

const state = z
  .enum(["open", "closed", "compressed"])
  .describe("`open`: may still be written. `closed`: no longer. `compressed`: proved and compressed.");

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
  at: count.describe("Offset in the file."),
  length: count.describe("Length there."),
});

/** Bytes of a segment that hold no readable record. */
const damage = z.strictObject({
  offset: count.describe("Offset in the uncompressed segment."),
  length: count.describe("Length in bytes."),
  reason: reason.describe("What is wrong, see docs/journal-damage.md."),
});

export const journalListJson = z
  .array(
    z.strictObject({
      name: z.string().describe("Name of the segment."),
      state,
      bytes: count
        .nullable()
        .describe(
          "Uncompressed size; null when the end of a compressed file is damaged, or the file cannot be read.",
        ),
      fileBytes: count.describe("Size of the file."),
      writtenAt: z.iso.datetime().describe("When the file was last written."),
    }),
  )
  .describe("The segments, oldest first.");

export const journalVerifyJson = z.strictObject({
  segments: z
    .array(
      z.strictObject({
        name: z.string().describe("Name of the segment."),
        state,
        bytes: count.describe("Uncompressed bytes read."),
        records: count.describe("Whole records."),
        damages: z
          .array(
            z.strictObject({
              damage: damage.describe("The stretch."),
              inFile: place.nullable().describe("Where it lies in a compressed file that cannot be read."),
              isSetAside: z.boolean().describe("Whether a copy of it has been set aside."),
            }),
          )
          .describe("Stretches that hold no record."),
        unfinished: damage.nullable().describe("What a writer seems to be writing just now; no damage."),
      }),
    )
    .describe("The segments, oldest first."),
  records: count.describe("Whole records of all segments."),
  bytes: count.describe("Uncompressed bytes of all segments."),
  damages: z
    .strictObject({
      setAside: count.describe("Those that have been set aside."),
      fresh: count.describe("Those that have not; the exit code is 1 then."),
    })
    .describe("Damaged stretches of all segments."),
  findings: z
    .array(
      z.strictObject({
        segment: z
          .string()
          .describe(
            "Name of the segment; `segments.jsonl`: the list of segments; `damaged`: the folder of set aside damage.",
          ),
        problem: z
          .enum(["missing", "foreign", "reordered", "altered", "unreadable", "list_lost"])
          .describe("What is wrong, see docs/journal-damage.md."),
        detail: z.string().describe("What was expected or found."),
      }),
    )
    .describe(
      "Segments that are missing, cannot be read or should not be there; the exit code is 1 when there are any.",
    ),
  // Journals of older versions have none until something is appended.
  listed: z
    .boolean()
    .describe("Whether the journal has a list of its segments; without one none of them can be missed."),
  strangers: z
    .array(z.string())
    .describe("Files that look like segments and are none; the exit code is 1 when there are any."),
});

export const journalAcceptJson = z.strictObject({
  accepted: z
    .array(
      z.strictObject({
        segment: z.string().describe("Name of the segment; `segments.jsonl`: the list of segments."),
        as: z
          .enum(["away", "begun"])
          .describe("`away`: its file is gone for good, or elsewhere. `begun`: the list was begun anew."),
      }),
    )
    .describe("What was accepted."),
});

export const journalRepairJson = z.strictObject({
  records: count.describe("Whole records of all segments."),
  setAside: z
    .array(
      z.strictObject({
        segment: z.string().describe("Name of the segment."),
        offset: count.describe("Offset of the stretch in the uncompressed segment."),
        length: count.describe("Its length in bytes."),
        reason: reason.describe("What is wrong, see docs/journal-damage.md."),
        file: z.string().describe("File name of the copy."),
        fileBytes: count.describe("Size of the copy."),
        sha256: z.string().describe("SHA-256 of the copy."),
        inCompressedFile: place
          .nullable()
          .describe("Where it lies in a compressed file that cannot be read."),
      }),
    )
    .describe("What was set aside in this run."),
  strangers: z
    .array(z.string())
    .describe("Files that look like segments but are not; the exit code is 1 when there are any."),
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

export type Accepted = z.infer<typeof journalAcceptJson>["accepted"][number];

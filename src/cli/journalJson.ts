/** What `quotekeeper journal list|verify|accept|repair` print with `--json`. */
import { z } from "zod";
import { count, instant } from "../run/jsonWords.ts";

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
      writtenAt: instant.describe("When the file was last written."),
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
          .enum(["away", "here", "begun"])
          .describe(
            "`away`: its file may be elsewhere. `here`: it belongs to this journal as it is. `begun`: the list was begun anew.",
          ),
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

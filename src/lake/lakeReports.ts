/** What became of a lake: `quotekeeper lake`, `lake verify` and `lake restore` print it with `--json`. */
import { z } from "zod";

const count = z.int().nonnegative();
const date = z.iso.date();
const period = { from: z.string().describe("UTC"), to: z.string().describe("UTC") };

const missing = z
  .array(date)
  .describe("Dates of which quotes were dropped, and which the lake does not have; the exit code is 1.");

const written = z.strictObject({
  written: z.array(date).describe("Exchange dates written for the first time."),
  rewritten: z.array(date).describe("Dates written again, because rows came late or were changed."),
  kept: z
    .array(date)
    .describe("Dates of which the archive has fewer quotes than the lake: those files stay as they are."),
  waiting: z
    .array(date)
    .describe("Dates that wait for the next run, because bars of theirs are still to be made."),
  missing,
  leftOut: z
    .array(
      z.strictObject({
        date: date.nullable().describe("null: of a table that has no date."),
        table: z.string(),
        why: z.string(),
      }),
    )
    .describe("Tables with a value that no file can have: that file was not written, and all others were."),
  files: count.describe("Files written."),
  rows: count.describe("Rows in them."),
  bytes: count.describe("Their bytes."),
  through: date.nullable().describe("The last date that the lake has; null: it has none."),
});

const dropped = z.strictObject({
  dropped: z
    .array(z.strictObject({ ...period, quotes: count.describe("Quotes in it.") }))
    .describe("Stretches of time whose quotes only the lake has from now on."),
  notDropped: z
    .array(z.strictObject({ ...period, why: z.string() }))
    .describe("Stretches that are old enough and stay in the database, and why."),
});

const verified = z.strictObject({
  dates: count.describe("Exchange dates that have a manifest."),
  files: count.describe("Files read."),
  rows: count.describe("Rows that the manifests name."),
  bytes: count.describe("Bytes that the manifests name."),
  unfinished: z
    .array(date)
    .describe(
      "Dates of which a run was cut short. Nothing is wrong with them: the next `quotekeeper lake` goes on there.",
    ),
  faults: z
    .array(z.strictObject({ path: z.string().describe("Below the directory."), what: z.string() }))
    .describe("What is not as the manifests have it; the exit code is 1 when there is any."),
});

const restored = z.strictObject({
  dates: z.array(date).describe("Exchange dates that are whole again."),
  missing,
  rows: z
    .strictObject({ quotes: count, extended_quotes: count })
    .describe("Rows that were not in the archive, by table."),
});

export type LakeReport = z.infer<typeof written>;
export type DropReport = z.infer<typeof dropped>;
export type VerifyReport = z.infer<typeof verified>;
export type RestoreReport = z.infer<typeof restored>;

const out = z.string().describe("The lake's directory.");

export const lakeJson = z.strictObject({ out, ...written.shape, ...dropped.shape });
export const lakeVerifyJson = z.strictObject({ out, ...verified.shape });
export const lakeRestoreJson = z.strictObject({ out, ...restored.shape });

/** The JSON of `backfill`. */
import { z } from "zod";
import { count, instant } from "../../run/jsonWords.ts";

const deadLetters = z
  .array(
    z.strictObject({
      reason: z.string().describe("As in the table dead_letters."),
      count: count.describe("How many."),
      example: z.string().describe("The first of them: its instrument, and what is wrong with it."),
    }),
  )
  .describe("What could not become rows, by reason; notes of the ledger as well, which are no quotes.");

/** `backfill --json` of every source that adds rows. */
export const backfillJson = z
  .strictObject({
    kind: z.enum(["journal", "xml", "csv", "parquet", "sweep"]).describe("The source."),
    dryRun: z.boolean().describe("Nothing was changed: the numbers are what would be."),
    resumed: z.boolean().describe("An earlier run was ended in its midst; the numbers are of both."),
    report: z.strictObject({
      answers: count.describe("Answers, or pieces of a file, that were read."),
      newAnswers: count.describe("Those of them that were not in the archive."),
      read: count.describe("Quotes that were read: stored + repeated + deadLettered."),
      stored: count.describe("Quotes that are new in the archive."),
      repeated: count.describe("Quotes that were in the archive already."),
      deadLettered: count.describe("Quotes that could not become rows."),
      deadLetters,
      missing: count.describe("Instruments asked for of which the answer holds no quote."),
      dividends: count.describe("Dividends that are new."),
      slots: count.describe("Slots of the ledger that are new."),
      filled: count.describe("Instruments of slots that were missed before and are filled now."),
      replaced: count.describe("Quotes that were taken out to be put in anew."),
      damagedBytes: count.describe("Bytes that could not be read."),
      cutTimes: count.describe("Times of imported rows that said more than microseconds."),
      cutFractions: count.describe("Counts of imported rows of which the fraction was cut off."),
    }),
    remarks: z.array(z.string()).describe("What else there is to know, in words."),
  })
  .describe("Of every source that adds rows:");

const hole = z.strictObject({
  job: z.string().describe("Name of the job."),
  date: z.string().describe("Exchange date."),
  source: z.string().describe("Kind of the source that was polled."),
  reason: z.string().describe("Why it was missed."),
  from: instant.describe("First slot."),
  to: instant.describe("Last slot."),
  slots: count.describe("Slots with such misses."),
  instruments: count.describe("Different instruments."),
  misses: count.describe("Instruments missed, summed over the slots."),
});

/** `backfill --gaps --json`. */
export const gapsJson = z
  .strictObject({
    dryRun: z.boolean().describe("Nothing was changed: the numbers are what would be."),
    holes: z.array(hole).describe("The holes of the ledger as they were, oldest first."),
    stored: count.describe("Quotes of the journal that the archive had not."),
    deadLetters,
    filled: count.describe("Misses that are filled now; the table fills says by what."),
    derived: count.describe("Closes that are new in derived_closes."),
    left: z.array(hole).describe("The holes that are left."),
  })
  .describe("With `--gaps`:");

/** `backfill --json`, with and without `--gaps`. */
export const backfillOrGapsJson = z.union([backfillJson, gapsJson]);

/** What `poll --json` and `coverage --json` print. */
import { z } from "zod";
import { count, countsByName, decimalText, exchangeDay, instant } from "../../run/jsonWords.ts";

const price = decimalText.nullable();

const quoteLine = z.strictObject({
  instrument: z.string().describe("`AAPL`, or a contract such as `AAPL:2026-12-18:CALL:150`."),
  description: z.string().nullable().describe("The service's words for it."),
  source: z.enum(["account", "simulated", "import"]).describe("Where the quote comes from."),
  delayed: z.boolean().describe("Whether a delayed quote was asked for."),
  observedAt: instant.describe("When its answer arrived."),
  bid: price.describe("Bid; null when the service sent none, as everywhere."),
  ask: price.describe("Ask."),
  last: price.describe("Last trade."),
  change: price.describe("Change since the previous close."),
  pctChange: price.describe("The same in percent."),
  bidSize: price.describe("Size at the bid."),
  askSize: price.describe("Size at the ask."),
  volume: price.describe("Volume of the day."),
  delta: price.describe("Delta of a contract."),
});

/** `poll --json`. */
export const pollJson = z.strictObject({
  quotes: z.array(quoteLine).describe("The quotes that were stored; prices are decimal text."),
  errors: z
    .array(
      z.strictObject({
        code: z.string().describe("Code of the error, see docs/errors.md."),
        message: z.string().describe("What is wrong and what to do."),
      }),
    )
    .describe("What was asked for and is not there; the exit code is 1 then."),
});

/** `coverage --json`. */
export const coverageJson = z
  .array(
    z.strictObject({
      date: exchangeDay.describe("Day of the exchange."),
      source: z.enum(["account", "simulated"]).describe("Which market it was polled from."),
      instrument: z.string().describe("The instrument."),
      expected: count.describe("Slots at which it was due; `stored` + `missed`."),
      stored: count.describe("Those at which its quote was stored."),
      missed: count.describe("Those at which it was not; the exit code is 1 when there are any."),
      reasons: countsByName.describe("How often it was missed, by reason."),
    }),
  )
  .describe("A row for each instrument and day, the worst first.");

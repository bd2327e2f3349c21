/** What `plan --json`, `calendar --json` and `jobs check --json` print. */
import { z } from "zod";
import { count, date, exchangeDay } from "../../run/jsonWords.ts";

/** `plan --json`. */
export const planJson = z.strictObject({
  date: exchangeDay.describe("The day that was planned."),
  limit: count.describe("Calls that the account may make in a window."),
  windowMs: count.describe("Length of the window in ms."),
  slots: z
    .array(
      z.strictObject({
        at: date.describe("The slot."),
        calls: count.describe("Calls that fall due."),
        doneMs: z
          .number()
          .nullable()
          .describe("When the last of them leaves, in ms after the slot; null when some never do."),
      }),
    )
    .describe("Every slot of the day."),
  jobs: z
    .array(
      z.strictObject({
        job: z.string().describe("Name of the job."),
        slots: count.describe("Its slots of the day."),
        instruments: count.describe("Instruments due at its fullest slot."),
        due: count.describe("Instruments due over the day."),
        starved: count.describe("Those of them that no call reaches in time."),
      }),
    )
    .describe("Each job's part."),
  batches: z.array(z.string()).describe("The calls of the fullest slot, the most urgent first."),
  callsPerPass: count.describe("How many those are."),
  passMs: z.number().describe("Time they take at the pace of the limit, in ms."),
  fullPassMs: z
    .number()
    .nullable()
    .describe(
      "When everything has been asked once, in ms after the first slot; null when something never is.",
    ),
  fits: z.boolean().describe("Whether the calls are within the limit; the exit code is 0 then, else 1."),
  missedAtReach: count.describe(
    "Instruments over the day that would be missed although the calls fit, because no pace reaches the last percent of the limit.",
  ),
  starving: z.array(z.string()).describe("The jobs that do not fit."),
  fitsEveryMs: z
    .number()
    .nullable()
    .describe("The shortest interval that fits, in ms; null when an hour is too short."),
  priceless: z
    .array(z.string())
    .describe("Underlyings whose chains were not counted: the archive has no price of theirs yet."),
});

/** `calendar --json`. */
export const calendarJson = z
  .array(
    z.strictObject({
      date: exchangeDay.describe("Day of the exchange."),
      kind: z.enum(["regular", "early", "closed"]).describe("Kind of the day."),
      pre: date.nullable().describe("When the pre-market begins; null on a closed day."),
      open: date.nullable().describe("When the regular session begins."),
      close: date.nullable().describe("When it ends."),
      post: date.nullable().describe("When the post-market ends."),
      reason: z.string().nullable().describe("Why the day is not a usual one."),
    }),
  )
  .describe("A row for each session, with `--closed` for each day.");

const contract = z.strictObject({
  underlying: z.string().describe("Symbol of the underlying."),
  expiration: z.iso.date().describe("Expiration date."),
  optionType: z.enum(["CALL", "PUT"]).describe("Kind of the contract."),
  strike: z.string().describe("Strike price, decimal text."),
});

const chain = z.strictObject({
  underlying: z.string().describe("Symbol of the underlying."),
  expirations: z
    .union([z.strictObject({ next: count, kind: z.enum(["monthly", "weekly"]) }), z.array(z.iso.date())])
    .describe("The next expirations, or their dates."),
  strikes: z
    .union([
      z.strictObject({ around: z.literal("last"), percent: z.string(), step: z.string() }),
      z.array(z.string()),
    ])
    .describe("Strikes around the last price, or the strikes themselves."),
  types: z.array(z.enum(["CALL", "PUT"])).describe("Kinds of the contracts."),
});

/** `jobs check --json`. */
export const jobsCheckJson = z.strictObject({
  jobs: z
    .array(
      z.strictObject({
        name: z.string().describe("Name of the job."),
        file: z.string().describe("The file it comes from."),
        schedule: z.string().describe("Cron expression."),
        timezone: z.string().describe("IANA time zone of the schedule."),
        session: z.enum(["pre", "regular", "post", "any", "always"]).describe("Part of the trading day."),
        delayed: z.boolean().describe("Whether delayed quotes are asked for."),
        priority: z.int().describe("Higher before lower."),
        symbols: z.array(z.string()).readonly().describe("Its symbols."),
        symbolsFile: z.string().nullable().describe("The file they come from."),
        watchlist: z.string().nullable().describe("Id of its watchlist."),
        options: z.array(contract).readonly().describe("Its single contracts."),
        chains: z.array(chain).describe("Its chains."),
      }),
    )
    .describe("The jobs that are right."),
  calendar: z
    .array(
      z.strictObject({
        date: exchangeDay.describe("Day of the exchange."),
        kind: z.enum(["closed", "early", "regular"]).describe("What the operator says it is."),
        close: z.string().optional().describe("When its session ends, HH:MM in New York."),
        reason: z.string().optional().describe("Why."),
      }),
    )
    .describe("The days of `jobs/calendar.yaml`."),
  problems: z
    .array(
      z.strictObject({
        file: z.string().describe("The file."),
        line: count.describe("The line, counted from 1."),
        message: z.string().describe("What is wrong there."),
      }),
    )
    .describe("Everything that is wrong; the exit code is 2 when there is any."),
});

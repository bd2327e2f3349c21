/** What `status --json` prints. */
import { z } from "zod";
import { count, countsByName, instant, storageTier } from "./jsonWords.ts";

const line = z.strictObject({
  subject: z
    .enum([
      "market",
      "jobs",
      "next poll",
      "database",
      "budget",
      "accounts",
      "answers",
      "rows",
      "slots",
      "unknown",
      "clock",
      "journal",
    ])
    .describe("What it is about."),
  state: z
    .enum(["ok", "attention", "idle"])
    .describe("`attention`: a person has to see to it. `idle`: nothing to say yet."),
  text: z.string().describe("The sentence that `status` prints."),
});

const budget = {
  calls: count.describe("Answers that arrived in the last window."),
  limit: count.describe("Calls that are configured for a window, as by `QUOTES_LIMIT`."),
  windowMs: count.describe("Length of the window in ms; of several the longest."),
  serviceUsed: z
    .int()
    .nullable()
    .describe(
      "`X-RateLimit-Used` of the newest answer of the window; fewer than `calls`: the service's own window began later.",
    ),
  serviceLimit: z
    .int()
    .nullable()
    .describe("`X-RateLimit-Limit` of the same answer: the limit in force, where it differs from `limit`."),
  otherCalls: count.describe(
    "Calls a window that other programs make on the account, as far as the service's count shows it for sure; 0: none.",
  ),
  serviceRemaining: z.int().nullable().describe("`X-RateLimit-Remaining` of the same answer."),
};

/** `status --json`. */
export const statusJson = z.strictObject({
  at: instant.describe("When it was looked."),
  healthy: z.boolean().describe("Whether no line needs a person; the exit code is 0 then, else 1."),
  lines: z.array(line).max(12).describe("What `status` prints without `--json`."),
  market: z
    .enum(["account", "simulated"])
    .nullable()
    .describe(
      "Which market is polled, as the newest answers have it: a service at an account's address may call itself a simulated market. Null without a database.",
    ),
  nextPoll: z
    .strictObject({
      job: z.string().describe("Name of the job."),
      at: instant.describe("Its next slot."),
    })
    .nullable()
    .describe("What is due next; null without a job, or without a slot within a year."),
  budget: z
    .strictObject(budget)
    .nullable()
    .describe("The budget, of several accounts the sum; null without a database."),
  accounts: z
    .array(
      z.strictObject({
        name: z.string().describe("Its name."),
        state: z.enum(["active", "drained", "refused"]).describe("As `accounts list` has it."),
        ...budget,
        lastAnswerAt: instant
          .nullable()
          .describe("Arrival of its newest answer of the last hour; null when there is none."),
        missed: countsByName.describe("Instruments missed in its shares of the last 24 hours, by reason."),
      }),
    )
    .describe("Each account that is configured; none without a database."),
  lastAnswerAt: instant
    .nullable()
    .describe("Arrival of the newest answer of that market; null when there is none."),
  lastHour: countsByName
    .nullable()
    .describe("Answers of that market in the last hour, by outcome; null without a database."),
  lastDay: z
    .strictObject({
      due: count.describe("Instruments due at the slots of the last 24 hours."),
      missed: countsByName.describe("Those of them that were missed, by reason."),
      lastMissedAt: z
        .record(z.string(), instant)
        .describe("The newest slot at which something was missed, by reason."),
      goesOn: z
        .array(z.string())
        .describe(
          "Reasons for which something was missed at a slot of the last quarter of an hour before the newest one of a job.",
        ),
      deadLetters: count.describe("Parts of answers that could not be stored."),
      lastDeadLetterAt: instant
        .nullable()
        .describe("When the newest of them arrived; null when there is none."),
    })
    .nullable()
    .describe("The last 24 hours; null without a database."),
  late: z
    .array(
      z.strictObject({
        job: z.string().describe("Name of the job."),
        since: instant.describe("Its first slot that is overdue."),
      }),
    )
    .describe("Jobs whose slots have passed without an entry in the ledger."),
  unknown: z.array(z.string()).describe("Instruments that the service does not know."),
  lag: z
    .strictObject({
      bytes: count.describe("Bytes of the journal that the database has not taken."),
      oldestAt: instant.nullable().describe("When the oldest of them was kept; null when there are none."),
    })
    .nullable()
    .describe("How far the database is behind the journal; null when that is not known."),
  schemaVersion: z
    .int()
    .nullable()
    .describe("Version of the database's schema, 0 when it is empty; null without one."),
  tier: storageTier.nullable().describe("How the database stores the archive; null without one."),
});

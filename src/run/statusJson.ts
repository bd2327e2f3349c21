/** What `status` reports, and prints with `--json`. */
import { z } from "zod";
import { count, countsByName, instant, storageTier } from "./jsonWords.ts";

const line = z.strictObject({
  subject: z
    .enum([
      "market",
      "jobs",
      "collector",
      "next poll",
      "database",
      "budget",
      "accounts",
      "login",
      "collectors",
      "lake",
      "owners",
      "answers",
      "rows",
      "quotes",
      "slots",
      "unknown",
      "clock",
      "journal",
      "heartbeat",
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
      "The service's own count, by the newest answer of the window; fewer than `calls`: the service's own window began later.",
    ),
  serviceLimit: z
    .int()
    .nullable()
    .describe("The limit in force by the same answer, where it differs from `limit`."),
  otherCalls: count.describe(
    "Calls a window that other programs make on the account, as far as the service's count shows it for sure; 0: none.",
  ),
  serviceRemaining: z.int().nullable().describe("Calls that are left by the same answer."),
};

const slot = { job: z.string().describe("Name of the job."), at: instant.describe("Its slot.") };

const fleet = {
  collectors: z
    .array(
      z.strictObject({
        id: z.string().describe("Stands in its data directory."),
        name: z.string().describe("Its name: that of its host, or one like it."),
        version: z.string().describe("Its quotekeeper's version."),
        state: z
          .enum(["running", "stopped", "gone"])
          .describe("`gone`: not seen for a minute, and it has not said that it ends."),
        seenAgoMs: count.describe("How long ago it was seen, in ms."),
        journalLag: count
          .nullable()
          .describe("Bytes of its journal that the archive had not loaded then; null: not known."),
        clockOffsetMs: z
          .int()
          .nullable()
          .describe("How far its clock was ahead of the database's, in ms; null: not known."),
        filesDiffer: z
          .boolean()
          .describe("Whether its job files or accounts are others than those in force."),
      }),
    )
    .describe("All that have joined and are not forgotten."),
  accounts: z
    .array(
      z.strictObject({
        account: z.string().describe("Its name."),
        owner: z.string().nullable().describe("The collector that calls it; null: none does."),
        fence: count.nullable().describe("How often it was taken; null: never."),
        renewedAgoMs: count
          .nullable()
          .describe("How long ago its lease was renewed, in ms; null: there is none."),
        takeOvers: count.describe(
          "How often in the last 24 hours it was taken from a collector that was not heard of.",
        ),
        takesPart: z.boolean().describe("Whether it shares the jobs at the moment."),
      }),
    )
    .describe("Who calls each account."),
};

export const statusJson = z.strictObject({
  at: instant.describe("When it was looked."),
  healthy: z.boolean().describe("Whether no line needs a person; the exit code is 0 then, else 1."),
  lines: z.array(line).max(24).describe("What `status` prints without `--json`."),
  market: z
    .enum(["account", "simulated"])
    .nullable()
    .describe(
      "Which market is polled, as the newest answers have it: a service at an account's address may call itself a simulated market. Null without a database.",
    ),
  collector: z
    .strictObject({
      state: z
        .enum(["running", "starting", "stopped", "gone", "none", "unknown"])
        .describe(
          "`stopped`: it has ended in order. `gone`: it was killed, is frozen, or its machine is away. `none`: none has run yet. `unknown`: the database does not answer, and this machine's data directory does not tell.",
        ),
      names: z
        .array(z.string())
        .describe("Those that run; where none does, the one that was seen last, if it has a name."),
      version: z
        .string()
        .nullable()
        .describe("The quotekeeper's version of the first of them; null: not known."),
      seenAt: instant.nullable().describe("When it was last seen to run; null: never."),
      overdue: z
        .strictObject(slot)
        .nullable()
        .describe("The first slot that should have been polled since, where none runs; null: there is none."),
      running: count.describe("Collectors of the archive that were seen in the last 15 s."),
      stopped: count.describe("Those that have ended in order."),
      gone: count.describe("All others."),
    })
    .describe(
      "Whether a collector lives, by the database and by the files of this machine's data directory.",
    ),
  nextPoll: z
    .strictObject(slot)
    .nullable()
    .describe(
      "What is polled next; null where no collector lives, without a job, or without a slot within a year.",
    ),
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
  logins: z
    .array(
      z.strictObject({
        account: z.string().describe("Its name."),
        until: instant
          .nullable()
          .describe("Until when somebody is logged in on this machine; null: nobody is."),
        needed: z
          .boolean()
          .describe(
            "Whether a person has to log in: nobody is, and the next poll is at most two hours away.",
          ),
      }),
    )
    .describe("Accounts whose service wants a person's login, without those that another collector calls."),
  unsureSince: instant
    .nullable()
    .describe(
      "Since when this machine's collector does not know whether its accounts are its own, because the database does not answer it; null: it knows, or there is no other collector.",
    ),
  uncalled: z
    .record(z.string(), instant)
    .describe("The accounts that no collector calls, as far as this machine's own knows, and since when."),
  fleet: z
    .strictObject(fleet)
    .nullable()
    .describe("Several collectors on one archive; null where there is one, or no database."),
  lastAnswerAt: instant
    .nullable()
    .describe("Arrival of the newest answer of that market; null when there is none."),
  lastQuotesAt: z
    .record(z.string(), instant)
    .describe(
      "Arrival of the newest answer with quotes, by account; an account that has had none for an hour may be missing.",
    ),
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
  quotes: z
    .array(
      z.strictObject({
        account: z.string().describe("Its name."),
        instruments: count.describe("Instruments that it asked for last."),
        quotedAt: instant
          .nullable()
          .describe("When their newest quote was made, as the service says it; null: it does not say."),
        quietMs: count.describe(
          "How much of the regular session had passed without a newer one when the last answer came, in ms.",
        ),
        stuck: z.boolean().describe("Whether the service's answers repeat old quotes."),
      }),
    )
    .describe(
      "Each account that was asked in the newest regular session; none of a simulated market, and none without a database.",
    ),
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

export type StatusReport = z.infer<typeof statusJson>;

export type Line = StatusReport["lines"][number];

/** `ok`, or what a person has to see to, or nothing to say yet. */
export type LineState = Line["state"];

/** What it says of each account, and besides: of which market its newest answer is, and whether misses for `budget` go on. */
export type AccountStatus = StatusReport["accounts"][number] & {
  market: string | null;
  outOfBudget: boolean;
};

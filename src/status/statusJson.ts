/** What `status` reports, and prints with `--json`. */
import { z } from "zod";
import { count, countsByName, instant, storageTier } from "../ground/jsonWords.ts";

const line = z.strictObject({
  subject: z.enum([
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
  ]),
  state: z.enum(["ok", "attention", "idle"]),
  text: z.string(),
});

const budget = {
  calls: count,
  limit: count,
  windowMs: count,
  serviceUsed: z.int().nullable(),
  serviceLimit: z.int().nullable(),
  otherCalls: count,
  serviceRemaining: z.int().nullable(),
};

const slot = { job: z.string(), at: instant };

const fleet = {
  collectors: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      version: z.string(),
      state: z.enum(["running", "stopped", "gone"]),
      seenAgoMs: count,
      journalLag: count.nullable(),
      clockOffsetMs: z.int().nullable(),
      filesDiffer: z.boolean(),
    }),
  ),
  accounts: z.array(
    z.strictObject({
      account: z.string(),
      owner: z.string().nullable(),
      fence: count.nullable(),
      renewedAgoMs: count.nullable(),
      takeOvers: count,
      takesPart: z.boolean(),
    }),
  ),
};

export const statusJson = z.strictObject({
  at: instant,
  healthy: z.boolean(),
  lines: z.array(line).max(24),
  market: z.enum(["account", "simulated"]).nullable(),
  collector: z.strictObject({
    state: z.enum(["running", "starting", "stopped", "gone", "none", "unknown"]),
    names: z.array(z.string()),
    version: z.string().nullable(),
    seenAt: instant.nullable(),
    overdue: z.strictObject(slot).nullable(),
    running: count,
    stopped: count,
    gone: count,
  }),
  nextPoll: z.strictObject(slot).nullable(),
  budget: z.strictObject(budget).nullable(),
  accounts: z.array(
    z.strictObject({
      name: z.string(),
      state: z.enum(["active", "drained", "refused"]),
      ...budget,
      lastAnswerAt: instant.nullable(),
      missed: countsByName,
    }),
  ),
  logins: z.array(
    z.strictObject({
      account: z.string(),
      until: instant.nullable(),
      needed: z.boolean(),
    }),
  ),
  unsureSince: instant.nullable(),
  uncalled: z.record(z.string(), instant),
  fleet: z.strictObject(fleet).nullable(),
  lastAnswerAt: instant.nullable(),
  lastQuotesAt: z.record(z.string(), instant),
  lastHour: countsByName.nullable(),
  lastDay: z
    .strictObject({
      due: count,
      missed: countsByName,
      lastMissedAt: z.record(z.string(), instant),
      goesOn: z.array(z.string()),
      deadLetters: count,
      lastDeadLetterAt: instant.nullable(),
    })
    .nullable(),
  quotes: z.array(
    z.strictObject({
      account: z.string(),
      instruments: count,
      quotedAt: instant.nullable(),
      quietMs: count,
      stuck: z.boolean(),
    }),
  ),
  late: z.array(
    z.strictObject({
      job: z.string(),
      since: instant,
    }),
  ),
  unknown: z.array(z.string()),
  lag: z
    .strictObject({
      bytes: count,
      oldestAt: instant.nullable(),
    })
    .nullable(),
  schemaVersion: z.int().nullable(),
  tier: storageTier.nullable(),
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

/** What `migrate --json` and the commands below `serve keys` print, and how an error is printed. */
import { z } from "zod";
import { ERRORS } from "../../errors.ts";
import { count, instant, storageTier } from "../../run/jsonWords.ts";

/** `migrate --json`. */
export const migrateJson = z.strictObject({
  database: z.string().describe("Host, port and name of the database."),
  version: count.describe("Version of its schema."),
  applied: z.array(z.string()).describe("The migrations of this run."),
  tier: storageTier.describe("How it stores the archive."),
  retentionDays: count.nullable().describe("Days of quotes that are kept; null: all."),
});

/** The last line of stderr when a command with `--json` fails. */
export const errorJson = z.strictObject({
  error: z.strictObject({
    code: z
      .enum(["UNEXPECTED", ...Object.keys(ERRORS)] as [string, ...string[]])
      .describe("Code of the error, see docs/errors.md; `UNEXPECTED` is a defect of quotekeeper."),
    detail: z.string().describe("What is wrong, naming the thing and the value."),
    hint: z.string().describe("What to do."),
    retryable: z
      .boolean()
      .describe("Whether the same attempt may succeed later without anybody changing anything."),
    exitCode: z.int().describe("Exit code of the command."),
  }),
});

const storedKey = {
  label: z.string().nullable().describe("A name for people."),
  access: z.enum(["real-time", "delayed"]).describe("Which quotes it may see."),
  quoteLimit: count.nullable().describe("Quote calls it may make per window; null: as the service has it."),
  addedAt: instant.describe("When it was added."),
};

const shownKey = z.strictObject({
  ...storedKey,
  consumerKey: z.string().describe("Its consumer key."),
  token: z.string().describe("Its access token."),
});

/** `serve keys list --json`. */
export const keysListJson = z.array(shownKey).describe("The keys without their secrets, oldest first.");

/** `serve keys revoke --json`. */
export const keysRevokeJson = z.strictObject({ revoked: shownKey.describe("The key that was taken away.") });

/** `serve keys add --json`. */
export const keysAddJson = z.strictObject({
  consumerKey: z.string().describe("Its consumer key."),
  consumerSecret: z.string().describe("Its consumer secret, shown this once."),
  token: z.string().describe("Its access token."),
  tokenSecret: z.string().describe("Its access token secret, shown this once."),
  ...storedKey,
  sealed: z.string().describe("How its secrets are kept."),
  sealedBy: z.string().describe("Where the secret lies that seals them."),
});

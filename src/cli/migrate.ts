/** `quotekeeper migrate`: brings the database's schema up to date, and on request moves its storage. */
import { resolve } from "node:path";
import { z } from "zod";
import { count, storageTier } from "../ground/jsonWords.ts";
import { command, flag } from "./command.ts";
import { migrate as migrateDatabase } from "../archive/schema/migrations.ts";
import { readRetention } from "../archive/tiers/community.ts";
import { describeTier, readTier } from "../archive/tiers/tier.ts";
import { instantFromDate } from "../ground/clock.ts";
import { withArchive } from "../archive/openArchive.ts";
import { readCalendarDays } from "../schedule/readJobs.ts";
import { say } from "./terminal/harmless.ts";
import { counted } from "../ground/figures.ts";

export const migrate = command({
  options: {
    toTimescaledb: flag("moves a database that holds rows to TimescaleDB as well"),
    toCitus: flag("moves the database to Citus: its quotes lie on the workers then"),
  },
  json: z.strictObject({
    database: z.string(),
    version: count,
    applied: z.array(z.string()),
    tier: storageTier,
    retentionDays: count.nullable(),
  }),
  run: (config, { clock, stdout, stderr }, { toTimescaledb, toCitus, printJson }) =>
    withArchive(config, { clock }, async ({ pool, address: database }) => {
      const calendar = await readCalendarDays(resolve(config.jobsDir));
      const { version, applied, toRebuild, warnings } = await migrateDatabase(
        pool,
        instantFromDate(clock.now()),
        { toTimescaledb, toCitus, calendar, retentionDays: config.retentionDays ?? null },
      );
      const tier = await readTier(pool);
      const retentionDays = tier.name === "community" ? await readRetention(pool) : null;
      if (toRebuild !== null) say(printJson ? stderr : stdout, toRebuild);
      for (const warning of warnings) say(stderr, warning);
      if (printJson) {
        printJson({ database, version, applied, tier, retentionDays });
        return 0;
      }
      for (const name of applied) say(stdout, `applied ${name}`);
      say(
        stdout,
        `stored on ${describeTier(tier)}${keeping(retentionDays)}`,
        `${database} is at schema version ${version}${applied.length === 0 ? ", nothing to do" : ""}`,
      );
      if (config.retentionDays !== undefined && tier.name !== "community")
        say(
          stderr,
          "QUOTEKEEPER_RETENTION_DAYS has no effect here: only TimescaleDB Community drops quotes.",
        );
      return 0;
    }),
});

function keeping(retentionDays: number | null): string {
  return retentionDays === null ? "" : `, quotes kept for ${counted(retentionDays, "day")}`;
}

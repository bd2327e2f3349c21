/** `quotekeeper migrate`: brings the database's schema up to date, and on request moves its storage. */
import { resolve } from "node:path";
import { z } from "zod";
import { count, storageTier } from "../ground/jsonWords.ts";
import type { AddCommand } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
import { migrate as migrateDatabase } from "../archive/schema/migrations.ts";
import { readRetention } from "../archive/tiers/community.ts";
import { describeTier, readTier } from "../archive/tiers/tier.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { instantFromDate } from "../ground/clock.ts";
import type { Edges } from "../ground/edges.ts";
import { withArchive } from "../archive/openArchive.ts";
import { readCalendarDays } from "../schedule/readJobs.ts";
import { say } from "./terminal/harmless.ts";
import { counted } from "../ground/figures.ts";

export const migrateJson = z.strictObject({
  database: z.string(),
  version: count,
  applied: z.array(z.string()),
  tier: storageTier,
  retentionDays: count.nullable(),
});

export const addMigrate: AddCommand = (command, { run, edges }) => {
  command
    .option("--json", "print JSON", false)
    .option("--to-timescaledb", "moves a database that holds rows to TimescaleDB as well", false)
    .option("--to-citus", "moves the database to Citus: its quotes lie on the workers then", false)
    .action((options: MigrateOptions) => run((config) => migrate(config, edges, options)));
};

type MigrateOptions = { json: boolean; toTimescaledb?: boolean; toCitus?: boolean };

async function migrate(
  config: Config,
  edges: Edges,
  { json, toTimescaledb = false, toCitus = false }: MigrateOptions,
): Promise<number> {
  return withArchive(config, edges, async ({ pool, address }) => {
    const { version, applied, toRebuild, warnings } = await migrateDatabase(
      pool,
      instantFromDate(edges.clock.now()),
      {
        ...(toTimescaledb && { toTimescaledb }),
        ...(toCitus && { toCitus }),
        calendar: await readCalendarDays(resolve(config.jobsDir)),
        retentionDays: config.retentionDays ?? null,
      },
    );
    const tier = await readTier(pool);
    const retentionDays = tier.name === "community" ? await readRetention(pool) : null;
    if (toRebuild !== null) say(json ? edges.stderr : edges.stdout, toRebuild);
    for (const warning of warnings) say(edges.stderr, warning);
    if (json) {
      const result = { database: address, version, applied, tier, retentionDays };
      printJson(edges.stdout, migrateJson, result);
      return 0;
    }
    for (const name of applied) say(edges.stdout, `applied ${name}`);
    say(edges.stdout, `stored on ${describeTier(tier)}${keeping(retentionDays)}`);
    say(
      edges.stdout,
      `${address} is at schema version ${version}${applied.length === 0 ? ", nothing to do" : ""}`,
    );
    if (config.retentionDays !== undefined && tier.name !== "community")
      say(
        edges.stderr,
        "QUOTEKEEPER_RETENTION_DAYS has no effect here: only TimescaleDB Community drops quotes.",
      );
    return 0;
  });
}

function keeping(retentionDays: number | null): string {
  return retentionDays === null ? "" : `, quotes kept for ${counted(retentionDays, "day")}`;
}

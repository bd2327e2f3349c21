/** `quotekeeper migrate`: brings the database's schema up to date, and its storage to what the server offers. */
import { migrate as migrateDatabase } from "../archive/migrate.ts";
import { readRetention } from "../archive/tiers/community.ts";
import { describeTier, readTier } from "../archive/tiers/tier.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { instantFromDate } from "../clock.ts";
import type { Edges } from "../run/edges.ts";
import { migrateJson } from "./json/operating.ts";
import { printJson } from "./json/print.ts";
import { withArchive } from "../run/archive.ts";
import { say } from "./terminal/harmless.ts";

/** What the command was given. */
type MigrateOptions = {
  json: boolean;
  /** Moves a database that holds rows to TimescaleDB as well. */
  toTimescaledb?: boolean;
};

/** @returns 0; a database that cannot be migrated, or moved as asked, throws */
export async function migrate(
  config: Config,
  edges: Edges,
  { json, toTimescaledb = false }: MigrateOptions,
): Promise<number> {
  return withArchive(
    config,
    edges.clock,
    async ({ pool, address }) => {
      const { version, applied, withoutReader } = await migrateDatabase(
        pool,
        instantFromDate(edges.clock.now()),
        undefined,
        {
          ...(toTimescaledb && { toTimescaledb }),
          retentionDays: config.retentionDays ?? null,
        },
      );
      const tier = await readTier(pool);
      const retentionDays = tier.name === "community" ? await readRetention(pool) : null;
      if (withoutReader !== null) say(edges.stderr, withoutReader);
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
    },
    edges.onInterrupt,
  );
}

function keeping(retentionDays: number | null): string {
  return retentionDays === null ? "" : `, quotes kept for ${retentionDays} days`;
}

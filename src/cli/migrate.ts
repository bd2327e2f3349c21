/** `quotekeeper migrate`: brings the database's schema up to date. */
import { migrate as migrateDatabase } from "../archive/migrate.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { instantFromDate } from "../instant.ts";
import type { Edges } from "./edges.ts";
import { withArchive } from "./parts/archive.ts";

/** @returns 0; a database that cannot be migrated throws */
export async function migrate(config: Config, edges: Edges, { json }: { json: boolean }): Promise<number> {
  return withArchive(config, edges.clock, async ({ pool, address }) => {
    const { version, applied } = await migrateDatabase(pool, instantFromDate(edges.clock.now()));
    if (json) edges.stdout.write(`${JSON.stringify({ database: address, version, applied })}\n`);
    else {
      for (const name of applied) edges.stdout.write(`applied ${name}\n`);
      edges.stdout.write(
        `${address} is at schema version ${version}${applied.length === 0 ? ", nothing to do" : ""}\n`,
      );
    }
    return 0;
  });
}

/** The database away: from the start of the collector, and for a while in its midst. */
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { Proxy } from "../kit/proxy.ts";
import { until } from "../../support/until.ts";
import type { World } from "../kit/world.ts";
import { catchUp, conclude, type Verdict, watchMemory } from "./verdict.ts";

/** @param options.proxy not up yet: the collector starts without a database */
export async function takeDatabaseAway(
  world: World,
  { proxy, fromStartMs, awayMs }: { proxy: Proxy; fromStartMs: number; awayMs: readonly number[] },
): Promise<Verdict> {
  const { feed, pool } = world;
  const collector = world.collect(proxy.url);
  const memory = watchMemory(() => collector);
  const figures: Record<string, number> = {};
  try {
    await until(() => feed.answered() > 0, "the first answer without a database");
    await delay(fromStartMs);
    await proxy.restore();
    await until(() => hasSchema(pool), "the schema");
    figures["backAfterStartMs"] = await catchUp(world);
    for (const ms of awayMs) {
      await proxy.cut();
      const before = feed.answered();
      await delay(ms);
      await until(() => feed.answered() > before, `a call while the database was away ${ms} ms`);
      await proxy.restore();
      figures[`backAfter${ms}Ms`] = await catchUp(world);
    }
  } catch (error) {
    await collector.kill();
    throw error;
  } finally {
    memory.stop();
  }
  const did = `away ${fromStartMs} ms from the start, then ${awayMs.join(" and ")} ms`;
  const verdict = await conclude(world, {
    scenario: "the database away",
    ...{ did, collector, figures, peakMb: memory.peakMb() },
  });
  return verdict;
}

/** Whether the loader has found the database, and migrated it. */
async function hasSchema(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ there: boolean }>(
    "select to_regclass('journal_positions') is not null as there",
  );
  return rows[0]?.there === true;
}

/** The database away: from the start of the collector, and for a while in its midst. */
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { Proxy } from "../kit/proxy.ts";
import { until, type World } from "../kit/world.ts";
import { catchUp, conclude, type Verdict, watchMemory } from "./verdict.ts";

/** How long the loader may take to be back, beyond its longest wait between two attempts, in ms. */
const BACK_WITHIN_MS = 60_000;

/** @param options.proxy not up yet: the collector starts without a database */
export async function takeDatabaseAway(
  world: World,
  { proxy, fromStartMs, awayMs }: { proxy: Proxy; fromStartMs: number; awayMs: readonly number[] },
): Promise<Verdict> {
  const { feed, auditor, pool } = world;
  const collector = world.collect(proxy.url);
  const memory = watchMemory(() => collector);
  const figures: Record<string, number> = {};
  try {
    await until(() => feed.answered() > 0, 30_000, "the first answer without a database");
    await delay(fromStartMs);
    await proxy.restore();
    await until(() => hasSchema(pool), BACK_WITHIN_MS, "the schema");
    figures["backAfterStartMs"] = await catchUp(world, BACK_WITHIN_MS);
    for (const ms of awayMs) {
      await proxy.cut();
      const before = feed.answered();
      await delay(ms);
      // On a busy machine a single call may take longer than that.
      await until(() => feed.answered() > before, 60_000, `a call while the database was away ${ms} ms`);
      await proxy.restore();
      figures[`backAfter${ms}Ms`] = await catchUp(world, BACK_WITHIN_MS);
    }
  } finally {
    memory.stop();
    if (auditor.numbers.size === 0) await collector.kill();
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

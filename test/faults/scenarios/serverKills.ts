/** kill -9 of PostgreSQL at random instants, under full load; the collector stays. */
import { setTimeout as delay } from "node:timers/promises";
import { isRetryable } from "../../../src/archive/connect/databaseError.ts";
import { until } from "../../support/until.ts";
import type { CollectorProcess } from "../kit/collector.ts";
import type { World } from "../kit/world.ts";
import { conclude, type Verdict, watchMemory } from "./verdict.ts";

/** A server lives at most so long after it has caught up, in ms. */
const LIVES_MS = 1_500;

/**
 * @param options.kill ends the server as kill -9 does
 * @param options.revive starts it again; not needed where the collector does so itself
 */
export async function killServers(
  world: World,
  options: {
    kills: number;
    random: () => number;
    kill: () => Promise<void>;
    revive?: () => Promise<void>;
    databaseUrl?: null;
    /** Called after the last kill, when the server is back. */
    settled?: () => Promise<void>;
    onKill?: (kill: number) => void;
  },
): Promise<Verdict> {
  const { kills, random, kill, revive, databaseUrl, settled, onKill } = options;
  const collector = world.collect(databaseUrl);
  const memory = watchMemory(() => collector);
  let longestMs = 0;
  try {
    await catchUpAgain(world, collector);
    for (let count = 1; count <= kills; count++) {
      await delay(random() * LIVES_MS);
      await kill();
      await revive?.();
      longestMs = Math.max(longestMs, await catchUpAgain(world, collector));
      if ((await world.auditor.check()).violations.length > 0) break;
      onKill?.(count);
    }
    await settled?.();
  } catch (error) {
    await collector.kill();
    throw new Error(`${(error as Error).message}; the collector said:\n${collector.output().slice(-1_000)}`);
  } finally {
    memory.stop();
  }
  return conclude(world, {
    scenario: revive ? "kill -9 of PostgreSQL" : "kill -9 of the embedded PostgreSQL",
    did: `${kills} kills of the postmaster at random instants under full load`,
    ...{ collector, figures: { longestCatchUpMs: longestMs }, peakMb: memory.peakMb() },
  });
}

/** The audit's own connections break with the server, and it may not be back yet. */
async function catchUpAgain(world: World, collector: CollectorProcess): Promise<number> {
  const startedAt = performance.now();
  let wanted: number | null = null;
  const caughtUp = async (): Promise<boolean> => {
    try {
      const { journaled, loaded } = await world.auditor.check();
      wanted ??= journaled;
      return loaded >= wanted;
    } catch (error) {
      if (!collector.isRunning() || !isRetryable(error)) throw error;
      return false;
    }
  };
  await until(caughtUp, "the loader catching up with a server that was killed");
  return Math.round(performance.now() - startedAt);
}

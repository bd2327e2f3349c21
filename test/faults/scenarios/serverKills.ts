/** kill -9 of PostgreSQL at random instants, under full load; the collector stays. */
import { setTimeout as delay } from "node:timers/promises";
import type { World } from "../kit/world.ts";
import { catchUp, conclude, type Verdict, watchMemory } from "./verdict.ts";

/** A server lives at most so long after it has caught up, in ms. */
const LIVES_MS = 1_500;

/** How long a server that recovers from a crash, and the loader after it, may take. */
const BACK_WITHIN_MS = 45_000;

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
    await catchUpAgain(world);
    for (let count = 1; count <= kills; count++) {
      await delay(random() * LIVES_MS);
      await kill();
      await revive?.();
      longestMs = Math.max(longestMs, await catchUpAgain(world));
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
async function catchUpAgain(world: World): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const left = BACK_WITHIN_MS - (performance.now() - startedAt);
    try {
      await catchUp(world, left);
      return Math.round(performance.now() - startedAt);
    } catch (error) {
      if (left < 0 || /not within/.test((error as Error).message)) throw error;
      await delay(100);
    }
  }
}

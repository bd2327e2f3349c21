/** kill -9 of the nodes of a Citus cluster at random instants, under full load; the collector stays. */
import { setTimeout as delay } from "node:timers/promises";
import { isRetryable } from "../../../src/archive/connect/databaseError.ts";
import { readPositions } from "../../../src/archive/load/loadPosition.ts";
import { commitsSettled } from "../../../src/archive/tiers/citus/door.ts";
import { until } from "../../support/until.ts";
import type { CitusCluster, CitusNode } from "../kit/citusCluster.ts";
import type { World } from "../kit/world.ts";
import { conclude, type Verdict, watchMemory } from "./verdict.ts";

/** A node lives at most so long after loading has gone on, in ms. */
const LIVES_MS = 1_500;

/**
 * Kills a worker, then the coordinator, in turn. Between kills it waits until the loader has moved its position: what lies
 * behind it is compared with the rows at the end, when nobody writes and all commits have reached their workers.
 */
export async function killNodes(
  world: World,
  cluster: CitusCluster,
  { kills, random, onKill }: { kills: number; random: () => number; onKill?: (kill: number) => void },
): Promise<Verdict> {
  const collector = world.collect();
  const memory = watchMemory(() => collector);
  let longestMs = 0;
  const position = async (): Promise<number> => {
    try {
      return [...(await readPositions(world.pool)).values()].reduce((sum, one) => sum + one, 0);
    } catch (error) {
      if (!collector.isRunning() || !isRetryable(error)) throw error;
      return -1;
    }
  };
  const goesOn = async (): Promise<number> => {
    const startedAt = performance.now();
    let before = -1;
    await until(async () => {
      const now = await position();
      if (before < 0) before = now;
      return before >= 0 && now > before;
    }, "the loader going on behind a killed node");
    return Math.round(performance.now() - startedAt);
  };
  try {
    await goesOn();
    for (let count = 1; count <= 2 * kills; count++) {
      const worker = cluster.workers[Math.floor(random() * cluster.workers.length)];
      const node: CitusNode = count % 2 === 0 || worker === undefined ? cluster.coordinator : worker;
      await delay(random() * LIVES_MS);
      await node.kill();
      await node.revive();
      longestMs = Math.max(longestMs, await goesOn());
      onKill?.(count);
    }
  } catch (error) {
    await collector.kill();
    throw new Error(`${(error as Error).message}; the collector said:\n${collector.output().slice(-1_000)}`);
  } finally {
    memory.stop();
  }
  return conclude(world, {
    scenario: "kill -9 of Citus nodes",
    did: `${kills} kills of a worker and ${kills} of the coordinator at random instants under full load`,
    ...{ collector, figures: { longestMsUntilLoadedAgain: longestMs }, peakMb: memory.peakMb() },
    settled: () => commitsSettled(world.pool),
  });
}
